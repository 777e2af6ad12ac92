/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_JSON_H
#define VG_VGTOOL_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/*
 * Writes JSON (RFC 8259) to a stream, without a tree in memory.  The caller makes the calls in the order of
 * the document; the writer adds commas and quotes.
 *  - Strings may hold any bytes.  Invalid UTF-8 is replaced by U+FFFD, and control characters are escaped.
 *  - Containers nested deeper than VG_JSON_DEPTH_MAX become null.
 *  - A failed write sets the stream's error indicator: call ferror(3) at the end.
 *
 *	vg_json_open(&json, stdout);
 *	vg_json_object_begin(&json);
 *	vg_json_key_uint(&json, "samples", 42);
 *	vg_json_object_end(&json);
 *	vg_json_line(&json);
 */
enum { VG_JSON_DEPTH_MAX = 48 };

struct vg_json {
	FILE *file;                  /* the caller's */
	unsigned depth;              /* number of open containers */
	unsigned skipped_depth;      /* number of further open containers, too deep to be written */
	bool after_key;              /* a key was written, but not yet its value */
	bool line_due;               /* a newline comes before the next value, see vg_json_line() */
	bool has_items[VG_JSON_DEPTH_MAX + 1]; /* by depth: the next value needs a comma */
};

void vg_json_open(struct vg_json *json, FILE *file);

void vg_json_object_begin(struct vg_json *json);
void vg_json_object_end(struct vg_json *json);
void vg_json_array_begin(struct vg_json *json);
void vg_json_array_end(struct vg_json *json);

void vg_json_key(struct vg_json *json, const char *key);
void vg_json_key_bytes(struct vg_json *json, const char *key, size_t length);

/* NULL is written as null. */
void vg_json_string(struct vg_json *json, const char *text);
void vg_json_string_bytes(struct vg_json *json, const char *text, size_t length);

/* Writes all digits.  A reader that uses doubles rounds numbers above 2^53. */
void vg_json_uint(struct vg_json *json, uint64_t value);
void vg_json_int(struct vg_json *json, int64_t value);

/* Writes a time in microseconds, exact to the nanosecond: 1234567 ns as 1234.567. */
void vg_json_us(struct vg_json *json, uint64_t ns);

/* Writes a time in milliseconds, exact to the nanosecond: -1234567 ns as -1.234567. */
void vg_json_ms(struct vg_json *json, int64_t ns);

/* Writes infinity and NaN as null, because JSON has neither. */
void vg_json_real(struct vg_json *json, double value);
void vg_json_bool(struct vg_json *json, bool value);
void vg_json_null(struct vg_json *json);

/* Writes bytes as a string of lower-case hexadecimal digits. */
void vg_json_hex(struct vg_json *json, const unsigned char *bytes, size_t length);

/* A key and its value. */
void vg_json_key_string(struct vg_json *json, const char *key, const char *text);
void vg_json_key_uint(struct vg_json *json, const char *key, uint64_t value);

/* Between documents, writes a newline.  Inside a document, the next value of the current container begins on a new
 * line.  If the container ends before a next value, no newline is written. */
void vg_json_line(struct vg_json *json);

#endif
