/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_BENCH_STOP_H
#define VG_BENCH_STOP_H

#include <sys/types.h>

/*
 * Stops a thread and continues it, and reads nothing from it.  A sampler that stops threads cannot do less.  Polls for
 * the stop for up to 40 us and then blocks, as a sampler that keeps pauses short does.  So the thread's pause is a fair
 * lower bound of vignetted's pause.
 *
 * Returns 0, or -1 if the thread has exited or may not be stopped.
 */
int stop_and_continue(pid_t tid);

#endif
