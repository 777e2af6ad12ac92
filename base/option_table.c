/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "base/option_table.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "base/print.h"

enum { OPTIONS_MAX = 48 };

static const double NS_PER_S = 1e9;

/* Writes a size with the largest unit that divides it. */
static void size_text(uint64_t bytes, char *text, size_t text_bytes)
{
	unsigned int unit = 0;

	for (; unit < 4 && bytes != 0 && bytes % 1024 == 0; unit++)
		bytes /= 1024;
	snprintf(text, text_bytes, "%" PRIu64 "%.1s", bytes, "\0KMGT" + unit);
}

/* Writes the accepted values: "1 to 10000".  Writes "" if each value is accepted. */
static void range_text(const struct vg_option *option, char text[VG_OPTION_TEXT_BYTES])
{
	char least[32] = "", most[32] = "";

	text[0] = '\0';
	switch (option->type) {
	case VG_OPTION_NUMBER:
		snprintf(least, sizeof least, "%" PRIu64, option->least);
		snprintf(most, sizeof most, "%" PRIu64, option->most);
		break;
	case VG_OPTION_TIME:
		snprintf(least, sizeof least, "%.10g", (double)option->least / NS_PER_S);
		snprintf(most, sizeof most, "%.10g", (double)option->most / NS_PER_S);
		break;
	case VG_OPTION_SIZE:
		size_text(option->least, least, sizeof least);
		size_text(option->most, most, sizeof most);
		break;
	case VG_OPTION_SHARE:
		strcpy(least, "0");
		strcpy(most, "100");
		break;
	case VG_OPTION_FLAG: case VG_OPTION_WORD: case VG_OPTION_TEXT:
		return;
	}
	if (option->most == UINT64_MAX)
		snprintf(text, VG_OPTION_TEXT_BYTES, "%s or more", least);
	else
		snprintf(text, VG_OPTION_TEXT_BYTES, "%s to %s", least, most);
}

/* Writes "one, two or three" for "one|two|three". */
static void words_text(const char *words, char text[VG_OPTION_TEXT_BYTES])
{
	size_t length = strcspn(words, "|"), used;

	used = (size_t)snprintf(text, VG_OPTION_TEXT_BYTES, "%.*s", (int)length, words);
	while (words[length] != '\0' && used < VG_OPTION_TEXT_BYTES) {
		words += length + 1;
		length = strcspn(words, "|");
		used += (size_t)snprintf(text + used, VG_OPTION_TEXT_BYTES - used, "%s%.*s",
					 words[length] != '\0' ? ", " : " or ", (int)length, words);
	}
}

static int value_refuse(const struct vg_option *option, const char *value, struct vg_err *err)
{
	char range[VG_OPTION_TEXT_BYTES];

	range_text(option, range);
	switch (option->type) {
	case VG_OPTION_NUMBER:
		return vg_err_set(err, -EINVAL, "--%s %.100s: must be %s %s", option->name, value, range, option->unit);
	case VG_OPTION_TIME:
		return vg_err_set(err, -EINVAL, "--%s %.100s: must be %s seconds, such as 10, 0.5, 500ms%s, 1m or 2h",
				  option->name, value, range, option->least <= 20000 ? ", 20us" : "");
	case VG_OPTION_SIZE:
		return vg_err_set(err, -EINVAL, "--%s %.100s: must be %s bytes, such as 65536, 64M or 1G", option->name,
				  value, range);
	case VG_OPTION_SHARE:
		return vg_err_set(err, -EINVAL, "--%s %.100s: must be %s percent", option->name, value, range);
	case VG_OPTION_FLAG: case VG_OPTION_WORD: case VG_OPTION_TEXT:
		break;
	}
	if (option->type == VG_OPTION_WORD)
		words_text(option->value, range);
	else if (*value == '\0')
		return vg_err_set(err, -EINVAL, "--%s: the value is empty; must be %s", option->name, option->unit);
	return vg_err_set(err, -EINVAL, "--%s %.100s: must be %s", option->name, value,
			  option->type == VG_OPTION_WORD ? range : option->unit);
}

/* Sets *index to the position of the word in "one|two". */
static bool word_find(const char *words, const char *word, uint64_t *index)
{
	size_t length = strlen(word);

	for (*index = 0;; ++*index, words++) {
		size_t next = strcspn(words, "|");

		if (next == length && strncmp(words, word, length) == 0)
			return true;
		words += next;
		if (*words == '\0')
			return false;
	}
}

int vg_option_check(const struct vg_option *option, struct vg_option_value *value, struct vg_err *err)
{
	bool good = true;

	value->number = 0;
	switch (option->type) {
	case VG_OPTION_FLAG:
		break;
	case VG_OPTION_NUMBER:
		good = vg_number_parse(value->text, option->least, option->most, &value->number);
		break;
	case VG_OPTION_TIME:
		good = vg_number_time(value->text, option->least, option->most, &value->number);
		break;
	case VG_OPTION_SIZE:
		good = vg_number_size(value->text, option->least, option->most, &value->number);
		break;
	case VG_OPTION_SHARE:
		good = vg_number_ppm(value->text, &value->number);
		break;
	case VG_OPTION_WORD:
		good = word_find(option->value, value->text, &value->number);
		break;
	case VG_OPTION_TEXT:
		good = *value->text != '\0' && (option->most == 0 || strlen(value->text) <= option->most);
		break;
	}
	return good ? 0 : value_refuse(option, value->text, err);
}

/* Writes the tables of getopt_long(3).  Returns false if the tables are too small for the options. */
static bool getopt_tables(const struct vg_option_reader *reader, struct option longs[OPTIONS_MAX + 1],
			  char shorts[2 * OPTIONS_MAX + 3])
{
	char *at = shorts;

	if (reader->count > OPTIONS_MAX)
		return false;
	*at = '\0';
	if (reader->options_first)
		*at++ = '+';
	/* Because of this first ':', getopt_long(3) prints nothing, and returns ':' if a value is missing. */
	*at++ = ':';
	for (size_t i = 0; i < reader->count; i++) {
		const struct vg_option *option = &reader->options[i];
		bool has_value = option->type != VG_OPTION_FLAG;

		longs[i] = (struct option){ option->name, has_value ? required_argument : no_argument, NULL,
					    option->key };
		if (option->is_short) {
			*at++ = (char)option->key;
			if (has_value)
				*at++ = ':';
		}
	}
	longs[reader->count] = (struct option){ 0 };
	*at = '\0';
	return true;
}

static const struct vg_option *option_find(const struct vg_option_reader *reader, int key)
{
	for (size_t i = 0; i < reader->count; i++) {
		if (reader->options[i].key == key)
			return &reader->options[i];
	}
	return NULL;
}

/* getopt_long(3) has returned ':' or '?'.  If it knows the option, it has set optopt to the option's key. */
static int option_refuse(const struct vg_option_reader *reader, int got, struct vg_err *err)
{
	const struct vg_option *known = option_find(reader, optopt);
	const char *argument = optind > 0 && optind <= reader->argc ? reader->argv[optind - 1] : "";

	/* A letter that is no short option may be the key of a long one. */
	if (known != NULL && !known->is_short && strncmp(argument, "--", 2) != 0)
		known = NULL;
	if (got == ':' && known != NULL)
		return vg_err_set(err, -EINVAL, "--%s: needs a value, %s", known->name, known->value);
	if (known != NULL)
		return vg_err_set(err, -EINVAL, "--%s: takes no value", known->name);
	/* A short option may be one of several letters in one argument. */
	return optopt != 0 ? vg_err_set(err, -EINVAL, "-%c: no such option", optopt) :
	       vg_err_set(err, -EINVAL, "%.100s: no such option, or an abbreviation of several options", argument);
}

int vg_option_next(struct vg_option_reader *reader, struct vg_option_value *value, struct vg_err *err)
{
	char shorts[2 * OPTIONS_MAX + 3];
	struct option longs[OPTIONS_MAX + 1];
	const struct vg_option *option;
	int got, rc;

	if (!getopt_tables(reader, longs, shorts))
		return vg_err_set(err, -EINVAL, "too many options in the table");
	got = getopt_long(reader->argc, reader->argv, shorts, longs, NULL);
	if (got == -1)
		return 0;
	option = option_find(reader, got);
	if (option == NULL)
		return option_refuse(reader, got, err);
	*value = (struct vg_option_value){ .key = got, .text = option->type == VG_OPTION_FLAG ? NULL : optarg };
	rc = vg_option_check(option, value, err);
	return rc != 0 ? rc : 1;
}

void vg_option_help(const struct vg_option *options, size_t count, FILE *file)
{
	for (size_t i = 0; i < count; i++) {
		const struct vg_option *option = &options[i];
		char name[VG_OPTION_TEXT_BYTES], range[VG_OPTION_TEXT_BYTES];
		bool has_value = option->type != VG_OPTION_FLAG;

		if (option->help == NULL)
			continue;
		snprintf(name, sizeof name, "--%s%s%s", option->name, has_value ? " " : "",
			 has_value ? option->value : "");
		range_text(option, range);
		vg_print(file, "  %c%c%c %-21s %s%s%s%s%s%s%s\n", option->is_short ? '-' : ' ',
			 option->is_short ? option->key : ' ', option->is_short ? ',' : ' ', name, option->help,
			 range[0] != '\0' ? ": " : "", range, option->type == VG_OPTION_TIME ? " s" : "",
			 option->by_default != NULL ? " [" : "",
			 option->by_default != NULL ? option->by_default : "", option->by_default != NULL ? "]" : "");
	}
}
