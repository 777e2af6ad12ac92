/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/analysis/function_match.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef bool name_test(const void *wanted, const char *name);

static bool name_equals(const void *wanted, const char *name)
{
	return strcmp(wanted, name) == 0;
}

static bool name_contains(const void *wanted, const char *name)
{
	return strstr(name, wanted) != NULL;
}

static bool name_matches(const void *regex, const char *name)
{
	return regexec(regex, name, 0, NULL, 0) == 0;
}

static void functions_mark(struct vg_function_match *match, const struct vg_frames *frames, name_test *test,
			   const void *wanted)
{
	for (uint32_t function = 0; function < frames->count; function++) {
		if (!test(wanted, vg_frames_function(frames, function).name))
			continue;
		match->marked[function] = 1;
		if (match->count++ == 0)
			match->first = function;
	}
}

static int match_open(struct vg_function_match *match, const struct vg_frames *frames)
{
	*match = (struct vg_function_match){ .first = VG_NONE };
	match->marked = calloc((size_t)frames->count + 1, 1);
	return match->marked != NULL ? 0 : -ENOMEM;
}

int vg_function_match_regex(struct vg_function_match *match, const struct vg_frames *frames, const regex_t *regex)
{
	int rc = match_open(match, frames);

	if (rc == 0)
		functions_mark(match, frames, name_matches, regex);
	return rc;
}

int vg_function_match_name(struct vg_function_match *match, const struct vg_frames *frames, const char *name)
{
	int rc = match_open(match, frames);
	regex_t regex;

	if (rc != 0 || *name == '\0')
		return rc;
	functions_mark(match, frames, name_equals, name);
	if (match->count == 0)
		functions_mark(match, frames, name_contains, name);
	if (match->count > 0 || regcomp(&regex, name, REG_EXTENDED | REG_NOSUB) != 0)
		return 0;
	functions_mark(match, frames, name_matches, &regex);
	regfree(&regex);
	return 0;
}

void vg_function_match_free(struct vg_function_match *match)
{
	free(match->marked);
	*match = (struct vg_function_match){ 0 };
}
