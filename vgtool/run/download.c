/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/run/download.h"

#include <errno.h>

#ifdef HAVE_CURL

#include <dlfcn.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <curl/curl.h>

#include "vgtool/run/download_file.h"

enum {
	REDIRECTS_MAX = 5,
	CONNECT_SECONDS = 10,
	/* A transfer that is slower for so long ends: the server hangs. */
	STALL_SECONDS = 30,
	STALL_BYTES_PER_SECOND = 100,
};

/* Debian has these builds of libcurl; they differ in their TLS library.  All have the same functions. */
static const char *const libraries[] = { "libcurl-gnutls.so.4", "libcurl.so.4", "libcurl-nss.so.4" };

/* The functions of libcurl.  curl_easy_setopt() and curl_easy_getinfo() are also macros that check the types of their
 * arguments, and that call the functions of these names. */
static struct {
	CURLcode (*global_init)(long flags);
	CURL *(*easy_init)(void);
	void (*easy_cleanup)(CURL *curl);
	CURLcode (*easy_perform)(CURL *curl);
	void (*easy_reset)(CURL *curl);
	CURLcode (*easy_setopt)(CURL *curl, CURLoption option, ...);
	CURLcode (*easy_getinfo)(CURL *curl, CURLINFO info, ...);
	const char *(*easy_strerror)(CURLcode code);
} functions;

static bool functions_load(void *library)
{
	functions.global_init = (__typeof__(functions.global_init))dlsym(library, "curl_global_init");
	functions.easy_init = (__typeof__(functions.easy_init))dlsym(library, "curl_easy_init");
	functions.easy_cleanup = (__typeof__(functions.easy_cleanup))dlsym(library, "curl_easy_cleanup");
	functions.easy_perform = (__typeof__(functions.easy_perform))dlsym(library, "curl_easy_perform");
	functions.easy_reset = (__typeof__(functions.easy_reset))dlsym(library, "curl_easy_reset");
	functions.easy_setopt = (__typeof__(functions.easy_setopt))dlsym(library, "curl_easy_setopt");
	functions.easy_getinfo = (__typeof__(functions.easy_getinfo))dlsym(library, "curl_easy_getinfo");
	functions.easy_strerror = (__typeof__(functions.easy_strerror))dlsym(library, "curl_easy_strerror");
	return functions.global_init != NULL && functions.easy_init != NULL && functions.easy_cleanup != NULL &&
	       functions.easy_perform != NULL && functions.easy_reset != NULL && functions.easy_setopt != NULL &&
	       functions.easy_getinfo != NULL && functions.easy_strerror != NULL;
}

int vg_downloader_open(struct vg_downloader *downloader, int parent, struct vg_err *err)
{
	*downloader = (struct vg_downloader){ .parent = parent };
	/* RTLD_NODELETE: libcurl's libraries do not release everything when they are unloaded. */
	for (size_t i = 0; i < sizeof libraries / sizeof *libraries && downloader->library == NULL; i++)
		downloader->library = dlopen(libraries[i], RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	if (downloader->library == NULL)
		return vg_err_set(err, -ENOSYS, "libcurl is not installed (%s)", libraries[0]);
	if (!functions_load(downloader->library))
		return vg_err_set(err, -ENOSYS, "libcurl lacks a function that vgtool needs");
	if (functions.global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK)
		downloader->curl = functions.easy_init();
	return downloader->curl != NULL ? 0 : vg_err_set(err, -ENOMEM, "libcurl cannot be initialized");
}

void vg_downloader_close(struct vg_downloader *downloader)
{
	if (downloader->curl != NULL)
		functions.easy_cleanup(downloader->curl);
	if (downloader->library != NULL)
		dlclose(downloader->library);
	*downloader = (struct vg_downloader){ .parent = -1 };
}

static size_t on_bytes(char *bytes, size_t size, size_t count, void *context)
{
	return vg_download_file_take(context, bytes, size * count) == 0 ? size * count : 0;
}

/* libcurl calls this at least once a second.  A result other than 0 ends the transfer. */
static int on_progress(void *context, curl_off_t total, curl_off_t now, curl_off_t upload_total, curl_off_t upload_now)
{
	const struct vg_downloader *downloader = context;
	struct pollfd parent = { downloader->parent, 0, 0 };

	(void)total, (void)now, (void)upload_total, (void)upload_now;
	return poll(&parent, 1, 0) > 0;
}

static bool options_set(struct vg_downloader *downloader, const struct vg_download_request *request,
			struct vg_download_file *file, char *problem)
{
	/* A redirection from HTTPS to HTTP would let the network choose the symbols. */
	const char *protocols = strncmp(request->url, "https:", 6) == 0 ? "https" : "http,https";
	long timeout_s = (long)request->timeout_s;
	CURL *curl = downloader->curl;
	bool ok = true;

	functions.easy_reset(curl);      /* keeps the connections */
#define SET(option, value) ok = ok && functions.easy_setopt(curl, option, value) == CURLE_OK
	SET(CURLOPT_ERRORBUFFER, problem);
	SET(CURLOPT_URL, request->url);
	SET(CURLOPT_PROTOCOLS_STR, "http,https");
	SET(CURLOPT_REDIR_PROTOCOLS_STR, protocols);
	SET(CURLOPT_FOLLOWLOCATION, 1L);
	SET(CURLOPT_MAXREDIRS, (long)REDIRECTS_MAX);
	SET(CURLOPT_CONNECTTIMEOUT, timeout_s < CONNECT_SECONDS ? timeout_s : (long)CONNECT_SECONDS);
	SET(CURLOPT_LOW_SPEED_TIME, timeout_s < STALL_SECONDS ? timeout_s : (long)STALL_SECONDS);
	SET(CURLOPT_LOW_SPEED_LIMIT, (long)STALL_BYTES_PER_SECOND);
	SET(CURLOPT_TIMEOUT, timeout_s);
	SET(CURLOPT_NOSIGNAL, 1L);
	SET(CURLOPT_FAILONERROR, 1L);
	SET(CURLOPT_ACCEPT_ENCODING, "gzip");
	SET(CURLOPT_USERAGENT, "vgtool");
	SET(CURLOPT_WRITEFUNCTION, on_bytes);
	SET(CURLOPT_WRITEDATA, file);
	SET(CURLOPT_NOPROGRESS, 0L);
	SET(CURLOPT_XFERINFOFUNCTION, on_progress);
	SET(CURLOPT_XFERINFODATA, downloader);
#undef SET
	return ok;
}

static int transfer_run(struct vg_downloader *downloader, const struct vg_download_file *file, const char *problem,
			struct vg_err *err)
{
	CURLcode code = functions.easy_perform(downloader->curl);
	long status = 0;

	if (code == CURLE_OK)
		return 0;
	functions.easy_getinfo(downloader->curl, CURLINFO_RESPONSE_CODE, &status);
	if (code == CURLE_HTTP_RETURNED_ERROR && (status == 404 || status == 410))
		return vg_err_set(err, -ENODATA, "the server does not have the file");
	if (file->rc != 0)
		return vg_err_set(err, file->rc, "%s", file->err.text);
	return vg_err_set(err, -EIO, "%.200s", *problem != '\0' ? problem : functions.easy_strerror(code));
}

int vg_download(struct vg_downloader *downloader, const struct vg_download_request *request, struct vg_err *err)
{
	char problem[CURL_ERROR_SIZE] = "";
	struct vg_download_file file;
	int rc = vg_download_file_open(&file, request, err);

	if (rc == 0 && !options_set(downloader, request, &file, problem))
		rc = vg_err_set(err, -ENOSYS, "libcurl lacks an option that vgtool needs; version 7.85 has all of them");
	if (rc == 0)
		rc = transfer_run(downloader, &file, problem, err);
	if (rc == 0)
		rc = vg_download_file_commit(&file, err);
	vg_download_file_close(&file);
	return rc;
}

#else

int vg_downloader_open(struct vg_downloader *downloader, int parent, struct vg_err *err)
{
	*downloader = (struct vg_downloader){ .parent = parent };
	return vg_err_set(err, -ENOSYS, "this vgtool was built without libcurl");
}

int vg_download(struct vg_downloader *downloader, const struct vg_download_request *request, struct vg_err *err)
{
	(void)downloader, (void)request;
	return vg_err_set(err, -ENOSYS, "this vgtool was built without libcurl");
}

void vg_downloader_close(struct vg_downloader *downloader)
{
	(void)downloader;
}

#endif
