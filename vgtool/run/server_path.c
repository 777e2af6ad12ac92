/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/run/server_path.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/build_id.h"
#include "base/output_path.h"
#include "symbols/table/debug_id.h"

/* Each byte of a file name can become three characters. */
enum { NAME_MAX_BYTES = 255, ENCODED_ROOM = 3 * NAME_MAX_BYTES + 1 };

/* Whether others than the owner can create files there. */
static bool is_shared(const struct stat *directory)
{
	return (directory->st_mode & 022) != 0;
}

/* Whether the path is no link and no file of another user.  A path that does not exist counts as its directory, if no
 * other user can make it. */
static bool is_own(const char *path)
{
	char *at = strdup(path), *slash;
	struct stat link, file;
	bool own;

	while (at != NULL && lstat(at, &link) != 0 && errno == ENOENT && at[1] != '\0') {
		slash = strrchr(at, '/');
		slash[slash == at] = '\0';
	}
	own = at != NULL && lstat(at, &link) == 0 && vg_output_path_owner_is_trusted(link.st_uid) &&
	      stat(at, &file) == 0 && vg_output_path_owner_is_trusted(file.st_uid) &&
	      (strcmp(at, path) == 0 || !is_shared(&file));
	free(at);
	return own;
}

/* In a shared directory such as /tmp, another user could make a directory that is missing now.  So it is made now.
 * Without the sticky bit, the other user could also replace it later. */
static bool is_taken(const char *parent, const char *path)
{
	struct stat status;

	if (stat(parent, &status) != 0 || !is_shared(&status))
		return true;
	return (status.st_mode & S_ISVTX) != 0 && (mkdir(path, 0700) == 0 || errno == EEXIST);
}

/* sudo(8) may keep another user's HOME.  That user can put links and forged symbols there, whatever the owner of the
 * files below. */
int vg_cache_directory(char **path)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	bool is_cache = cache != NULL && *cache == '/';
	const char *parent = is_cache ? cache : home;
	char *middle;
	bool own;

	*path = NULL;
	if (parent == NULL || *parent != '/')
		return 0;
	if (asprintf(&middle, "%s%s", parent, is_cache ? "" : "/.cache") < 0)
		return -ENOMEM;
	if (asprintf(path, "%s/vignette", middle) < 0)
		*path = NULL;
	own = *path != NULL && (is_cache || is_taken(parent, middle)) && is_taken(middle, *path) && is_own(parent) &&
	      is_own(middle) && is_own(*path);
	free(middle);
	if (*path == NULL)
		return -ENOMEM;
	if (!own) {
		free(*path);
		*path = NULL;
	}
	return 0;
}

/* ---- URLs of servers ---- */

bool vg_server_is_url(const char *text)
{
	return strncmp(text, "http://", 7) == 0 || strncmp(text, "https://", 8) == 0;
}

/* Only printable ASCII: libcurl would encode other characters in its own way. */
int vg_server_url_check(const char *url, struct vg_err *err)
{
	const char *host = strstr(url, "://");
	size_t length = strlen(url);
	bool good = vg_server_is_url(url) && host[3] != '\0' && host[3] != '/' && length <= VG_SERVER_URL_MAX_BYTES;

	for (size_t i = 0; good && i < length; i++)
		good = url[i] > ' ' && url[i] < 0x7f && strchr("?#\\\"<>", url[i]) == NULL;
	return good ? 0 : vg_err_set(err, -EINVAL, "-s %.200s: must be http://HOST/PATH or https://HOST/PATH", url);
}

void vg_server_url_show(const char *url, char shown[VG_SERVER_URL_MAX_BYTES + 1])
{
	const char *host = strstr(url, "://") + 3, *end = host + strcspn(host, "/"), *at = end;

	while (at > host && at[-1] != '@')
		at--;
	snprintf(shown, VG_SERVER_URL_MAX_BYTES + 1, "%.*s%s", (int)(host - url), url, at);
}

/* ---- URLs of files ---- */

/* Percent-encodes all characters but the unreserved ones of RFC 3986. */
static int name_encode(const char *name, char encoded[ENCODED_ROOM])
{
	size_t at = 0;

	for (; *name != '\0'; name++) {
		if (at + 4 > ENCODED_ROOM)
			return -ENAMETOOLONG;
		if (strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~", *name) != NULL)
			encoded[at++] = *name;
		else
			at += (size_t)sprintf(encoded + at, "%%%02X", (unsigned char)*name);
	}
	encoded[at] = '\0';
	return 0;
}

/* Returns 0, or -ENAMETOOLONG if snprintf(3) had no room. */
static int length_check(int length, size_t room)
{
	return length > 0 && (size_t)length < room ? 0 : -ENAMETOOLONG;
}

int vg_server_symbols_request(struct vg_download_request *request, const char *url, const char *cache,
			      const char *name, const unsigned char *build_id, size_t build_id_bytes,
			      bool compressed)
{
	char encoded[ENCODED_ROOM];
	int rc = name_encode(name, encoded);

	_Static_assert(sizeof request->id > VG_DEBUG_ID_CHARS, "room for a debug id");
	vg_debug_id_text(build_id, build_id_bytes, request->id);
	if (rc == 0)
		rc = length_check(snprintf(request->url, sizeof request->url, "%s/%s/%s/%s.sym%s", url, encoded,
					   request->id, encoded, compressed ? ".gz" : ""), sizeof request->url);
	if (rc == 0)
		rc = length_check(snprintf(request->path, sizeof request->path, "%s/modules/%s/symbols.sym", cache,
					   request->id), sizeof request->path);
	return rc;
}

int vg_server_file_request(struct vg_download_request *request, enum vg_server_file kind, const char *url,
			   const unsigned char *build_id, size_t build_id_bytes)
{
	char hex[2 * VG_BUILD_ID_MAX_BYTES + 1];

	if (build_id_bytes > sizeof request->build_id)
		return -ENAMETOOLONG;
	memcpy(request->build_id, build_id, build_id_bytes);
	request->build_id_bytes = (uint32_t)build_id_bytes;
	vg_build_id_hex(hex, sizeof hex, build_id, build_id_bytes);
	return length_check(snprintf(request->url, sizeof request->url, "%s/buildid/%s/%s", url, hex,
				     kind == VG_SERVER_BINARY ? "executable" : "debuginfo"), sizeof request->url);
}

int vg_server_file_path(enum vg_server_file kind, const char *directory, const unsigned char *build_id,
			size_t build_id_bytes, char path[PATH_MAX])
{
	char hex[2 * VG_BUILD_ID_MAX_BYTES + 1];

	vg_build_id_hex(hex, sizeof hex, build_id, build_id_bytes);
	return length_check(snprintf(path, PATH_MAX, "%s/.build-id/%.2s/%s%s", directory, hex, hex + 2,
				     kind == VG_SERVER_BINARY ? "" : ".debug"), PATH_MAX);
}
