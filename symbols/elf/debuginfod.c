/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "symbols/elf/elf_separate.h"

#ifdef HAVE_DEBUGINFOD

#include <dlfcn.h>
#include <unistd.h>

#include <elfutils/debuginfod.h>

/* libdebuginfod is loaded with dlopen(3), and only when it is needed: libdebuginfod depends on
 * libcurl, whose initialization would slow down every run of vgtool. */
struct client {
	void *library;
	debuginfod_client *(*begin)(void);
	void (*end)(debuginfod_client *client);
	int (*find)(debuginfod_client *client, const unsigned char *id, int bytes, char **path);
};

static int client_load(struct client *client, struct vg_err *err)
{
	/* RTLD_NODELETE: libcurl and its libraries do not release everything when they are
	 * unloaded. */
	client->library = dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	if (client->library == NULL)
		return vg_err_set(err, -ENOSYS, "debuginfod: %s", dlerror());
	client->begin = (__typeof__(client->begin))dlsym(client->library, "debuginfod_begin");
	client->end = (__typeof__(client->end))dlsym(client->library, "debuginfod_end");
	client->find = (__typeof__(client->find))dlsym(client->library, "debuginfod_find_debuginfo");
	if (client->begin != NULL && client->end != NULL && client->find != NULL)
		return 0;
	dlclose(client->library);
	return vg_err_set(err, -ENOSYS, "debuginfod: libdebuginfod.so.1 lacks a function that vgtool needs");
}

int vg_symbols_debuginfod_check(struct vg_err *err)
{
	const char *urls = getenv(DEBUGINFOD_URLS_ENV_VAR);
	struct client client;
	int rc = client_load(&client, err);

	if (rc != 0)
		return rc;
	dlclose(client.library);
	if (urls == NULL || urls[strspn(urls, " ")] == '\0')
		return vg_err_set(err, -EINVAL, "debuginfod: the environment variable %s names no server; set it to "
				  "one or more URLs", DEBUGINFOD_URLS_ENV_VAR);
	return 0;
}

int vg_debuginfod_find(const void *id, size_t bytes, char **path, struct vg_err *err)
{
	struct client client;
	debuginfod_client *session;
	int rc = client_load(&client, err);

	if (rc != 0)
		return rc;
	/* NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): vg_err_set() returns its code */
	session = client.begin();
	rc = session != NULL ? client.find(session, id, (int)bytes, path) : -ENOMEM;
	if (rc >= 0) {
		close(rc);      /* only the path is needed */
		rc = 0;
	} else if (rc != -ENOENT) {
		vg_err_sys(err, rc, "debuginfod: no server answered");
	}
	if (session != NULL)
		client.end(session);
	dlclose(client.library);
	return rc;
}

#else

int vg_symbols_debuginfod_check(struct vg_err *err)
{
	return vg_err_set(err, -ENOSYS, "debuginfod: this vgtool was built without debuginfod");
}

int vg_debuginfod_find(const void *id, size_t bytes, char **path, struct vg_err *err)
{
	(void)id, (void)bytes, (void)path;
	return vg_symbols_debuginfod_check(err);
}

#endif
