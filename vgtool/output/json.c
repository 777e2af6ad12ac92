/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/output/json.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/utf8.h"

/* Without the check, each call on a failed stream would try to write again. */
static void put(struct vg_json *json, const char *text, size_t length)
{
	if (!ferror_unlocked(json->file))
		fwrite_unlocked(text, 1, length, json->file);
}

void vg_json_open(struct vg_json *json, FILE *file)
{
	*json = (struct vg_json){ .file = file };
}

/* Writes the comma and newline before a value or a key.  Returns false inside a container that is too deep. */
static bool value_begin(struct vg_json *json)
{
	if (json->skipped_depth > 0)
		return false;
	if (json->after_key)
		json->after_key = false;
	else if (json->has_items[json->depth])
		put(json, ",", 1);
	if (json->line_due)
		put(json, "\n", 1);
	json->line_due = false;
	json->has_items[json->depth] = json->depth > 0;
	return true;
}

static void container_begin(struct vg_json *json, const char *bracket)
{
	if (json->skipped_depth > 0 || json->depth == VG_JSON_DEPTH_MAX) {
		vg_json_null(json);
		json->skipped_depth++;
		return;
	}
	value_begin(json);
	put(json, bracket, 1);
	json->has_items[++json->depth] = false;
}

static void container_end(struct vg_json *json, const char *bracket)
{
	if (json->skipped_depth > 0) {
		json->skipped_depth--;
		return;
	}
	json->line_due = false;
	put(json, bracket, 1);
	json->depth--;
}

void vg_json_object_begin(struct vg_json *json)
{
	container_begin(json, "{");
}

void vg_json_object_end(struct vg_json *json)
{
	container_end(json, "}");
}

void vg_json_array_begin(struct vg_json *json)
{
	container_begin(json, "[");
}

void vg_json_array_end(struct vg_json *json)
{
	container_end(json, "]");
}

/* Writes the valid character at `at` as an escape.  Returns the length of the character in bytes. */
static size_t escape_put(struct vg_json *json, const char *at, size_t bytes)
{
	static const char *const shorts[] = {
		['\b'] = "\\b", ['\t'] = "\\t", ['\n'] = "\\n", ['\f'] = "\\f", ['\r'] = "\\r",
		['"'] = "\\\"", ['\\'] = "\\\\",
	};
	unsigned char byte = (unsigned char)*at;
	char code[16];

	if (byte < sizeof shorts / sizeof *shorts && shorts[byte] != NULL) {
		put(json, shorts[byte], 2);
		return 1;
	}
	snprintf(code, sizeof code, "\\u%04x", vg_utf8_code_point(at, bytes));
	put(json, code, 6);
	return bytes;
}

/* Writes text in which only quotes and backslashes need an escape. */
static void plain_put(struct vg_json *json, const char *text, size_t length)
{
	size_t from = 0;

	for (size_t at = 0; at < length; at++) {
		if (text[at] == '"' || text[at] == '\\') {
			put(json, text + from, at - from);
			from = at + escape_put(json, text + at, 1);
		}
	}
	put(json, text + from, length - from);
}

/* Also escapes the control characters that JSON allows in strings, because people print JSON on terminals. */
static void quoted_put(struct vg_json *json, const char *text, size_t length)
{
	put(json, "\"", 1);
	while (length > 0) {
		size_t done = vg_utf8_printable(text, length);

		plain_put(json, text, done);
		if (done < length) {
			size_t control = vg_utf8_control(text + done, length - done);

			if (control > 0)
				escape_put(json, text + done, control);
			else
				put(json, "\xef\xbf\xbd", 3);   /* U+FFFD */
			done += control > 0 ? control : 1;
		}
		text += done;
		length -= done;
	}
	put(json, "\"", 1);
}

void vg_json_key_bytes(struct vg_json *json, const char *key, size_t length)
{
	if (!value_begin(json))
		return;
	quoted_put(json, key, length);
	put(json, ":", 1);
	json->after_key = true;
}

void vg_json_key(struct vg_json *json, const char *key)
{
	vg_json_key_bytes(json, key, strlen(key));
}

void vg_json_string_bytes(struct vg_json *json, const char *text, size_t length)
{
	if (value_begin(json))
		quoted_put(json, text, length);
}

void vg_json_string(struct vg_json *json, const char *text)
{
	if (text != NULL)
		vg_json_string_bytes(json, text, strlen(text));
	else
		vg_json_null(json);
}

/* Formats by hand: printf(3) would take most of the time of a large view. */
void vg_json_uint(struct vg_json *json, uint64_t value)
{
	char digits[20];
	size_t at = sizeof digits;

	if (!value_begin(json))
		return;
	do
		digits[--at] = (char)('0' + value % 10);
	while ((value /= 10) != 0);
	put(json, digits + at, sizeof digits - at);
}

void vg_json_int(struct vg_json *json, int64_t value)
{
	if (value >= 0)
		vg_json_uint(json, (uint64_t)value);
	else if (value_begin(json))
		fprintf(json->file, "%" PRId64, value);
}

void vg_json_us(struct vg_json *json, uint64_t ns)
{
	unsigned rest = (unsigned)(ns % 1000);
	char digits[4] = { '.', (char)('0' + rest / 100), (char)('0' + rest / 10 % 10),
			   (char)('0' + rest % 10) };
	bool is_skipped = json->skipped_depth > 0;

	vg_json_uint(json, ns / 1000);
	if (rest > 0 && !is_skipped)
		put(json, digits, sizeof digits);
}

void vg_json_ms(struct vg_json *json, int64_t ns)
{
	uint64_t rest = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
	char text[32];
	size_t at = sizeof text, end = sizeof text;

	if (!value_begin(json))
		return;
	for (int digit = 0; digit < 6; digit++, rest /= 10)
		text[--at] = (char)('0' + rest % 10);
	text[--at] = '.';
	do
		text[--at] = (char)('0' + rest % 10);
	while ((rest /= 10) != 0);
	if (ns < 0)
		text[--at] = '-';
	while (text[end - 1] == '0')
		end--;
	put(json, text + at, end - at - (text[end - 1] == '.'));
}

void vg_json_real(struct vg_json *json, double value)
{
	if (!isfinite(value))
		vg_json_null(json);
	else if (value_begin(json))
		fprintf(json->file, "%.17g", value);
}

void vg_json_bool(struct vg_json *json, bool value)
{
	if (value_begin(json))
		put(json, value ? "true" : "false", value ? 4 : 5);
}

void vg_json_null(struct vg_json *json)
{
	if (value_begin(json))
		put(json, "null", 4);
}

void vg_json_hex(struct vg_json *json, const unsigned char *bytes, size_t length)
{
	static const char digits[] = "0123456789abcdef";

	if (!value_begin(json))
		return;
	put(json, "\"", 1);
	for (size_t i = 0; i < length; i++) {
		char pair[2] = { digits[bytes[i] >> 4], digits[bytes[i] & 15] };

		put(json, pair, 2);
	}
	put(json, "\"", 1);
}

void vg_json_key_string(struct vg_json *json, const char *key, const char *text)
{
	vg_json_key(json, key);
	vg_json_string(json, text);
}

void vg_json_key_uint(struct vg_json *json, const char *key, uint64_t value)
{
	vg_json_key(json, key);
	vg_json_uint(json, value);
}

void vg_json_line(struct vg_json *json)
{
	if (json->depth == 0)
		put(json, "\n", 1);
	else
		json->line_due = true;
}
