/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "symbols/store/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbols/store/store_path.h"
#include "symbols/table/debug_id.h"

#define ID_COUNT 3

/* What is looked for, and the best of what was found. */
struct search {
	char name[VG_STORE_NAME_MAX + 1];
	char ids[ID_COUNT][2 * VG_BUILD_ID_MAX_BYTES + 1]; /* debug id, build id in either case */
	char *best;             /* owned; NULL: nothing yet */
	uint64_t best_worth;    /* vg_store_worth() */
	char *stranger;         /* owned; a file in the right place that is another module's */
	bool out_of_memory;
};

static bool id_is_wanted(const struct search *search, const char *id)
{
	for (int i = 0; i < ID_COUNT; i++) {
		if (strcasecmp(id, search->ids[i]) == 0)
			return true;
	}
	return false;
}

/* Whose symbols a file holds, by its first two records; the folder that it lies in may lie. */
enum owner {
	OWNER_NONE,             /* it is not there, or no symbol file */
	OWNER_UNREAD,           /* it may not be read: whoever opens it then learns why */
	OWNER_OURS,
	OWNER_OTHER,
};

static enum owner owner_read(const struct search *search, const char *path)
{
	char line[4096], id[sizeof line];
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	FILE *stream = fd >= 0 ? fdopen(fd, "r") : NULL;
	enum owner owner = OWNER_NONE;

	if (stream == NULL) {
		if (fd >= 0)
			close(fd);
		return errno == EACCES || errno == EPERM || errno == ELOOP || errno == EIO ?
		       OWNER_UNREAD : OWNER_NONE;
	}
	for (int i = 0; i < 2 && owner != OWNER_OURS && fgets(line, sizeof line, stream) != NULL;
	     i++) {
		if (sscanf(line, "MODULE %*s %*s %4095s", id) == 1 ||
		    sscanf(line, "INFO CODE_ID %4095s", id) == 1)
			owner = id_is_wanted(search, id) ? OWNER_OURS : OWNER_OTHER;
	}
	fclose(stream);
	return owner;
}

/* Takes ownership of path. */
static void candidate_take(struct search *search, char *path)
{
	enum owner owner;
	uint64_t worth;

	if (path == NULL) {
		search->out_of_memory = true;
		return;
	}
	owner = owner_read(search, path);
	worth = owner == OWNER_OURS ? vg_store_worth(path) : owner == OWNER_UNREAD;
	if (worth > search->best_worth) {
		free(search->best);
		search->best = path;
		search->best_worth = worth;
	} else if (owner == OWNER_OTHER && search->stranger == NULL) {
		search->stranger = path;
	} else {
		free(path);
	}
}

static char *path_join(const char *root, const char *name, const char *id, const char *file)
{
	char *path;

	return asprintf(&path, "%s/%s/%s/%s", root, name, id, file) < 0 ? NULL : path;
}

static bool ends_in_sym(const char *name)
{
	size_t length = strlen(name);

	return length > 4 && strcmp(name + length - 4, ".sym") == 0;
}

/* Every .sym in <root>/<name>/<id>/. */
static void id_directory_search(struct search *search, const char *root, const char *name,
				const char *id)
{
	char *directory = path_join(root, name, id, "");
	struct dirent *entry;
	DIR *stream;

	if (directory == NULL) {
		search->out_of_memory = true;
		return;
	}
	stream = opendir(directory);
	free(directory);
	while (stream != NULL && (entry = readdir(stream)) != NULL) {
		if (entry->d_name[0] != '.' && ends_in_sym(entry->d_name))
			candidate_take(search, path_join(root, name, id, entry->d_name));
	}
	if (stream != NULL)
		closedir(stream);
}

static void root_search_by_name(struct search *search, const char *root)
{
	char file[VG_STORE_NAME_MAX + sizeof ".sym"];

	snprintf(file, sizeof file, "%s.sym", search->name);
	for (int i = 0; i < ID_COUNT && search->best_worth < UINT64_MAX; i++)
		candidate_take(search, path_join(root, search->name, search->ids[i], file));
}

static void root_search_by_id(struct search *search, const char *root)
{
	struct dirent *entry;
	DIR *stream = opendir(root);

	while (stream != NULL && search->best_worth < UINT64_MAX && (entry = readdir(stream)) != NULL) {
		if (entry->d_name[0] == '.' && (entry->d_name[1] == '\0' || entry->d_name[1] == '.'))
			continue;
		for (int i = 0; i < ID_COUNT; i++)
			id_directory_search(search, root, entry->d_name, search->ids[i]);
	}
	if (stream != NULL)
		closedir(stream);
}

/* A root that is a file: of another module, it is none of our business. */
static void file_search(struct search *search, const char *path)
{
	if (owner_read(search, path) == OWNER_OURS)
		candidate_take(search, strdup(path));
}

static void ids_fill(struct search *search, const unsigned char *build_id, size_t bytes)
{
	vg_debug_id_text(build_id, bytes, search->ids[0]);
	vg_hex_text(build_id, bytes, search->ids[1]);
	for (size_t i = 0; search->ids[1][i] != '\0'; i++) {
		char digit = search->ids[1][i];

		if (digit >= 'A')
			digit = (char)(digit - 'A' + 'a');
		search->ids[2][i] = digit;
	}
}

int vg_store_find(const char *const *roots, size_t root_count, const char *name,
		  const unsigned char *build_id, size_t build_id_bytes, char **path_out,
		  bool *has_functions, struct vg_err *err)
{
	struct search search = { .best = NULL };
	int rc = 0;

	*path_out = NULL;
	*has_functions = false;
	if (build_id_bytes == 0 || build_id_bytes > VG_BUILD_ID_MAX_BYTES)
		return vg_err_set(err, -ENOENT, "%s: it has no build id to look for",
				  name != NULL ? name : "");
	vg_store_name(name != NULL ? name : "", search.name);
	ids_fill(&search, build_id, build_id_bytes);
	for (size_t i = 0; i < root_count && search.best_worth < UINT64_MAX; i++) {
		struct stat status;

		if (stat(roots[i], &status) == 0 && S_ISREG(status.st_mode)) {
			file_search(&search, roots[i]);
			continue;
		}
		root_search_by_name(&search, roots[i]);
		if (search.best_worth < UINT64_MAX)
			root_search_by_id(&search, roots[i]);
	}
	*path_out = search.best;
	*has_functions = search.best_worth >= UINT64_MAX - 1;
	if (search.best == NULL && search.out_of_memory)
		rc = vg_err_sys(err, -ENOMEM, "%s", name != NULL ? name : "");
	else if (search.best == NULL && search.stranger != NULL)
		rc = vg_err_set(err, -ESTALE, "%s: not used: by its MODULE record it belongs to another "
				"module", search.stranger);
	else if (search.best == NULL)
		rc = vg_err_set(err, -ENOENT, "%s: no store has its symbols", name != NULL ? name : "");
	free(search.stranger);
	return rc;
}
