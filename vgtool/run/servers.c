/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/run/servers.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/build_id.h"
#include "base/hash.h"
#include "base/number.h"
#include "base/output_path.h"
#include "base/print.h"
#include "vgtool/run/program_open.h"
#include "vgtool/run/server_path.h"

enum { TIMEOUT_SECONDS = 300, TIMEOUT_SECONDS_MAX = 86400 };

/* The symbol file of a browser has 1 GiB, and its debug file has 3 GiB. */
static const uint64_t BYTES_MAX = UINT64_C(4) << 30;

/* ---- the servers ---- */

static int directory_make(const char *directory, struct vg_err *err)
{
	char *path;
	int rc;

	if (asprintf(&path, "%s/", directory) < 0)
		return vg_err_sys(err, -ENOMEM, "%.200s", directory);
	rc = vg_output_path_make_directories(path, 0700, err);
	free(path);
	return rc;
}

/* The length of the URL without slashes at the end. */
static size_t url_length(const char *url)
{
	size_t length = strlen(url);

	while (length > 0 && url[length - 1] == '/')
		length--;
	return length;
}

/* Takes ownership of `cache`, the server's directory. */
static int server_make(struct vg_server *server, const char *url, char *cache, struct vg_err *err)
{
	int rc;

	*server = (struct vg_server){ .url = strndup(url, url_length(url)), .cache = cache };
	if (server->url == NULL || cache == NULL)
		rc = vg_err_sys(err, -ENOMEM, "%.200s", url);
	else
		rc = directory_make(cache, err);
	if (rc != 0) {
		free(server->url);
		free(cache);
	}
	return rc;
}

int vg_servers_open(struct vg_servers *servers, const char *command, struct vg_err *err)
{
	*servers = (struct vg_servers){ .command = command };
	if (vg_cache_directory(&servers->cache) == -ENOMEM)
		return vg_err_sys(err, -ENOMEM, "cannot find the cache");
	return 0;
}

/* Reads the limits, and checks that there is a cache.  The caller is about to add a server. */
static int settings_read(struct vg_servers *servers, struct vg_err *err)
{
	const char *timeout = getenv("VGTOOL_SERVER_TIMEOUT"), *size = getenv("VGTOOL_SERVER_MAX_SIZE");
	uint64_t seconds = TIMEOUT_SECONDS;

	servers->bytes_max = BYTES_MAX;
	if (timeout != NULL && !vg_number_parse(timeout, 1, TIMEOUT_SECONDS_MAX, &seconds))
		return vg_err_set(err, -EINVAL, "$VGTOOL_SERVER_TIMEOUT %.100s: must be 1 to 86400 seconds", timeout);
	if (size != NULL && !vg_number_size(size, 1, INT64_MAX, &servers->bytes_max))
		return vg_err_set(err, -EINVAL, "$VGTOOL_SERVER_MAX_SIZE %.100s: must be 1 or more bytes, such as 64M or "
				  "4G", size);
	servers->timeout_s = (uint32_t)seconds;
	return servers->cache != NULL ? 0 :
	       vg_err_set(err, -EINVAL, "there is no directory for files from servers, or it belongs to another user; set "
			  "XDG_CACHE_HOME or HOME");
}

int vg_servers_add(struct vg_servers *servers, const char *url, const char **store, struct vg_err *err)
{
	static const struct vg_hash_key key = { { 0, 0 } };  /* the same in each run */
	struct vg_server server;
	char *cache;
	int rc = vg_server_url_check(url, err);

	if (rc == 0)
		rc = settings_read(servers, err);
	if (rc != 0)
		return rc;
	if (asprintf(&cache, "%s/servers/%016" PRIx64, servers->cache, vg_hash(&key, url, url_length(url))) < 0)
		cache = NULL;
	rc = server_make(&server, url, cache, err);
	if (rc != 0)
		return rc;
	if (vg_array_push(&servers->symbols, &server) != 0) {
		free(server.url);
		free(server.cache);
		return vg_err_sys(err, -ENOMEM, "%.200s", url);
	}
	*store = server.cache;
	return 0;
}

static int debuginfod_add(struct vg_servers *servers, const char *url, struct vg_err *err)
{
	struct vg_server server;
	int rc = vg_server_url_check(url, NULL);

	if (rc != 0)
		return vg_err_set(err, rc, "--debuginfod: DEBUGINFOD_URLS %.200s: must be http://HOST/PATH or "
				  "https://HOST/PATH", url);
	rc = server_make(&server, url, strdup(servers->cache), err);
	if (rc == 0 && vg_array_push(&servers->debuginfod, &server) != 0) {
		free(server.url);
		free(server.cache);
		rc = vg_err_sys(err, -ENOMEM, "%.200s", url);
	}
	return rc;
}

int vg_servers_debuginfod_check(struct vg_err *err)
{
	const char *urls = getenv("DEBUGINFOD_URLS");

	return urls != NULL && urls[strspn(urls, " ")] != '\0' ? 0 :
	       vg_err_set(err, -EINVAL, "--debuginfod: the environment variable DEBUGINFOD_URLS names no server; set it "
			  "to one or more URLs");
}

int vg_servers_add_debuginfod(struct vg_servers *servers, struct vg_err *err)
{
	const char *variable = getenv("DEBUGINFOD_URLS");
	char *list = strdup(variable != NULL ? variable : ""), *at = list, *url;
	int rc = list == NULL ? vg_err_sys(err, -ENOMEM, "cannot read $DEBUGINFOD_URLS") :
				vg_servers_debuginfod_check(err);

	if (rc == 0)
		rc = settings_read(servers, err);
	while (rc == 0 && (url = strsep(&at, " ")) != NULL) {
		if (*url != '\0')
			rc = debuginfod_add(servers, url, err);
	}
	free(list);
	return rc;
}

/* ---- downloads ---- */

/* Printed once for each server, before the output of the command. */
static void failure_print(const struct vg_servers *servers, const struct vg_server *server, const struct vg_err *err)
{
	char url[VG_SERVER_URL_MAX_BYTES + 1];

	vg_server_url_show(server->url, url);
	/* The reader may have printed its progress in this line. */
	if (isatty(STDERR_FILENO) == 1)
		fputs("\r\033[K", stderr);
	vg_print(stderr, "%s: %s: %s; after %d failures this server is asked no more\n", servers->command, url,
		 err->text, VG_SERVER_FAILURES_MAX);
}

/* Counts a download.  Returns false, and says so once, if there were too many, or too large ones. */
static bool download_count(struct vg_servers *servers)
{
	bool too_large = servers->bytes_sum / VG_SERVER_SUM_FACTOR >= servers->bytes_max;

	if (!too_large && servers->asked < VG_SERVER_FILES_MAX) {
		servers->asked++;
		return true;
	}
	if (!servers->is_over && too_large)
		vg_print(stderr, "%s: servers have sent %" PRIu64 " bytes; they are asked for no more\n",
			 servers->command, servers->bytes_sum);
	else if (!servers->is_over)
		vg_print(stderr, "%s: servers were asked for %d files; they are asked for no more\n",
			 servers->command, VG_SERVER_FILES_MAX);
	servers->is_over = true;
	return false;
}

/* Returns 0; -ENOENT: the server does not have the file; -EIO: it fails, or is asked no more. */
static int server_get(struct vg_servers *servers, struct vg_server *server, struct vg_download_request *request,
		      int reader)
{
	size_t length = strlen(request->url);
	struct stat status;
	struct vg_err err;
	uint32_t index;
	int rc;

	if (vg_intern_find(&servers->absent, request->url, length, &index))
		return -ENOENT;
	if (server->failures >= VG_SERVER_FAILURES_MAX || !download_count(servers))
		return -EIO;
	request->timeout_s = servers->timeout_s;
	request->bytes_max = servers->bytes_max;
	snprintf(request->directory, sizeof request->directory, "%s", server->cache);
	rc = vg_fetcher_get(&servers->fetcher, request, reader, &err);
	if (rc == 0) {
		servers->bytes_sum += stat(request->path, &status) == 0 ? (uint64_t)status.st_size : 0;
		return 0;
	}
	if (rc == -ENODATA) {
		/* Without memory, the server is asked again. */
		(void)vg_intern(&servers->absent, request->url, length, &index);
		return -ENOENT;
	}
	if (rc == -EPIPE)
		return -EIO;
	if (server->failures++ == 0)
		failure_print(servers, server, &err);
	return -EIO;
}

static int server_symbols(struct vg_servers *servers, struct vg_server *server, const char *name,
			  const unsigned char *build_id, size_t build_id_bytes, int reader)
{
	static struct vg_download_request request;
	int rc = -ENOENT;

	/* Some servers have compressed files under their own name. */
	for (int compressed = 0; rc == -ENOENT && compressed < 2; compressed++) {
		request = (struct vg_download_request){ .kind = VG_DOWNLOAD_SYMBOLS };
		rc = vg_server_symbols_request(&request, server->url, server->cache, name, build_id, build_id_bytes,
					       compressed == 1);
		if (rc == 0)
			rc = server_get(servers, server, &request, reader);
	}
	return rc;
}

int vg_servers_symbols(struct vg_servers *servers, const char *name, const unsigned char *build_id,
		       size_t build_id_bytes, int reader)
{
	for (size_t i = 0; i < servers->symbols.count; i++) {
		if (server_symbols(servers, &servers->symbols.items[i], name, build_id, build_id_bytes, reader) == 0)
			return 0;
	}
	return -ENOENT;
}

static int cached_open(const char *path)
{
	int fd = vg_debug_file_open(path);

	return fd >= 0 ? fd : -ENOENT;
}

int vg_servers_file_open(struct vg_servers *servers, enum vg_server_file kind, const unsigned char *build_id,
			 size_t build_id_bytes, int reader, char path[PATH_MAX])
{
	static struct vg_download_request request;
	bool has_failed = false;
	int fd;

	if (servers->cache == NULL ||
	    vg_server_file_path(kind, servers->cache, build_id, build_id_bytes, path) != 0)
		return -ENOENT;
	fd = cached_open(path);
	for (size_t i = 0; fd < 0 && i < servers->debuginfod.count; i++) {
		struct vg_server *server = &servers->debuginfod.items[i];

		request = (struct vg_download_request){ .kind = VG_DOWNLOAD_ELF };
		strcpy(request.path, path);
		if (vg_server_file_request(&request, kind, server->url, build_id, build_id_bytes) == 0) {
			int rc = server_get(servers, server, &request, reader);

			has_failed |= rc == -EIO;
			fd = rc == 0 ? cached_open(path) : rc;
		}
	}
	return fd < 0 && has_failed ? -EIO : fd;
}

void vg_servers_end(struct vg_servers *servers)
{
	vg_fetcher_end(&servers->fetcher);
}

static void list_free(struct vg_server *list, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		free(list[i].url);
		free(list[i].cache);
	}
}

void vg_servers_free(struct vg_servers *servers)
{
	list_free(servers->symbols.items, servers->symbols.count);
	list_free(servers->debuginfod.items, servers->debuginfod.count);
	vg_array_free(&servers->symbols);
	vg_array_free(&servers->debuginfod);
	vg_intern_free(&servers->absent);
	free(servers->cache);
	*servers = (struct vg_servers){ 0 };
}
