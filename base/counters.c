/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "base/counters.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Where the events of a perf counter happen.  The effect of the suffixes :u (count in user code only) and :k (count in
 * the kernel only) depends on this place. */
enum parts {
	PARTS_BOTH,                  /* in user code and in the kernel: both suffixes work */
	PARTS_NONE,                  /* the kernel ignores the suffixes, so vg_counters_parse() refuses them */
	PARTS_KERNEL,                /* only in the kernel: with :u the counter would count nothing */
};

static const struct known {
	enum vg_counter number;
	enum parts parts;
	const char *name, *alias;    /* alias: another name in perf(1), or NULL */
} known[] = {
	{ VG_COUNTER_TASK_CLOCK, PARTS_NONE, "task-clock", NULL },
	{ VG_COUNTER_PAGE_FAULTS, PARTS_BOTH, "page-faults", "faults" },
	{ VG_COUNTER_MINOR_FAULTS, PARTS_BOTH, "minor-faults", NULL },
	{ VG_COUNTER_MAJOR_FAULTS, PARTS_BOTH, "major-faults", NULL },
	{ VG_COUNTER_CONTEXT_SWITCHES, PARTS_KERNEL, "context-switches", "cs" },
	{ VG_COUNTER_CPU_MIGRATIONS, PARTS_KERNEL, "cpu-migrations", "migrations" },
	{ VG_COUNTER_CYCLES, PARTS_BOTH, "cycles", "cpu-cycles" },
	{ VG_COUNTER_INSTRUCTIONS, PARTS_BOTH, "instructions", NULL },
	{ VG_COUNTER_CACHE_REFERENCES, PARTS_BOTH, "cache-references", NULL },
	{ VG_COUNTER_CACHE_MISSES, PARTS_BOTH, "cache-misses", NULL },
	{ VG_COUNTER_BRANCHES, PARTS_BOTH, "branches", "branch-instructions" },
	{ VG_COUNTER_BRANCH_MISSES, PARTS_BOTH, "branch-misses", NULL },
	{ VG_COUNTER_BUS_CYCLES, PARTS_BOTH, "bus-cycles", NULL },
	{ VG_COUNTER_REF_CYCLES, PARTS_BOTH, "ref-cycles", NULL },
	{ VG_COUNTER_STALLED_FRONTEND, PARTS_BOTH, "stalled-cycles-frontend", NULL },
	{ VG_COUNTER_STALLED_BACKEND, PARTS_BOTH, "stalled-cycles-backend", NULL },
};

static bool text_is(const char *text, size_t length, const char *name)
{
	return name != NULL && strlen(name) == length && memcmp(text, name, length) == 0;
}

static const struct known *name_find(const char *text, size_t length)
{
	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		if (text_is(text, length, known[i].name) || text_is(text, length, known[i].alias))
			return &known[i];
	}
	return NULL;
}

static const struct known *code_find(uint16_t code)
{
	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		if (known[i].number == (code & VG_COUNTER_NUMBER))
			return &known[i];
	}
	return NULL;
}

/* Returns the bit for a suffix ":u" or ":k" and shortens *length by the suffix.  Returns 0 without a suffix, and -1 for
 * an unknown suffix. */
static int suffix_read(const char *text, size_t *length)
{
	const char *colon = memchr(text, ':', *length);
	size_t behind;

	if (colon == NULL)
		return 0;
	behind = *length - (size_t)(colon - text) - 1;
	*length = (size_t)(colon - text);
	return behind != 1 ? -1 : colon[1] == 'u' ? VG_COUNTER_USER :
	       colon[1] == 'k' ? VG_COUNTER_KERNEL : -1;
}

static int name_parse(const char *text, size_t length, uint16_t *code, struct vg_err *err)
{
	size_t bare = length;
	int shown = length < 64 ? (int)length : 64, parts = suffix_read(text, &bare);
	const struct known *found = name_find(text, bare);

	if (found == NULL || parts < 0)
		return vg_err_set(err, -EINVAL, "counter %.*s: unknown name; use task-clock, page-faults, "
				  "minor-faults, major-faults, context-switches, cpu-migrations, or, if the CPU has "
				  "them, cycles, instructions, cache-misses, branch-misses and others", shown, text);
	if (parts != 0 && found->parts == PARTS_NONE)
		return vg_err_set(err, -EINVAL, "counter %s: it cannot have :u or :k; it counts all of a thread's "
				  "CPU time",
				  found->name);
	if (parts == VG_COUNTER_USER && found->parts == PARTS_KERNEL)
		return vg_err_set(err, -EINVAL, "counter %s:u: it would count nothing; use %s, whose events happen in "
				  "the kernel", found->name, found->name);
	*code = (uint16_t)(found->number | parts);
	return 0;
}

int vg_counters_parse(const char *text, uint16_t codes[VG_COUNTERS_MAX], struct vg_err *err)
{
	uint32_t count = vg_counters_count(codes);
	uint16_t code = 0;

	for (;; text++) {
		size_t length = strcspn(text, ",");
		int rc = name_parse(text, length, &code, err);

		if (rc != 0)
			return rc;
		for (uint32_t i = 0; i < count; i++) {
			if (codes[i] == code)
				return vg_err_set(err, -EINVAL, "counter %.*s: it is named twice",
						  (int)length, text);
		}
		if (count == VG_COUNTERS_MAX)
			return vg_err_set(err, -EINVAL, "counter %.*s: it is one too many; use at most %d",
					  (int)length, text, VG_COUNTERS_MAX);
		codes[count++] = code;
		text += length;
		if (*text == '\0')
			return 0;
	}
}

uint32_t vg_counters_count(const uint16_t codes[VG_COUNTERS_MAX])
{
	uint32_t count = 0;

	while (count < VG_COUNTERS_MAX && codes[count] != 0)
		count++;
	return count;
}

int vg_counters_check(const uint16_t codes[VG_COUNTERS_MAX])
{
	uint16_t again[VG_COUNTERS_MAX] = { 0 };
	char name[VG_COUNTER_NAME_BYTES];
	uint32_t count = vg_counters_count(codes);
	struct vg_err err;

	for (uint32_t i = 0; i < count; i++) {
		if (code_find(codes[i]) == NULL ||
		    vg_counters_parse(vg_counter_name(codes[i], name), again, &err) != 0)
			return -EINVAL;
	}
	/* The two arrays differ if there are codes after the 0 or bits without a name. */
	return memcmp(codes, again, sizeof again) == 0 ? 0 : -EINVAL;
}

const char *vg_counter_name(uint16_t code, char room[VG_COUNTER_NAME_BYTES])
{
	const struct known *found = code_find(code);

	snprintf(room, VG_COUNTER_NAME_BYTES, "%s%s", found != NULL ? found->name : "?",
		 (code & VG_COUNTER_USER) != 0 ? ":u" : (code & VG_COUNTER_KERNEL) != 0 ? ":k" : "");
	return room;
}
