/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/analysis/thread_names.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

int vg_thread_names_build(struct vg_thread_names *names, const struct vg_profile *profile)
{
	*names = (struct vg_thread_names){ .profile = profile };
	for (size_t t = 0; t < profile->threads.count; t++) {
		uint32_t id, none = 0;
		int rc = vg_intern(&names->names, &profile->threads.items[t].name, sizeof(uint32_t),
				   &id);

		if (rc < 0 || (rc == 1 && vg_array_push(&names->name_counts, &none) != 0))
			return -ENOMEM;
		names->name_counts.items[id]++;
	}
	return 0;
}

void vg_thread_names_free(struct vg_thread_names *names)
{
	vg_intern_free(&names->names);
	vg_array_free(&names->name_counts);
}

struct process_room {
	char text[VG_NAME_MAX_BYTES + 16];
};

static const char *process_text(const struct vg_profile *profile, uint32_t thread, struct process_room *room)
{
	const struct vg_process *process = &profile->processes.items[profile->threads.items[thread].process];

	snprintf(room->text, sizeof room->text, "%s %" PRId32, vg_profile_text(profile, process->name), process->pid);
	return room->text;
}

const char *vg_thread_name(const struct vg_thread_names *names, uint32_t thread,
			   struct vg_thread_name *room)
{
	struct process_room process;
	const struct vg_thread *of = &names->profile->threads.items[thread];
	const char *name = vg_profile_text(names->profile, of->name);
	uint32_t id = 0;

	size_t used = 0;

	vg_intern_find(&names->names, &of->name, sizeof of->name, &id);
	if (names->profile->processes.count > 1 && !names->without_process)
		used = (size_t)snprintf(room->text, sizeof room->text, "%s: ",
					process_text(names->profile, thread, &process));
	if (name[0] == '\0')
		snprintf(room->text + used, sizeof room->text - used, "thread %" PRId32, of->tid);
	else if (names->name_counts.items[id] > 1)
		snprintf(room->text + used, sizeof room->text - used, "%s (%" PRId32 ")", name, of->tid);
	else
		snprintf(room->text + used, sizeof room->text - used, "%s", name);
	return room->text;
}

const char *vg_thread_label(const struct vg_profile *profile, uint32_t thread, struct vg_thread_name *room)
{
	const char *name = vg_profile_text(profile, profile->threads.items[thread].name);
	const struct vg_process *of;
	struct process_room process;

	if (profile->processes.count <= 1)
		return name;
	of = &profile->processes.items[profile->threads.items[thread].process];
	snprintf(room->text, sizeof room->text, "%s%s[%s]", name, *name != '\0' ? " " : "",
		 of->pid == profile->threads.items[thread].tid ? vg_profile_text(profile, of->name) :
		 process_text(profile, thread, &process));
	return room->text;
}

bool vg_thread_matches(const char *text, int32_t tid, const char *name)
{
	char digits[16];

	snprintf(digits, sizeof digits, "%" PRId32, tid);
	return strcmp(text, digits) == 0 || (*text != '\0' && strcmp(text, name) == 0);
}
