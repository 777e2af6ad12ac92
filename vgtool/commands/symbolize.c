/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/commands/symbolize.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbols/store/store_index.h"
#include "vgtool/analysis/instruction_frames.h"
#include "vgtool/resolve/resolve.h"
#include "vgtool/run/server_path.h"

int vg_symbolize_set(struct vg_symbolize *symbolize, const struct vg_option_value *value, struct vg_err *err)
{
	if (value->key == 'U')
		symbolize->unresolved = true;
	if (value->key == 'D')
		symbolize->debuginfod = true;
	if (value->key == 'F')
		symbolize->no_instruction_frames = true;
	if (value->key == 's' && vg_array_push(&symbolize->stores, &value->text) != 0)
		return vg_err_sys(err, -ENOMEM, "cannot add the symbol store %s", value->text);
	return 0;
}

/* Returns the end of the first path or URL of a list that is separated by colons.  A colon before a digit belongs to a
 * URL: it begins the port. */
static char *path_end(char *list)
{
	bool is_url = vg_server_is_url(list);
	char *end = is_url ? strstr(list, "://") + 3 : list;

	/* An IPv6 address has colons, in brackets. */
	if (is_url && *end == '[')
		end += strcspn(end, "]");
	while (*end != '\0' && (*end != ':' || (is_url && end[1] >= '0' && end[1] <= '9')))
		end++;
	return end;
}

/* Unlike an argument of -s, a path that does not exist is no error: the variable is set for all profiles. */
static int environment_add(struct vg_symbolize *symbolize)
{
	const char *list = getenv("VGTOOL_SYMBOLS");
	char *path;

	if (list == NULL)
		return 0;
	symbolize->environment = path = strdup(list);
	if (path == NULL)
		return -ENOMEM;
	for (bool more = true; more;) {
		char *end = path_end(path);

		more = *end != '\0';
		*end = '\0';
		if (*path != '\0' && vg_array_push(&symbolize->stores, (const char **)&path) != 0)
			return -ENOMEM;
		path = end + 1;
	}
	return 0;
}

static int machine_open(void *context, const char *module, const unsigned char *build_id, size_t build_id_bytes,
			uint32_t *next, char **path)
{
	const struct vg_symbolize *symbolize = context;

	return vg_broker_ask(symbolize->socket, symbolize->pid, module, build_id, build_id_bytes, next, path);
}

static int debug_file_open(void *context, const unsigned char *build_id, size_t build_id_bytes, char **path)
{
	const struct vg_symbolize *symbolize = context;

	return vg_broker_ask_debug_file(symbolize->socket, build_id, build_id_bytes, path);
}

static int binary_open(void *context, const unsigned char *build_id, size_t build_id_bytes, char **path)
{
	const struct vg_symbolize *symbolize = context;

	return vg_broker_ask_binary(symbolize->socket, build_id, build_id_bytes, path);
}

static int symbols_fetch(void *context, const char *module, const unsigned char *build_id, size_t build_id_bytes)
{
	const struct vg_symbolize *symbolize = context;

	return vg_broker_ask_symbols(symbolize->socket, module, build_id, build_id_bytes);
}

static int index_open(void *context, size_t number)
{
	const struct vg_symbolize *symbolize = context;

	return vg_broker_ask_index(symbolize->socket, (uint32_t)number);
}

int vg_symbolize_check(const struct vg_symbolize *symbolize, struct vg_err *err)
{
	int rc = symbolize->debuginfod ? vg_servers_debuginfod_check(err) : 0;

	for (size_t i = 0; rc == 0 && i < symbolize->stores.count; i++) {
		const struct vg_symbol_finder finder = { .stores = symbolize->stores.items + i, .store_count = 1 };

		rc = vg_server_is_url(symbolize->stores.items[i]) ?
		     vg_server_url_check(symbolize->stores.items[i], err) : vg_symbol_finder_check(&finder, err);
	}
	return rc;
}

/* Replaces each URL by the server's directory in the cache.  So the order of the stores stays. */
static int servers_prepare(struct vg_symbolize *symbolize, const char *command, struct vg_err *err)
{
	int rc = vg_servers_open(&symbolize->servers, command, err);

	for (size_t i = 0; rc == 0 && i < symbolize->stores.count; i++) {
		if (vg_server_is_url(symbolize->stores.items[i]))
			rc = vg_servers_add(&symbolize->servers, symbolize->stores.items[i],
					    &symbolize->stores.items[i], err);
	}
	if (rc == 0 && symbolize->debuginfod)
		rc = vg_servers_add_debuginfod(&symbolize->servers, err);
	return rc;
}

static int sources_prepare(struct vg_symbolize *symbolize, const char *command, struct vg_err *err)
{
	struct vg_symbol_finder *finder = &symbolize->finder;
	bool uses_servers;
	int rc = vg_symbolize_check(symbolize, err);

	if (rc != 0)
		return rc;
	if (!symbolize->stores_only && environment_add(symbolize) != 0)
		return vg_err_sys(err, -ENOMEM, "cannot read $VGTOOL_SYMBOLS");
	rc = servers_prepare(symbolize, command, err);
	if (rc != 0)
		return rc;
	finder->stores = symbolize->stores.items;
	finder->store_count = symbolize->stores.count;
	finder->context = symbolize;
	/* The cache may have debug files of earlier runs. */
	uses_servers = !symbolize->stores_only ||
		       symbolize->servers.symbols.count + symbolize->servers.debuginfod.count > 0;
	if (!uses_servers && finder->store_count == 0)
		return 0;
	finder->open = symbolize->stores_only ? NULL : machine_open;
	finder->open_debug_file = uses_servers ? debug_file_open : NULL;
	finder->open_binary = uses_servers ? binary_open : NULL;
	finder->fetch = symbolize->servers.symbols.count > 0 ? symbols_fetch : NULL;
	finder->binaries.open_index = index_open;
	finder->binaries.context = symbolize;
	finder->code_binaries.open_index = index_open;
	finder->code_binaries.context = symbolize;
	symbolize->indexer = (struct vg_indexer){ .stores = finder->stores, .count = finder->store_count,
						  .update = vg_store_index_update };
	symbolize->broker.servers = uses_servers ? &symbolize->servers : NULL;
	symbolize->broker.indexer = &symbolize->indexer;
	symbolize->broker.stores_only = symbolize->stores_only;
	return vg_broker_start(&symbolize->broker, &symbolize->socket, err);
}

enum vg_exit vg_symbolize_confine(struct vg_symbolize *symbolize, const char *command,
				  struct vg_confinement confinement)
{
	struct vg_err err;

	if (symbolize->unresolved)
		return vg_command_confine(command, &confinement);
	if (sources_prepare(symbolize, command, &err) != 0) {
		vg_command_fail(command, &err);
		return VG_EXIT_FAILED;
	}
	confinement.broker = symbolize->socket;
	confinement.sends = symbolize->broker.objdump != NULL;
	return vg_command_confine_stores(command, &symbolize->stores, confinement);
}

/* Symbols of this machine's files that cannot be used are not reported: nobody asked for these files. */
static void problems_warn(const struct vg_symbolize *symbolize, const char *command, const struct vg_resolve *resolve)
{
	for (size_t i = 0; symbolize->stores.count > 0 && i < resolve->modules.count; i++) {
		if (resolve->modules.items[i].problem != NULL)
			vg_command_warn(command, "%s", resolve->modules.items[i].problem);
	}
}

int vg_symbolize_profile(struct vg_symbolize *symbolize, const char *command, struct vg_profile *profile,
			 struct vg_err *err)
{
	struct vg_resolve resolve = { .finder = &symbolize->finder };
	struct vg_address_list list = { 0 };
	int rc;

	if (symbolize->no_instruction_frames)
		vg_instruction_frames_remove(profile);
	/* The first of several processes is enough, because the others mostly execute the same files. */
	symbolize->pid = profile->processes.count > 0 && profile->processes.items[0].pid > 0 ?
			 (uint32_t)profile->processes.items[0].pid : 0;
	if (symbolize->unresolved || (profile->symbols.count > profile->kernel_symbols && !profile->partly_resolved))
		return 0;
	rc = vg_address_list_collect(&list, profile);
	if (rc == 0)
		rc = vg_resolve_add(&resolve, &list);
	if (rc == 0)
		rc = vg_resolve_read(&resolve);
	if (rc == 0)
		rc = vg_resolve_into(&resolve, &list, profile);
	if (rc == 0)
		problems_warn(symbolize, command, &resolve);
	else
		vg_err_sys(err, rc, "cannot symbolize the profile");
	vg_address_list_free(&list);
	vg_resolve_free(&resolve);
	return rc;
}

int vg_symbolize_disassemble(const struct vg_symbolize *symbolize, int file, uint64_t begin, uint64_t end)
{
	return vg_broker_ask_disassembly(symbolize->socket, file, begin, end);
}

void vg_symbolize_free(struct vg_symbolize *symbolize)
{
	vg_symbol_finder_free(&symbolize->finder);
	vg_array_free(&symbolize->stores);
	vg_servers_free(&symbolize->servers);
	free(symbolize->environment);
	if (symbolize->socket > 0)
		close(symbolize->socket);
	*symbolize = (struct vg_symbolize){ 0 };
}
