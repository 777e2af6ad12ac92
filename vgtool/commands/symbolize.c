/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/commands/symbolize.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "vgtool/resolve/resolve.h"

int vg_symbolize_set(struct vg_symbolize *symbolize, const struct vg_option_value *value, struct vg_err *err)
{
	if (value->key == 'U')
		symbolize->unresolved = true;
	if (value->key == 's' && vg_array_push(&symbolize->stores, &value->text) != 0)
		return vg_err_sys(err, -ENOMEM, "cannot add the symbol store %s", value->text);
	return 0;
}

/* Unlike an argument of -s, a path that does not exist is no error: the variable is set for all profiles. */
static int environment_add(struct vg_symbolize *symbolize)
{
	const char *list = getenv("VGTOOL_SYMBOLS");
	char *at, *path;

	if (list == NULL)
		return 0;
	symbolize->environment = at = strdup(list);
	if (at == NULL)
		return -ENOMEM;
	while ((path = strsep(&at, ":")) != NULL) {
		if (*path != '\0' && vg_array_push(&symbolize->stores, (const char **)&path) != 0)
			return -ENOMEM;
	}
	return 0;
}

static int machine_open(void *context, const char *module, const unsigned char *build_id, size_t build_id_bytes,
			uint32_t *next, char **path)
{
	const struct vg_symbolize *symbolize = context;

	return vg_broker_ask(symbolize->socket, module, build_id, build_id_bytes, next, path);
}

int vg_symbolize_check(const struct vg_symbolize *symbolize, struct vg_err *err)
{
	const struct vg_symbol_finder finder = { .stores = symbolize->stores.items,
						 .store_count = symbolize->stores.count };

	return vg_symbol_finder_check(&finder, err);
}

static int sources_prepare(struct vg_symbolize *symbolize, struct vg_err *err)
{
	struct vg_symbol_finder *finder = &symbolize->finder;
	int rc = vg_symbolize_check(symbolize, err);

	if (rc != 0)
		return rc;
	if (environment_add(symbolize) != 0)
		return vg_err_sys(err, -ENOMEM, "cannot read $VGTOOL_SYMBOLS");
	finder->stores = symbolize->stores.items;
	finder->store_count = symbolize->stores.count;
	finder->open = machine_open;
	finder->open_context = symbolize;
	return vg_broker_start(&symbolize->broker, &symbolize->socket, err);
}

enum vg_exit vg_symbolize_confine(struct vg_symbolize *symbolize, const char *command,
				  struct vg_confinement confinement)
{
	struct vg_err err;

	if (symbolize->unresolved)
		return vg_command_confine(command, &confinement);
	if (sources_prepare(symbolize, &err) != 0) {
		vg_command_fail(command, &err);
		return VG_EXIT_FAILED;
	}
	confinement.broker = symbolize->socket;
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

	if (symbolize->unresolved || profile->symbols.count > 0)
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

void vg_symbolize_free(struct vg_symbolize *symbolize)
{
	vg_symbol_finder_free(&symbolize->finder);
	vg_array_free(&symbolize->stores);
	free(symbolize->environment);
	if (symbolize->socket > 0)
		close(symbolize->socket);
	*symbolize = (struct vg_symbolize){ 0 };
}
