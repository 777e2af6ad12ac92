/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/views/chrome_event.h"

#include <string.h>

/* Event names that have a meaning for importers.  Events of the recorded program must not have these names. */
static bool name_reserved(const char *name)
{
	static const char *const reserved[] = {
		"Profile", "ProfileChunk", "CpuProfile", "Screenshot", "ScriptCatchup",
		"TracingStartedInBrowser", "thread_name", "thread_sort_index", "process_name",
		"process_labels", "process_sort_index",
	};

	for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++) {
		if (strcmp(name, reserved[i]) == 0)
			return true;
	}
	return false;
}

static void name_write(struct vg_json *json, const char *name)
{
	char text[64];

	if (name_reserved(name)) {
		snprintf(text, sizeof text, "%s (event)", name);
		name = text;
	}
	vg_json_key_string(json, "name", name);
}

static void key_int(struct vg_json *json, const char *key, int64_t value)
{
	vg_json_key(json, key);
	vg_json_int(json, value);
}

void vg_chrome_event_begin(struct vg_chrome *chrome, const char *phase, const char *name,
			   uint32_t thread, uint64_t time_ns)
{
	struct vg_json *json = &chrome->json;

	vg_json_line(json);
	vg_json_object_begin(json);
	vg_json_key_string(json, "ph", phase);
	if (*phase == 'M' || *phase == 'P')
		vg_json_key_string(json, "name", name);
	else
		name_write(json, name);
	key_int(json, "pid", chrome->pids[chrome->profile->threads.items[thread].process]);
	key_int(json, "tid", chrome->tids[thread]);
	vg_json_key(json, "ts");
	vg_json_us(json, time_ns);
}
