/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_BROKER_PLACES_H
#define VG_VGTOOL_BROKER_PLACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "vgtool/run/mapped_files.h"

/* Where this machine has executables, libraries and debug files.  Internal to the broker. */
struct vg_broker_places {
	VG_ARRAY(char *) directories;       /* owned; of executables and libraries */
	VG_ARRAY(char *) debug_directories; /* owned; they have .build-id/ */
	char *working;                      /* owned; the working directory, or NULL */
	bool working_is_private;            /* nobody else can write there */
	struct vg_mapped_files mapped;      /* of the process mapped_pid */
	uint32_t mapped_pid;                /* 0: none */
};

/* Reads the environment and the configuration of the dynamic linker.  What cannot be read is left out. */
void vg_broker_places_read(struct vg_broker_places *places);
void vg_broker_places_free(struct vg_broker_places *places);

#endif
