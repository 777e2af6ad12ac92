/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * twins [-v] STOPS COMMAND...: walks each snapshot of a program twice, with its unwind information and without.
 *
 * Runs the command, and waits for its first line of output.  Then it stops threads at random moments, and takes a
 * snapshot: STOPS times, and then until enough of the threads were waiting.  After some of the stops it steps the thread on by single instructions, and takes a snapshot at each
 * instruction of the program that had few before: random moments miss most prologues.
 *
 * It walks each snapshot twice.  The first walk gives the true frames: it uses the unwind information of all modules.
 * The second walk gets none from the program itself, so it must follow the instructions.  A waiting thread is walked
 * once more from what /proc shows: its registers are then unknown, as in a sample that is taken without a stop.
 *
 * Each frame above the leaf is right, wrong (a frame that the true walk does not have at this depth) or ended (the
 * second walk ended before it).  A frame above a wrong frame is not right, because the chain to it is broken.
 *
 * Prints two lines of `key value` pairs, for random moments and for steps.  -v: also prints the callees at which the
 * walks were wrong or ended.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "vignetted/target/tasks.h"
#include "vignetted/unwind/unwind.h"

enum {
	MAX_FRAMES = 4096, STEPS = 100, STEPS_EVERY = 4, /* single instructions after every fourth stop */
	STEPPED_MAX = 3, STEPPED_LOG = 16,       /* snapshots of one instruction, reached by steps; a hash table of them */
	INTERVAL_MAX_NS = 1000000,               /* the longest time from one stop to the next */
	SAMPLE_WORDS_MAX = 1 << 20,              /* as in a recording: vignetted/capture/walker.c */
	PLACES_MAX = 512, PLACES_SHOWN = 16, THREADS_MAX = 64,
	WAITING_MIN = 20, STOPS_FACTOR_MAX = 50, /* on a busy machine few threads wait: stop up to so many times as often */
};

/* An unwinder with its own modules. */
struct side {
	struct vg_memory memory;
	struct vg_modules modules;
	struct vg_unwinder *unwinder;
	struct vg_walk walk;
};

/* The callee from which a walk went to a wrong frame, or at which it ended. */
struct place {
	uint64_t address;            /* in its module's file, or absolute without a module */
	const char *module;
	bool is_wrong;
	enum vg_walk_end end;
	uint64_t count;
	uint64_t found, truth, below; /* the latest wrong frame, the true one, and the frame below the place */
};

static struct side truth, hidden;
static struct vg_process_module *program; /* in hidden.modules */
static pid_t child;
static struct tally {
	uint64_t snapshots, waiting, unknown; /* unknown: the walk with unwind information is incomplete */
	uint64_t same, frames, right, wrong, ended;
	uint64_t by_code;            /* right frames that were found by instructions */
} moments, steps, *tally = &moments;
static struct place places[PLACES_MAX];
static size_t place_count;

static void die(const char *what)
{
	fprintf(stderr, "twins: %s: %s\n", what, strerror(errno));
	exit(1);
}

static uint64_t random_below(uint64_t limit)
{
	static uint64_t state = 0x9e3779b97f4a7c15;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (state >> 11) % limit;
}

/* ---- walks ---- */

static void side_open(struct side *side)
{
	side->modules.memory = &side->memory;
	if (vg_memory_open(&side->memory, child) != 0 || vg_modules_refresh(&side->modules) != 0 ||
	    vg_unwinder_open(&side->unwinder, &side->modules) != 0)
		die("the program's modules cannot be read");
}

/* Hides the unwind information of the program, which is the first module in memory. */
static void tables_hide(struct side *side)
{
	program = &side->modules.items.items[0];
	for (size_t i = 1; i < side->modules.items.count; i++) {
		if (side->modules.items.items[i].image.base < program->image.base)
			program = &side->modules.items.items[i];
	}
	program->image.eh_frame_hdr = program->image.eh_frame_hdr_bytes = 0;
	program->image.eh_frame = program->image.eh_frame_bytes = 0;
}

static void walk(struct side *side, const struct vg_snapshot *snapshot)
{
	side->memory.words_left = SAMPLE_WORDS_MAX;
	if (vg_unwind(side->unwinder, snapshot, MAX_FRAMES, &side->walk) != 0)
		die("vg_unwind");
}

/* ---- results ---- */

static const struct vg_process_module *module_of(const struct vg_frame *frame)
{
	return frame->module == VG_NONE ? NULL : &truth.modules.items.items[frame->module];
}

static uint64_t in_file(const struct vg_frame *frame)
{
	const struct vg_process_module *module = module_of(frame);

	return frame->address - (module != NULL ? module->image.bias : 0);
}

/* Counts the place at which the second walk left the true one: after frame `at`. */
static void place_count_up(uint32_t at)
{
	const struct vg_walk *ours = &hidden.walk;
	const struct vg_process_module *module = module_of(&truth.walk.frames[at]);
	struct place found = { .address = in_file(&truth.walk.frames[at]), .is_wrong = ours->count > at + 1 };
	struct place *place;

	found.end = found.is_wrong ? VG_WALK_ROOT : ours->end;
	for (place = places; place < places + place_count; place++) {
		if (place->address == found.address && place->is_wrong == found.is_wrong && place->end == found.end)
			break;
	}
	if (place == places + place_count) {
		if (place_count == PLACES_MAX)
			return;
		*place = found;
		place->module = module != NULL ? module->name : "no module";
		place_count++;
	}
	place->count++;
	place->found = found.is_wrong ? in_file(&ours->frames[at + 1]) : 0;
	place->below = at > 0 ? in_file(&truth.walk.frames[at - 1]) : 0;
	place->truth = truth.walk.count > at + 1 ? in_file(&truth.walk.frames[at + 1]) : 0;
}

/* Without unwind information, a return to sigreturn code has the address itself, because no call is before it. */
static bool same_frame(const struct vg_frame *theirs, const struct vg_frame *ours)
{
	return ours->address == theirs->address || ours->address == theirs->address + 1;
}

static void compare(void)
{
	const struct vg_walk *theirs = &truth.walk, *ours = &hidden.walk;
	uint32_t same = 0, last = ours->count > theirs->count ? ours->count : theirs->count;

	while (same < theirs->count && same < ours->count && same_frame(&theirs->frames[same], &ours->frames[same]))
		same++;
	for (uint32_t i = 1; i < same; i++)
		tally->by_code += ours->frames[i].found == VG_FOUND_BY_INSTRUCTIONS;
	tally->frames += last - 1;
	tally->right += same - 1;
	tally->wrong += ours->count - same;
	tally->ended += last - ours->count;
	tally->same += same == last;
	if (same < last)
		place_count_up(same - 1);
}

/* ---- snapshots ---- */

/* The true walk of a stopped thread.  Copies more of the stack until the walk does not end at the end of the copy.
 * False: the walk is not complete, so nothing is known about its frames. */
static bool truth_walk(struct vg_snapshot *snapshot, pid_t tid)
{
	for (size_t bytes = 16384; ; bytes *= 4) {
		if (vg_snapshot_read_stack(snapshot, tid, bytes) != 0)
			die("a stack cannot be read");
		walk(&truth, snapshot);
		if (truth.walk.end != VG_WALK_TRUNCATED || bytes >= VG_SNAPSHOT_MAX_BYTES)
			return truth.walk.end == VG_WALK_ROOT;
	}
}

/* A waiting thread without a stop: only pc, sp and the system call's arguments are known.  If the walk needs the frame
 * pointer, a recording stops the thread. */
static void waiting_walk(struct vg_snapshot *snapshot)
{
	struct vg_regs all = snapshot->regs;
	uint64_t arguments[6] = { all.raw.rdi, all.raw.rsi, all.raw.rdx, all.raw.r10, all.raw.r8, all.raw.r9 };

	tally->waiting++;
	vg_regs_set(&snapshot->regs, vg_regs_pc(&all), vg_regs_sp(&all), arguments);
	snapshot->regs_complete = false;
	walk(&hidden, snapshot);
	if (hidden.walk.fp_missing_sp == 0)
		compare();
	snapshot->regs = all;
	snapshot->regs_complete = true;
}

static void registers_take(struct vg_snapshot *snapshot, pid_t tid)
{
	if (vg_regs_read(&snapshot->regs, tid) != 0)
		die("registers cannot be read");
	snapshot->regs_complete = true;
	snapshot->in_syscall = vg_regs_in_syscall(&snapshot->regs);
	snapshot->moment.time_ns = UINT64_MAX;   /* the modules do not change */
	snapshot->thread_block = vg_regs_thread_block(&snapshot->regs);
}

/* Walks the stack of the stopped thread, whose registers are in the snapshot. */
static void snapshot_walk(struct vg_snapshot *snapshot, pid_t tid)
{
	tally->snapshots++;
	if (!truth_walk(snapshot, tid)) {
		tally->unknown++;
		return;
	}
	if (snapshot->in_syscall)
		waiting_walk(snapshot);
	walk(&hidden, snapshot);
	compare();
}

/* ---- the program ---- */

/* Whether the next instruction is a system call, in which the thread may wait for long. */
static bool at_system_call(const struct vg_snapshot *snapshot)
{
	unsigned char code[2];

	return vg_memory_read(&truth.memory, vg_regs_pc(&snapshot->regs), code, sizeof code) != 0 ||
	       (code[0] == 0x0f && code[1] == 0x05);
}

/* Whether the thread, which was stepped on, is at an instruction of the program that had few snapshots. */
static bool is_new_instruction(const struct vg_snapshot *snapshot)
{
	static uint8_t stepped[1 << STEPPED_LOG];
	uint64_t pc = vg_regs_pc(&snapshot->regs), hash = pc * UINT64_C(0x9e3779b97f4a7c15);
	uint8_t *count = &stepped[hash >> (64 - STEPPED_LOG)];

	return pc - program->image.base < program->image.end - program->image.base && *count < STEPPED_MAX && ++*count;
}

/* Waits for the thread's next stop.  Returns the signal that the thread is about to get, or 0. */
static int stop_wait(pid_t tid)
{
	int status;

	if (waitpid(tid, &status, __WALL) != tid || !WIFSTOPPED(status))
		die("the program has ended");
	return status >> 16 == 0 && WSTOPSIG(status) != SIGTRAP ? WSTOPSIG(status) : 0;
}

/* Stops a thread, takes snapshots, and releases it. */
static void thread_visit(struct vg_snapshot *snapshot, pid_t tid)
{
	int steps_left = moments.snapshots % STEPS_EVERY == 0 ? STEPS : 0;
	int signal;

	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) != 0 || ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) != 0)
		die("ptrace");
	signal = stop_wait(tid);
	registers_take(snapshot, tid);
	tally = &moments;
	snapshot_walk(snapshot, tid);
	tally = &steps;
	while (steps_left-- > 0 && !snapshot->in_syscall && !at_system_call(snapshot)) {
		if (ptrace(PTRACE_SINGLESTEP, tid, NULL, signal) != 0)
			die("ptrace");
		signal = stop_wait(tid);
		registers_take(snapshot, tid);
		if (is_new_instruction(snapshot))
			snapshot_walk(snapshot, tid);
	}
	ptrace(PTRACE_DETACH, tid, NULL, signal);
}

static void program_start(char **command)
{
	int out[2];
	char byte = 0;

	if (pipe(out) != 0)
		die("pipe");
	child = fork();
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(out[1], STDOUT_FILENO);
		execvp(command[0], command);
		_exit(127);
	}
	close(out[1]);
	while (byte != '\n') {
		if (read(out[0], &byte, 1) != 1)
			die(command[0]);
	}
}

static size_t threads_list(pid_t tids[THREADS_MAX])
{
	struct vg_tasks tasks = { 0 };
	size_t count = 0;

	if (vg_tasks_open(&tasks, child) != 0 || vg_tasks_scan(&tasks) != 0)
		die("threads cannot be listed");
	while (count < THREADS_MAX && count < tasks.live.count) {
		tids[count] = tasks.live.items[count].tid;
		count++;
	}
	vg_tasks_close(&tasks);
	return count;
}

/* Wrong frames first, then by frequency. */
static int place_order(const void *a, const void *b)
{
	const struct place *one = a, *other = b;

	if (one->is_wrong != other->is_wrong)
		return one->is_wrong ? -1 : 1;
	return one->count < other->count ? 1 : one->count > other->count ? -1 : 0;
}

static void places_print(void)
{
	qsort(places, place_count, sizeof *places, place_order);
	for (size_t i = 0; i < place_count && i < PLACES_SHOWN; i++) {
		const struct place *place = &places[i];

		printf("  %s 0x%" PRIx64 " %s %" PRIu64, place->module, place->address,
		       place->is_wrong ? "wrong" : "ended", place->count);
		if (place->is_wrong)
			printf(" found 0x%" PRIx64, place->found);
		else
			printf(" (%s)", vg_walk_end_name(place->end));
		printf(" truth 0x%" PRIx64 " below 0x%" PRIx64 "\n", place->truth, place->below);
	}
}

static void tally_print(const char *what, const struct tally *of)
{
	printf("%s snapshots %" PRIu64 " waiting %" PRIu64 " unknown %" PRIu64 " same %" PRIu64 " frames %" PRIu64
	       " right %" PRIu64 " wrong %" PRIu64 " ended %" PRIu64 " by_instructions %" PRIu64 "\n", what,
	       of->snapshots, of->waiting, of->unknown, of->same, of->frames, of->right, of->wrong, of->ended,
	       of->by_code);
}

int main(int argc, char **argv)
{
	bool verbose = argc > 1 && strcmp(argv[1], "-v") == 0;
	struct vg_snapshot snapshot = { 0 };
	pid_t tids[THREADS_MAX];
	uint64_t wanted;
	size_t threads;

	argv += verbose;
	wanted = argc - verbose >= 3 ? strtoull(argv[1], NULL, 10) : 0;
	if (wanted == 0) {
		fprintf(stderr, "usage: twins [-v] STOPS COMMAND...\n");
		return 2;
	}
	program_start(argv + 2);
	side_open(&truth);
	side_open(&hidden);
	tables_hide(&hidden);
	threads = threads_list(tids);
	while (moments.snapshots < wanted ||
	       (moments.waiting < WAITING_MIN && moments.snapshots < wanted * STOPS_FACTOR_MAX)) {
		struct timespec interval = { 0, (long)random_below(INTERVAL_MAX_NS) };

		nanosleep(&interval, NULL);
		thread_visit(&snapshot, tids[random_below(threads)]);
	}
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	tally_print("moments", &moments);
	tally_print("steps", &steps);
	if (verbose)
		places_print();
	return 0;
}
