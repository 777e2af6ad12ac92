/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/capture/idle.h"

#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

/* Of the time of all CPUs that we may have, so much must be idle to be room for us: a server and its client that
 * take turns leave one CPU of two, but now this one and now that. */
enum { ROOM_PERCENT = 37, ROOM_CPUS = 2 };

/* Idle time may be of moments between which all CPUs are busy, or on CPUs on which the kernel does not look for one
 * when it wakes us.  Where we waited for so long on the average when we woke, there is no room, and none for as
 * many looks after that: once we have priority, we do not wait. */
enum { WAITED_NS = 50 * 1000, CROWDED_LOOKS = 25 };

static bool we_waited(struct vg_idle *idle)
{
	FILE *file = fopen("/proc/thread-self/schedstat", "re");
	uint64_t delay_ns = 0, slices = 0;
	bool waited;

	if (file == NULL || fscanf(file, "%*u %" SCNu64 " %" SCNu64, &delay_ns, &slices) != 2)
		slices = 0;
	if (file != NULL)
		fclose(file);
	waited = idle->own_slices != 0 && slices > idle->own_slices &&
		 delay_ns - idle->own_delay_ns > WAITED_NS * (slices - idle->own_slices);
	idle->own_delay_ns = delay_ns;
	idle->own_slices = slices;
	return waited;
}

/* Of the CPUs that are ours, which were idle for so long in all. */
static void room_judge(struct vg_idle *idle, uint64_t idle_ns, uint64_t elapsed_ns, uint64_t cpus)
{
	if (we_waited(idle))
		idle->crowded_looks = CROWDED_LOOKS;
	else if (idle->crowded_looks > 0)
		idle->crowded_looks--;
	idle->is_roomy = idle->at_ns != 0 && idle->crowded_looks == 0 && cpus >= ROOM_CPUS &&
			 idle_ns >= elapsed_ns / 100 * ROOM_PERCENT * cpus;
}

/* A CPU's line is "cpuN user nice system idle ...", in clock ticks since boot.  How long the one that is asked
 * about has been idle since this was read before. */
static uint64_t idle_read(struct vg_idle *idle, int wanted, uint64_t elapsed_ns)
{
	uint64_t tick_ns = 1000000000 / (uint64_t)sysconf(_SC_CLK_TCK), ticks, own_ns, since_ns = 0, all_ns = 0, cpus = 0;
	FILE *file = fopen("/proc/stat", "re");
	cpu_set_t ours;
	char line[512];
	int cpu;

	if (sched_getaffinity(0, sizeof ours, &ours) != 0)
		CPU_ZERO(&ours);
	/* What is behind the CPUs' lines is long, and never asked for. */
	while (file != NULL && fgets(line, sizeof line, file) != NULL && strncmp(line, "cpu", 3) == 0) {
		if (sscanf(line, "cpu%d %*u %*u %*u %" SCNu64, &cpu, &ticks) != 2 || cpu < 0 ||
		    cpu >= VG_IDLE_CPUS)
			continue;
		/* It may go back by a tick, as what a CPU is idle for is added in two places. */
		own_ns = ticks * tick_ns > idle->idle_ns[cpu] ? ticks * tick_ns - idle->idle_ns[cpu] : 0;
		if (cpu == wanted)
			since_ns = own_ns;
		if (CPU_ISSET(cpu, &ours)) {
			all_ns += own_ns;
			cpus++;
		}
		idle->idle_ns[cpu] = ticks * tick_ns;
	}
	if (file != NULL)
		fclose(file);
	room_judge(idle, all_ns, elapsed_ns, cpus);
	return since_ns;
}

bool vg_idle_look(struct vg_idle *idle, const struct vg_task *task, uint64_t now_ns)
{
	uint64_t ready_ns = task->look.cpu_ns + task->look.queued_ns, elapsed_ns, idle_ns, asleep_ns;
	int cpu = vg_task_cpu(task->tid);

	if (cpu < 0)
		return idle->is_idle;
	elapsed_ns = now_ns - idle->at_ns;
	idle_ns = idle_read(idle, cpu, elapsed_ns);
	asleep_ns = elapsed_ns - (ready_ns - idle->ready_ns);
	if (task->tid == idle->tid && asleep_ns < elapsed_ns)
		idle->is_idle = 2 * idle_ns >= asleep_ns;
	idle->tid = task->tid;
	idle->at_ns = now_ns;
	idle->ready_ns = ready_ns;
	return idle->is_idle;
}
