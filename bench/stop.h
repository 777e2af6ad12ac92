/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_BENCH_STOP_H
#define VG_BENCH_STOP_H

#include <sys/types.h>

/*
 * Stops a thread and lets it go: the least that a sampler which stops threads can do to it.  Nothing is
 * read from it.  The stop is polled for up to 40 us and then waited for, as any sampler that minds the
 * pause would: it is the floor of vignetted's pause, not a straw man.
 *
 * 0, or -1: the thread is gone, or may not be stopped.
 */
int stop_and_go(pid_t tid);

#endif
