/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/run/mappings.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/output_path.h"
#include "base/process_file.h"

static void offer_close(const struct vg_broker_offer *offer)
{
	free(offer->path);
	close(offer->fd);
}

static void others_drop(struct vg_mappings *mappings)
{
	size_t kept = 0;

	for (size_t i = 0; i < mappings->offers.count; i++) {
		if (vg_output_path_file_is_trusted(mappings->offers.items[i].fd))
			mappings->offers.items[kept++] = mappings->offers.items[i];
		else
			offer_close(&mappings->offers.items[i]);
	}
	mappings->offers.count = kept;
}

/* A process may change its user.  The user of one that has ended is unknown, but it has no files either. */
static void user_note(struct vg_mappings *mappings, pid_t pid, long user)
{
	if (mappings->pid == 0) {
		mappings->pid = pid;
		mappings->user = user;
	} else if (pid != mappings->pid && (user < 0 || user != mappings->user)) {
		mappings->is_mixed = true;
	}
}

void vg_mappings_read(struct vg_mappings *mappings, pid_t pid)
{
	size_t first = mappings->files.items.count;
	long user = vg_process_user(pid);

	vg_mapped_files_read(&mappings->files, pid, VG_MAPPINGS_MAX);
	if (user < 0 && mappings->files.items.count == first)
		return;
	user_note(mappings, pid, user);
	for (size_t i = first; i < mappings->files.items.count; i++) {
		const struct vg_mapped_file *mapped = &mappings->files.items.items[i];
		struct vg_broker_offer offer = { .fd = vg_mapped_file_open(mapped) };

		if (offer.fd < 0)
			continue;
		offer.path = strdup(mapped->path);
		if (offer.path == NULL || vg_array_push(&mappings->offers, &offer) != 0)
			offer_close(&offer);
	}
	if (mappings->is_mixed)
		others_drop(mappings);
}

void vg_mappings_free(struct vg_mappings *mappings)
{
	for (size_t i = 0; i < mappings->offers.count; i++)
		offer_close(&mappings->offers.items[i]);
	vg_array_free(&mappings->offers);
	vg_mapped_files_free(&mappings->files);
}
