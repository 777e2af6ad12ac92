/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/analysis/frame_class.h"

#include <errno.h>
#include <limits.h>
#include <seccomp.h>
#include <stdlib.h>
#include <string.h>

const char *vg_frame_class_name(enum vg_frame_class class)
{
	static const char *const names[VG_CLASS_COUNT] = {
		[VG_CLASS_PROGRAM] = "program", [VG_CLASS_LIBRARY] = "library", [VG_CLASS_JIT] = "JIT code",
		[VG_CLASS_KERNEL] = "kernel", [VG_CLASS_UNKNOWN] = "unknown", [VG_CLASS_WAIT_LOCK] = "wait: lock",
		[VG_CLASS_WAIT_EVENT] = "wait: event", [VG_CLASS_WAIT_IO] = "wait: I/O",
		[VG_CLASS_WAIT_TIME] = "wait: time", [VG_CLASS_WAIT_PROCESS] = "wait: process",
		[VG_CLASS_WAIT_OTHER] = "wait: other",
	};

	return names[class];
}

enum vg_frame_class vg_frame_class_of_call(const char *name)
{
	static const struct {
		const char *name;
		enum vg_frame_class class;
	} calls[] = {
		{ "futex", VG_CLASS_WAIT_LOCK }, { "futex_wait", VG_CLASS_WAIT_LOCK },
		{ "futex_waitv", VG_CLASS_WAIT_LOCK }, { "flock", VG_CLASS_WAIT_LOCK },
		{ "semop", VG_CLASS_WAIT_LOCK }, { "semtimedop", VG_CLASS_WAIT_LOCK },
		{ "epoll_wait", VG_CLASS_WAIT_EVENT }, { "epoll_pwait", VG_CLASS_WAIT_EVENT },
		{ "epoll_pwait2", VG_CLASS_WAIT_EVENT }, { "poll", VG_CLASS_WAIT_EVENT },
		{ "ppoll", VG_CLASS_WAIT_EVENT }, { "select", VG_CLASS_WAIT_EVENT },
		{ "pselect6", VG_CLASS_WAIT_EVENT }, { "io_getevents", VG_CLASS_WAIT_EVENT },
		{ "io_pgetevents", VG_CLASS_WAIT_EVENT }, { "io_uring_enter", VG_CLASS_WAIT_EVENT },
		{ "rt_sigtimedwait", VG_CLASS_WAIT_EVENT }, { "rt_sigsuspend", VG_CLASS_WAIT_EVENT },
		{ "pause", VG_CLASS_WAIT_EVENT },
		{ "read", VG_CLASS_WAIT_IO }, { "readv", VG_CLASS_WAIT_IO }, { "pread64", VG_CLASS_WAIT_IO },
		{ "preadv", VG_CLASS_WAIT_IO }, { "preadv2", VG_CLASS_WAIT_IO }, { "write", VG_CLASS_WAIT_IO },
		{ "writev", VG_CLASS_WAIT_IO }, { "pwrite64", VG_CLASS_WAIT_IO }, { "pwritev", VG_CLASS_WAIT_IO },
		{ "pwritev2", VG_CLASS_WAIT_IO }, { "recvfrom", VG_CLASS_WAIT_IO }, { "recvmsg", VG_CLASS_WAIT_IO },
		{ "recvmmsg", VG_CLASS_WAIT_IO }, { "sendto", VG_CLASS_WAIT_IO }, { "sendmsg", VG_CLASS_WAIT_IO },
		{ "sendmmsg", VG_CLASS_WAIT_IO }, { "sendfile", VG_CLASS_WAIT_IO }, { "splice", VG_CLASS_WAIT_IO },
		{ "accept", VG_CLASS_WAIT_IO }, { "accept4", VG_CLASS_WAIT_IO }, { "connect", VG_CLASS_WAIT_IO },
		{ "fsync", VG_CLASS_WAIT_IO }, { "fdatasync", VG_CLASS_WAIT_IO }, { "msync", VG_CLASS_WAIT_IO },
		{ "sync_file_range", VG_CLASS_WAIT_IO }, { "openat", VG_CLASS_WAIT_IO }, { "open", VG_CLASS_WAIT_IO },
		{ "nanosleep", VG_CLASS_WAIT_TIME }, { "clock_nanosleep", VG_CLASS_WAIT_TIME },
		{ "wait4", VG_CLASS_WAIT_PROCESS }, { "waitid", VG_CLASS_WAIT_PROCESS },
		{ "vfork", VG_CLASS_WAIT_PROCESS },
	};

	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
		if (strcmp(calls[i].name, name) == 0)
			return calls[i].class;
	}
	return VG_CLASS_WAIT_OTHER;
}

/* Computes the class of a system call once for each number.  No machine's calls have higher numbers than CALLS_MAX. */
enum { CALLS_MAX = 1024 };

static enum vg_frame_class call_class(uint64_t number, uint32_t arch, unsigned char *known)
{
	enum vg_frame_class class = VG_CLASS_WAIT_OTHER;
	char *name;

	if (number >= CALLS_MAX || arch == 0)
		return class;
	if (known[number] != 0)
		return (enum vg_frame_class)known[number];
	name = seccomp_syscall_resolve_num_arch(arch, (int)number);
	if (name != NULL)
		class = vg_frame_class_of_call(name);
	free(name);
	known[number] = (unsigned char)class;
	return class;
}

/* A program that was started through a symbolic link has the link's name, and its module that of the link's target. */
uint32_t vg_program_module(const struct vg_profile *profile, size_t process)
{
	const struct vg_process *processes = profile->processes.items;
	size_t end = process + 1 < profile->processes.count ? (size_t)processes[process + 1].first_stack :
		     profile->stacks.count;
	uint32_t lowest = VG_NONE;

	for (size_t i = (size_t)processes[process].first_stack; i < end && i < profile->stacks.count; i++) {
		uint32_t index = profile->stacks.items[i].module;
		const struct vg_module *modules = profile->modules.items;
		const char *name = index != VG_NONE ? vg_profile_text(profile, modules[index].name) : NULL;

		if (index != VG_NONE && modules[index].name == processes[process].program)
			return index;
		/* The kernel's modules have brackets: "[kernel]", "[vdso]". */
		if (name != NULL && *name != '[' && strstr(name, ".so") == NULL &&
		    (lowest == VG_NONE || modules[index].base < modules[lowest].base))
			lowest = index;
	}
	return lowest;
}

/* Marks the modules that have the name of a recorded process's main executable. */
static int programs_mark(const struct vg_profile *profile, unsigned char *is_program)
{
	struct vg_intern programs = { 0 };
	uint32_t id;
	int rc = vg_intern(&programs, &profile->header.program, sizeof id, &id);

	for (size_t p = 0; rc >= 0 && p < profile->processes.count; p++) {
		uint32_t module = vg_program_module(profile, p);

		rc = module == VG_NONE ? 0 : vg_intern(&programs, &profile->modules.items[module].name, sizeof id, &id);
	}
	for (size_t m = 0; rc >= 0 && m < profile->modules.count; m++)
		is_program[m] = vg_intern_find(&programs, &profile->modules.items[m].name, sizeof id, &id);
	vg_intern_free(&programs);
	return rc < 0 ? rc : 0;
}

int vg_frame_classes_build(unsigned char **classes, const struct vg_profile *profile)
{
	const char *arch_name = vg_profile_text(profile, profile->header.arch);
	uint32_t arch = arch_name != NULL ? seccomp_arch_resolve_name(arch_name) : 0;
	unsigned char *is_program = calloc(profile->modules.count + 1, 1), known[CALLS_MAX] = { 0 };
	int rc = -ENOMEM;

	*classes = malloc(profile->stacks.count + 1);
	if (is_program != NULL && *classes != NULL)
		rc = programs_mark(profile, is_program);
	for (size_t i = 0; rc == 0 && i < profile->stacks.count; i++) {
		const struct vg_stack *stack = &profile->stacks.items[i];
		enum vg_frame_class class = VG_CLASS_UNKNOWN;

		if (stack->found_by == VG_FOUND_BY_SYSTEM_CALL)
			class = call_class(stack->address, arch, known);
		else if (stack->found_by == VG_FOUND_IN_KERNEL)
			class = VG_CLASS_KERNEL;
		else if (stack->module != VG_NONE)
			class = is_program[stack->module] ? VG_CLASS_PROGRAM : VG_CLASS_LIBRARY;
		else if (vg_profile_jit_name(profile, stack) != VG_NONE)
			class = VG_CLASS_JIT;
		(*classes)[i] = (unsigned char)class;
	}
	free(is_program);
	return rc;
}

int vg_function_classes_build(unsigned char **classes, const struct vg_frames *frames)
{
	unsigned char *by_node;
	int rc = vg_frame_classes_build(&by_node, frames->profile);

	*classes = malloc((size_t)frames->count + 1);
	if (*classes == NULL)
		rc = -ENOMEM;
	else
		memset(*classes, VG_CLASS_UNKNOWN, frames->count);
	for (uint32_t node = 0; rc == 0 && node < frames->profile->stacks.count; node++) {
		for (size_t i = 0; i < vg_frames_count(frames, node); i++)
			(*classes)[vg_frames_at(frames, node, i).function] = by_node[node];
	}
	free(by_node);
	return rc;
}
