/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "symbols/store/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/infile.h"
#include "symbols/store/store_path.h"
#include "symbols/table/debug_id.h"

#define ID_COUNT 3

/* State of a search. */
struct search {
	char name[VG_STORE_NAME_MAX + 1];
	char ids[ID_COUNT][2 * VG_BUILD_ID_MAX_BYTES + 1]; /* debug id; build id in upper and in lower case */
	char *best;             /* owned; NULL: nothing found yet */
	uint64_t best_rank;     /* vg_store_rank() of best */
	char *other_module_path; /* owned; a file of another module in a directory with the wanted id */
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

/* Result of comparing the first two records of a file with the wanted ids.  The name of a directory
 * does not prove which module its file is for. */
enum module_match {
	MATCH_NO_FILE,          /* the file does not exist, or it is not a symbol file */
	MATCH_UNREADABLE,       /* the caller opens the file later, and reports the error */
	MATCH_YES,
	MATCH_OTHER_MODULE,
};

static enum module_match module_match_read(const struct search *search, const char *path)
{
	char line[4096], id[sizeof line];
	int fd = vg_regular_file_open(path);
	FILE *stream = fd >= 0 ? fdopen(fd, "r") : NULL;
	enum module_match module_match = MATCH_NO_FILE;

	if (stream == NULL) {
		if (fd >= 0)
			close(fd);
		return fd == -EACCES || fd == -EPERM || fd == -ELOOP || fd == -EIO ?
		       MATCH_UNREADABLE : MATCH_NO_FILE;
	}
	for (int i = 0; i < 2 && module_match != MATCH_YES && fgets(line, sizeof line, stream) != NULL;
	     i++) {
		if (sscanf(line, "MODULE %*s %*s %4095s", id) == 1 ||
		    sscanf(line, "INFO CODE_ID %4095s", id) == 1)
			module_match = id_is_wanted(search, id) ? MATCH_YES : MATCH_OTHER_MODULE;
	}
	fclose(stream);
	return module_match;
}

/* Takes ownership of path. */
static void candidate_consider(struct search *search, char *path)
{
	enum module_match module_match;
	uint64_t rank;

	if (path == NULL) {
		search->out_of_memory = true;
		return;
	}
	module_match = module_match_read(search, path);
	rank = module_match == MATCH_YES ? vg_store_rank(path) : module_match == MATCH_UNREADABLE;
	if (rank > search->best_rank) {
		free(search->best);
		search->best = path;
		search->best_rank = rank;
	} else if (module_match == MATCH_OTHER_MODULE && search->other_module_path == NULL) {
		search->other_module_path = path;
	} else {
		free(path);
	}
}

static char *path_join(const char *root, const char *name, const char *id, const char *file)
{
	char *path;

	return asprintf(&path, "%s/%s/%s/%s", root, name, id, file) < 0 ? NULL : path;
}

static bool has_sym_suffix(const char *name)
{
	size_t length = strlen(name);

	return length > 4 && strcmp(name + length - 4, ".sym") == 0;
}

/* Considers every .sym file in <root>/<name>/<id>/. */
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
		if (entry->d_name[0] != '.' && has_sym_suffix(entry->d_name))
			candidate_consider(search, path_join(root, name, id, entry->d_name));
	}
	if (stream != NULL)
		closedir(stream);
}

static void root_search_by_name(struct search *search, const char *root)
{
	char file[VG_STORE_NAME_MAX + sizeof ".sym"];

	snprintf(file, sizeof file, "%s.sym", search->name);
	for (int i = 0; i < ID_COUNT && search->best_rank < UINT64_MAX; i++)
		candidate_consider(search, path_join(root, search->name, search->ids[i], file));
}

static void root_search_by_id(struct search *search, const char *root)
{
	struct dirent *entry;
	DIR *stream = opendir(root);

	while (stream != NULL && search->best_rank < UINT64_MAX && (entry = readdir(stream)) != NULL) {
		if (entry->d_name[0] == '.' && (entry->d_name[1] == '\0' || entry->d_name[1] == '.'))
			continue;
		/* Thousands of files, in a directory such as /usr/bin. */
		if (entry->d_type == DT_REG)
			continue;
		for (int i = 0; i < ID_COUNT; i++)
			id_directory_search(search, root, entry->d_name, search->ids[i]);
	}
	if (stream != NULL)
		closedir(stream);
}

/* Considers a root that is a file.  It is no error if the file belongs to another module. */
static void file_search(struct search *search, const char *path)
{
	if (module_match_read(search, path) == MATCH_YES)
		candidate_consider(search, strdup(path));
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

/* Searches <root>/<name>/ID/<name>.sym. */
static bool root_has_build(const char *root, const char *name, char id[VG_DEBUG_ID_ROOM])
{
	char *directory = path_join(root, name, "", "");
	DIR *stream = directory != NULL ? opendir(directory) : NULL;
	bool found = false;
	struct dirent *entry;

	free(directory);
	while (stream != NULL && !found && (entry = readdir(stream)) != NULL) {
		size_t length = strlen(entry->d_name);
		char file[VG_STORE_NAME_MAX + sizeof ".sym"], *path;

		if (length >= VG_DEBUG_ID_ROOM || length != strspn(entry->d_name, "0123456789ABCDEFabcdef"))
			continue;
		snprintf(file, sizeof file, "%s.sym", name);
		path = path_join(root, name, entry->d_name, file);
		found = path != NULL && access(path, F_OK) == 0;
		free(path);
		if (found)
			strcpy(id, entry->d_name);
	}
	if (stream != NULL)
		closedir(stream);
	return found;
}

bool vg_store_other_build(const char *const *roots, size_t root_count, const char *name, char id[VG_DEBUG_ID_ROOM])
{
	char safe[VG_STORE_NAME_MAX + 1];

	vg_store_safe_name(name, safe);
	for (size_t i = 0; i < root_count; i++) {
		if (root_has_build(roots[i], safe, id))
			return true;
	}
	return false;
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
		return vg_err_set(err, -ENOENT, "%s: no symbols: the module has no build id",
				  name != NULL ? name : "");
	vg_store_safe_name(name != NULL ? name : "", search.name);
	ids_fill(&search, build_id, build_id_bytes);
	for (size_t i = 0; i < root_count && search.best_rank < UINT64_MAX; i++) {
		struct stat status;

		if (stat(roots[i], &status) == 0 && S_ISREG(status.st_mode)) {
			file_search(&search, roots[i]);
			continue;
		}
		root_search_by_name(&search, roots[i]);
		if (search.best_rank < UINT64_MAX)
			root_search_by_id(&search, roots[i]);
	}
	*path_out = search.best;
	*has_functions = search.best_rank >= UINT64_MAX - 1;
	if (search.best == NULL && search.out_of_memory)
		rc = vg_err_sys(err, -ENOMEM, "%s", name != NULL ? name : "");
	else if (search.best == NULL && search.other_module_path != NULL)
		rc = vg_err_set(err, -ESTALE, "%s: not used: its MODULE record has the id of another module",
				search.other_module_path);
	else if (search.best == NULL)
		rc = vg_err_set(err, -ENOENT, "%s: no symbols in any store", name != NULL ? name : "");
	free(search.other_module_path);
	return rc;
}
