/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_JSON_H
#define VG_VGTOOL_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/*
 * Writes JSON (RFC 8259) to a stream as it is told, holding nothing.  Commas are its own affair;
 * the order of calls is the caller's.  Strings come out as valid UTF-8 whatever is in them, with
 * control characters escaped.  What is nested deeper than VG_JSON_DEPTH_MAX becomes null.
 * Failures stay in the stream: ask ferror(3) at the end.
 */
enum { VG_JSON_DEPTH_MAX = 48 };

struct vg_json {
	FILE *file;                  /* the caller's */
	unsigned depth;              /* containers that are open */
	unsigned muted;              /* of those too deep to be written */
	bool after_key, line_due;
	bool filled[VG_JSON_DEPTH_MAX + 1]; /* by depth: a comma is due before the next value */
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

/* All 64 bits exactly, though a reader that keeps doubles will round above 2^53. */
void vg_json_uint(struct vg_json *json, uint64_t value);
void vg_json_int(struct vg_json *json, int64_t value);

/* A time in microseconds, exact to the nanosecond: 1234567 is 1234.567. */
void vg_json_us(struct vg_json *json, uint64_t ns);

/* JSON has no infinity and no NaN: null. */
void vg_json_real(struct vg_json *json, double value);
void vg_json_bool(struct vg_json *json, bool value);
void vg_json_null(struct vg_json *json);

/* Bytes as a string of lower-case hexadecimal digits. */
void vg_json_hex(struct vg_json *json, const unsigned char *bytes, size_t length);

/* A key and its value. */
void vg_json_key_string(struct vg_json *json, const char *key, const char *text);
void vg_json_key_uint(struct vg_json *json, const char *key, uint64_t value);

/* A line's end: at once between documents, and inside one before the next value, if there is one
 * in the same container. */
void vg_json_line(struct vg_json *json);

#endif
