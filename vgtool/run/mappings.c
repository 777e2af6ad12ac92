/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/run/mappings.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void vg_mappings_read(struct vg_mappings *mappings, pid_t pid)
{
	size_t first = mappings->files.items.count;

	vg_mapped_files_read(&mappings->files, pid, VG_MAPPINGS_MAX);
	for (size_t i = first; i < mappings->files.items.count; i++) {
		const struct vg_mapped_file *mapped = &mappings->files.items.items[i];
		struct vg_broker_offer offer = { .fd = vg_mapped_file_open(mapped) };

		if (offer.fd < 0)
			continue;
		offer.path = strdup(mapped->path);
		if (offer.path == NULL || vg_array_push(&mappings->offers, &offer) != 0) {
			free(offer.path);
			close(offer.fd);
		}
	}
}

void vg_mappings_free(struct vg_mappings *mappings)
{
	for (size_t i = 0; i < mappings->offers.count; i++) {
		free(mappings->offers.items[i].path);
		close(mappings->offers.items[i].fd);
	}
	vg_array_free(&mappings->offers);
	vg_mapped_files_free(&mappings->files);
}
