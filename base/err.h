/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_BASE_ERR_H
#define VG_BASE_ERR_H

/*
 * What went wrong, in one sentence for a person.
 *
 * Every function that can fail returns 0 or a negative errno.  Those that know more than the
 * number take a struct vg_err, owned by the caller, and write the sentence there: no trailing
 * newline, no program name, the file and the offset where there are any.  NULL is allowed.
 * The text is meaningful only after a failure.
 */
struct vg_err {
	char text[320];
};

/* Writes the sentence and returns code, so that a failure is one statement:
 * return vg_err_set(err, -EINVAL, "%s: ...", path); */
int vg_err_set(struct vg_err *err, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The same, followed by ": " and the system's words for code. */
int vg_err_sys(struct vg_err *err, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The system's words for a negative errno.  In English, never NULL, and valid for ever. */
const char *vg_err_words(int code);

#endif
