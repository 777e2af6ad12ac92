/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/run/broker_places.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "vgtool/run/server_path.h"

/* $PATH has a dozen directories, and the dynamic linker's configuration a few. */
enum { DIRECTORIES_MAX = 200 };

/* These come first in the dynamic linker's order on systems that do not list them in ld.so.conf. */
static const char *const library_directories[] = {
	"/lib64", "/usr/lib64", "/lib", "/usr/lib", "/usr/local/lib64", "/usr/local/lib",
};

static void directory_add(struct vg_broker_places *places, const char *path, size_t length)
{
	char *copy;

	if (length == 0 || *path != '/' || places->directories.count >= DIRECTORIES_MAX)
		return;
	copy = strndup(path, length);
	if (copy == NULL || vg_array_push(&places->directories, &copy) != 0)
		free(copy);
}

/* Adds the absolute directories of a list that is separated by colons. */
static void list_add(struct vg_broker_places *places, const char *list)
{
	while (list != NULL) {
		const char *colon = strchrnul(list, ':');

		directory_add(places, list, (size_t)(colon - list));
		list = *colon == ':' ? colon + 1 : NULL;
	}
}

/* ld.so.conf(5) has a directory in each line.  "include" lines name ld.so.conf.d on every distribution. */
static void configuration_add(struct vg_broker_places *places, const char *path)
{
	FILE *file = fopen(path, "re");
	char line[4096];

	while (file != NULL && fgets(line, sizeof line, file) != NULL)
		directory_add(places, line, strcspn(line, " \t\n#"));
	if (file != NULL)
		fclose(file);
}

/* Takes ownership of `path`. */
static void debug_directory_add(struct vg_broker_places *places, char *path)
{
	if (path != NULL && vg_array_push(&places->debug_directories, &path) != 0)
		free(path);
}

void vg_broker_places_read(struct vg_broker_places *places)
{
	char *cache = NULL;
	glob_t found = { 0 };
	struct stat status;

	places->working = realpath(".", NULL);
	places->working_is_private = places->working != NULL && stat(places->working, &status) == 0 &&
				     status.st_uid == geteuid() && (status.st_mode & 022) == 0;
	list_add(places, getenv("PATH"));
	list_add(places, getenv("LD_LIBRARY_PATH"));
	configuration_add(places, "/etc/ld.so.conf");
	if (glob("/etc/ld.so.conf.d/*.conf", 0, NULL, &found) == 0) {
		for (size_t i = 0; i < found.gl_pathc; i++)
			configuration_add(places, found.gl_pathv[i]);
		globfree(&found);
	}
	for (size_t i = 0; i < sizeof library_directories / sizeof *library_directories; i++)
		directory_add(places, library_directories[i], strlen(library_directories[i]));
	debug_directory_add(places, strdup("/usr/lib/debug"));
	vg_cache_directory(&cache);
	debug_directory_add(places, cache);
}

void vg_broker_places_free(struct vg_broker_places *places)
{
	for (size_t i = 0; i < places->directories.count; i++)
		free(places->directories.items[i]);
	for (size_t i = 0; i < places->debug_directories.count; i++)
		free(places->debug_directories.items[i]);
	free(places->working);
	vg_array_free(&places->directories);
	vg_array_free(&places->debug_directories);
	vg_mapped_files_free(&places->mapped);
}
