/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_PROFILE_READING_MODULES_H
#define VG_PROFILE_READING_MODULES_H

#include "profile/reading.h"

/* Sets *index to the index of the module or thread that has this id in the file.  If the record of the module or thread
 * was lost, adds a placeholder to the model.  Returns 0 or -ENOMEM. */
int vg_reader_module(struct vg_reader *reader, uint32_t id, uint32_t *index);
int vg_reader_thread(struct vg_reader *reader, uint32_t id, uint32_t *index);

/* Takes a module's id off the record.  *index is the index of the module, or VG_NONE for nil.  Returns 0, -EBADMSG or
 * -ENOMEM. */
int vg_field_module(struct vg_reader *reader, struct vg_record_view *record, uint32_t *index);

#endif
