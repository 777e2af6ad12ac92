/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_BENCH_LOAD_H
#define VG_BENCH_LOAD_H

#include "bench/latencies.h"

/*
 * A closed load on redis-server or nginx, as redis-benchmark and wrk make it: so many connections,
 * and as soon as one has its answers it asks again.  Those tools tell one percentile of a whole run;
 * this one, of whatever time it is asked for, while the load goes on.
 *
 * A benchmark's: what fails ends it.
 */

/* Starts the load that is named redis, redis-pipelined or nginx, on the server at that port of this
 * machine, in a process of its own. */
void load_start(const char *name, int port);

/* From now on answers are noted; until the figures of them are asked for. */
void load_note(void);
struct figures load_noted(void);

#endif
