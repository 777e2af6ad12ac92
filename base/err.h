/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_BASE_ERR_H
#define VG_BASE_ERR_H

/*
 * An error message: one sentence for a person.
 *
 * A function that can fail returns 0 or a negative errno.  If it can say more than the errno, it also takes a pointer
 * to the caller's struct vg_err, which may be NULL.  The text names the file or option, and the offset if there is one.
 * It has no newline and no program name.  It is valid only after a failure.
 *
 * 	struct vg_err err;
 * 	if (vg_infile_open(&file, path, &err) != 0)
 * 		vg_print(stderr, "vgtool: %s\n", err.text);
 */
struct vg_err {
	char text[320];
};

/* Sets the text and returns `code`, so that one statement is enough: return vg_err_set(err, -EINVAL, "%s: ...",
 * path); */
int vg_err_set(struct vg_err *err, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Like vg_err_set(), but appends ": " and the system's text for the code. */
int vg_err_sys(struct vg_err *err, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The system's text for a negative errno.  Always English, never NULL.  Do not free it. */
const char *vg_errno_text(int code);

#endif
