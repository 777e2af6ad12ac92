/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_BENCH_LOAD_H
#define VG_BENCH_LOAD_H

#include "bench/latencies.h"

/*
 * A closed load on redis-server or nginx, like the loads of redis-benchmark and wrk: there are several connections, and
 * each sends its next request when it has the answer to the previous one.  redis-benchmark and wrk report percentiles
 * of a whole run.  This load reports percentiles of any window, and does not pause between windows.
 *
 *     load_start("redis", 6379);
 *     load_begin();
 *     ...
 *     figures = load_end();
 *
 * An error ends the benchmark.
 */

/* Starts a process that puts the load "redis", "redis-pipelined" or "nginx" on the server at that port of this machine.
 * The process ends with its parent. */
void load_start(const char *name, int port);

/* Begin and end a window.  load_end() returns the window's figures. */
void load_begin(void);
struct figures load_end(void);

#endif
