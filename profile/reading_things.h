/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_PROFILE_READING_THINGS_H
#define VG_PROFILE_READING_THINGS_H

#include "profile/reading.h"

/* The index of what has that id in the file.  If its record was lost, it gets a placeholder. */
int vg_reader_module(struct vg_reader *reader, uint32_t id, uint32_t *index);
int vg_reader_thread(struct vg_reader *reader, uint32_t id, uint32_t *index);

/* Takes a module's id off the record: its index, or VG_NONE for nil.  0, -EBADMSG, or -ENOMEM. */
int vg_field_module(struct vg_reader *reader, struct vg_record_view *record, uint32_t *index);

#endif
