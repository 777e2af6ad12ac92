/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/analysis/disassembly.h"

#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/sorted.h"

/* A longer line is cut.  The name of a C++ function in an operand can have hundreds of bytes. */
enum { LINE_BYTES_MAX = 1000 };

struct reader {
	struct vg_disassembly *code;
	uint64_t begin, end;
	char line[LINE_BYTES_MAX + 1];
	size_t length;               /* of the incomplete line */
};

/* Appends the text of an instruction.  A tab is between the name and the operands on some machines. */
static int instruction_add(struct vg_disassembly *code, uint64_t address, const char *text)
{
	const struct vg_instruction instruction = { address, code->texts.count };
	size_t length = strlen(text);

	while (length > 0 && text[length - 1] == ' ')
		length--;
	if (vg_array_reserve(&code->texts, length + 1) != 0 || vg_array_push(&code->instructions, &instruction) != 0)
		return -ENOMEM;
	for (size_t i = 0; i < length; i++) {
		if (text[i] == '\t')
			code->texts.items[code->texts.count++] = ' ';
		else
			code->texts.items[code->texts.count++] = text[i];
	}
	code->texts.items[code->texts.count++] = '\0';
	return 0;
}

/* An instruction is "  401136:\tmov    (%rdi),%eax".  LLVM prints blanks before the tab. */
static int line_add(struct reader *reader)
{
	const struct vg_instruction *last = reader->code->instructions.items + reader->code->instructions.count;
	const char *at = reader->line;
	uint64_t address;
	char *end;

	reader->line[reader->length] = '\0';
	at += strspn(at, " ");
	if (!isxdigit((unsigned char)*at))
		return 0;
	address = strtoull(at, &end, 16);
	if (*end++ != ':')
		return 0;
	end += strspn(end, " ");
	if (end[0] != '\t' || end[1] == '\0' || address < reader->begin || address >= reader->end ||
	    (reader->code->instructions.count > 0 && address <= last[-1].address))
		return 0;
	return instruction_add(reader->code, address, end + 1);
}

static int bytes_add(struct reader *reader, const char *bytes, size_t length)
{
	int rc = 0;

	while (rc == 0 && length > 0) {
		const char *newline = memchr(bytes, '\n', length);
		size_t part = newline != NULL ? (size_t)(newline - bytes) : length;
		size_t room = LINE_BYTES_MAX - reader->length, kept = part < room ? part : room;

		memcpy(reader->line + reader->length, bytes, kept);
		reader->length += kept;
		if (newline != NULL) {
			rc = line_add(reader);
			reader->length = 0;
			part++;
		}
		bytes += part;
		length -= part;
	}
	return rc;
}

/* Waits until the descriptor has bytes or its end. */
static int bytes_await(int fd, uint64_t due_ns)
{
	struct pollfd file = { fd, POLLIN, 0 };
	uint64_t now_ns;

	while ((now_ns = vg_now_ns()) < due_ns) {
		int rc = poll(&file, 1, (int)((due_ns - now_ns) / 1000000) + 1);

		if (rc > 0)
			return 0;
		if (rc < 0 && errno != EINTR)
			return -errno;
	}
	return -ETIMEDOUT;
}

static int output_read(struct reader *reader, int fd, int timeout_ms)
{
	uint64_t due_ns = vg_now_ns() + (uint64_t)timeout_ms * 1000000;
	char bytes[16384];
	uint64_t total = 0;

	for (;;) {
		int rc = bytes_await(fd, due_ns);
		ssize_t count = rc == 0 ? read(fd, bytes, sizeof bytes) : rc;

		if (rc == 0 && count < 0 && errno == EINTR)
			continue;
		if (rc == 0 && count < 0)
			return -errno;
		if (rc != 0 || count == 0)
			return rc;
		total += (uint64_t)count;
		if (total > (uint64_t)VG_DISASSEMBLY_MIB_MAX << 20)
			return -EFBIG;
		rc = bytes_add(reader, bytes, (size_t)count);
		if (rc != 0)
			return rc;
	}
}

int vg_disassembly_read(struct vg_disassembly *code, int fd, uint64_t begin, uint64_t end, int timeout_ms,
			struct vg_err *err)
{
	struct reader reader = { .code = code, .begin = begin, .end = end };
	int rc;

	*code = (struct vg_disassembly){ 0 };
	rc = output_read(&reader, fd, timeout_ms);
	if (rc == -ETIMEDOUT)
		return vg_err_set(err, rc, "objdump did not end within %d seconds", timeout_ms / 1000);
	if (rc == -EFBIG)
		return vg_err_set(err, rc, "objdump printed more than %d MiB", VG_DISASSEMBLY_MIB_MAX);
	if (rc != 0)
		return vg_err_sys(err, rc, "cannot read the output of objdump");
	return code->instructions.count > 0 ? 0 :
	       vg_err_set(err, -ENODATA, "objdump printed no instruction; it could not run, or the binary is for another machine");
}

uint32_t vg_disassembly_find(const struct vg_disassembly *code, uint64_t address)
{
	const struct vg_instruction *items = code->instructions.items;
	size_t count = vg_count_at_most(items, code->instructions.count, address, address);

	if (count == 0 || address - items[count - 1].address >= VG_INSTRUCTION_BYTES_MAX)
		return UINT32_MAX;
	return (uint32_t)(count - 1);
}

const char *vg_disassembly_text(const struct vg_disassembly *code, uint32_t index)
{
	return code->texts.items + code->instructions.items[index].text;
}

void vg_disassembly_free(struct vg_disassembly *code)
{
	vg_array_free(&code->instructions);
	vg_array_free(&code->texts);
}
