/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * An attacker's program: its names and messages have control characters for terminals.
 *
 *     untrusted helper DIRECTORY    listens there as a helper, and prints its pid
 *     untrusted tracer PID          traces the process until it is killed, and prints a line
 *     untrusted profile OUT         writes a profile
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "libvgctl/channel.h"
#include "profile/chunk.h"
#include "profile/writer.h"

/* A title, a forged line, CSI as a byte and as a character, DEL, a reversal of the writing direction, a tab. */
#define EVIL "\033]0;owned\007\nforged\233" "31m\302\233" "31m\177\342\200\256\tend"

/* A placeholder for EVIL until the profile is written: the writer would escape EVIL. */
#define HOLD "=================================="
_Static_assert(sizeof EVIL == sizeof HOLD, "EVIL replaces HOLD");

static int helper(const char *directory)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int socket_fd = socket(AF_UNIX, SOCK_SEQPACKET, 0), peer;
	struct vg_wire_message message;

	snprintf(address.sun_path, sizeof address.sun_path, "%s/%d.sock", directory, getpid());
	if (bind(socket_fd, (struct sockaddr *)&address, sizeof address) != 0 || listen(socket_fd, 4) != 0)
		return 1;
	printf("%d\n", getpid());
	fflush(stdout);
	while ((peer = accept(socket_fd, NULL, NULL)) >= 0) {
		if (vg_channel_receive(peer, &message, NULL, NULL, -1) == 0) {
			bool status = message.kind == VG_WIRE_STATUS;

			memset(&message, 0, sizeof message);
			if (status) {
				message.state.pid = getpid();
				strcpy(message.state.program, "program-" EVIL);
			} else {
				message.failure.code = -1;
				strcpy(message.failure.text, "failure-" EVIL);
			}
			vg_channel_send(peer, &message, status ? VG_WIRE_STATE : VG_WIRE_FAILED, NULL, 0);
		}
		close(peer);
	}
	return 1;
}

static int tracer(pid_t pid)
{
	prctl(PR_SET_NAME, "tracer\033[1m\007\2331m");
	if (ptrace(PTRACE_SEIZE, pid, 0, 0) != 0)
		return 1;
	puts("traced");
	fflush(stdout);
	pause();
	return 0;
}

/* One thread in an interval, with frames in a function, at an address, in JIT code and in the kernel, an instant and
 * counters. */
static int profile_write(const char *path)
{
	struct vg_writer_header header = { .period_ns = 1000000, .max_frames = 256, .mode = "mode-" HOLD,
					   .writer = "writer-" HOLD, .arch = "arch-" HOLD,
					   .program = "program-" HOLD, .counters = "counter-" HOLD };
	struct vg_module module = { .build_id = { 1, 2, 3, 4 }, .build_id_bytes = 4, .base = 0x400000,
				    .size_bytes = 4096 };
	struct vg_named_value lost = { "lost-" HOLD, 3 }, cost = { "cost-" HOLD, 4 };
	struct vg_symbol_line line = { 0, 1 };
	struct vg_writer writer;
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), rc;

	if (fd < 0)
		return 1;
	vg_writer_open(&writer, fd, 0);
	vg_writer_header(&writer, &header);
	vg_writer_thread(&writer, &(struct vg_thread){ .id = 0, .tid = 100 }, "thread-" HOLD);
	vg_writer_module(&writer, &module, "<&>module-" HOLD);
	vg_writer_function(&writer, 0, "function-" HOLD, "file-" HOLD, 0);
	vg_writer_symbol(&writer, 0, 0x10, &line, 1);
	vg_writer_jit_code(&writer, 0x10000, 0x1000, "code-" HOLD);
	vg_writer_kernel_symbol(&writer, 0, 1, "kernel-" HOLD);
	vg_writer_stack(&writer, 16, VG_WALK_ROOT, 0, 0x10, 0);
	vg_writer_stack(&writer, 17, 16, 0, 0x20, 0);
	vg_writer_stack(&writer, 18, 17, VG_NONE, 0x10010, 0);
	vg_writer_stack(&writer, 19, 18, 0, 1, VG_FOUND_IN_KERNEL);
	vg_writer_label(&writer, 0, "kind-" HOLD, strlen("kind-" HOLD));
	vg_writer_label(&writer, 1, "label-" HOLD, strlen("label-" HOLD));
	vg_writer_event(&writer, &(struct vg_writer_event){ .type = VG_EVENT_BEGIN, .token = 1, .label = 1,
							    .kind = 0 });
	vg_writer_event(&writer, &(struct vg_writer_event){ .type = VG_EVENT_INSTANT, .label = 1, .kind = 0 });
	vg_writer_event(&writer, &(struct vg_writer_event){ .type = VG_EVENT_COUNTER, .label = 0, .kind = 1,
							    .value = 7 });
	for (uint32_t stack = 16; stack < 20; stack++) {
		vg_writer_sample(&writer, &(struct vg_writer_sample){
			.stack = stack, .count = 1, .time_ns = stack * 1000000, .wall_ns = 1000000,
			.cpu_ns = 1000000, .interval = 1 });
		vg_writer_perf_counters(&writer, &(struct vg_writer_perf_counters){
			.time_ns = stack * 1000000, .count = 1, .values = { 5 } });
	}
	vg_writer_event(&writer, &(struct vg_writer_event){ .type = VG_EVENT_END, .time_ns = 20000000,
							    .token = 1, .label = VG_NONE, .kind = VG_NONE });
	vg_writer_counts(&writer, VG_RECORD_LOST, &lost, 1);
	vg_writer_counts(&writer, VG_RECORD_STATS, &cost, 1);
	rc = vg_writer_end(&writer, "end-" HOLD, 20000000, NULL, 0);
	vg_writer_close(&writer);
	return rc == 0 ? 0 : 1;
}

/* Writes a profile, replaces HOLD by EVIL in each chunk, and writes the chunk's header again. */
static int profile(const char *path)
{
	static unsigned char bytes[65536];
	struct vg_chunks chunks = { .bytes = bytes };
	struct vg_damage damage;
	struct vg_chunk chunk;
	uint32_t sequence = 0;
	int fd;

	if (profile_write(path) != 0 || (fd = open(path, O_RDWR | O_CLOEXEC)) < 0)
		return 1;
	chunks.length = (size_t)read(fd, bytes, sizeof bytes);
	while (vg_chunk_next(&chunks, &chunk, &damage) == VG_CHUNK_GOOD) {
		unsigned char *payload = bytes + (chunk.payload.at - bytes), *at;
		size_t length = (size_t)(chunk.payload.end - chunk.payload.at);

		while ((at = memmem(payload, length, HOLD, sizeof HOLD - 1)) != NULL)
			memcpy(at, EVIL, sizeof EVIL - 1);
		vg_chunk_header(payload - VG_CHUNK_HEADER_BYTES, sequence++, (char *)payload, length);
	}
	return pwrite(fd, bytes, chunks.length, 0) == (ssize_t)chunks.length ? 0 : 1;
}

int main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "helper") == 0)
		return helper(argv[2]);
	if (argc == 3 && strcmp(argv[1], "tracer") == 0)
		return tracer((pid_t)atoi(argv[2]));
	if (argc == 3 && strcmp(argv[1], "profile") == 0)
		return profile(argv[2]);
	return 2;
}
