/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "bench/around.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/latencies.h"

/* A tick is noted when we run, which we do somewhat after the timer's interrupt; and who comes after it finds
 * caches cold. */
enum { BEFORE_US = 60, AFTER_US = 1000 };
enum { TICKS_MAX = 1024, WINDOWS_MAX = 4096, DRAWN = 100 };

struct answer {
	uint64_t begin_us, end_us;
	double weight;               /* had there been no ticks */
	bool met_tick;
};

static struct {
	struct answer *answers;      /* of all windows */
	size_t answer_count, answer_capacity;
	size_t begins[WINDOWS_MAX + 1]; /* of a window's answers, and where the latest one's end */
	int window_count;
	uint64_t ticks_us[TICKS_MAX];
	int tick_count;
	bool open, dropped;
} around;

void around_begin(void)
{
	around.open = around.window_count < WINDOWS_MAX;
	around.dropped = false;
	around.tick_count = 0;
}

void around_drop(void)
{
	around.dropped = true;
}

void around_tick(uint64_t at_us)
{
	if (around.open && around.tick_count < TICKS_MAX)
		around.ticks_us[around.tick_count++] = at_us;
}

void around_answer(uint64_t at_us, uint64_t latency_us)
{
	if (!around.open)
		return;
	if (around.answer_count == around.answer_capacity) {
		around.answer_capacity = around.answer_capacity * 2 + 1024;
		around.answers = realloc(around.answers, around.answer_capacity * sizeof *around.answers);
		if (around.answers == NULL) {
			perror("around");
			exit(1);
		}
	}
	around.answers[around.answer_count++] = (struct answer){ at_us - latency_us, at_us, 1, false };
}

/* Those of the window's answers that met this moment.  Answers and moments are in order.  One that lasted from a
 * tick to what is no tick is the tick's. */
static void moment_weigh(uint64_t at_us, double weight, bool is_tick, size_t *from)
{
	while (*from < around.answer_count && around.answers[*from].end_us + BEFORE_US < at_us)
		++*from;
	for (size_t i = *from; i < around.answer_count && around.answers[i].begin_us < at_us + AFTER_US; i++) {
		struct answer *answer = &around.answers[i];

		if (!answer->met_tick)
			answer->weight += weight;
		answer->met_tick |= is_tick;
	}
}

void around_end(void)
{
	size_t begin = around.begins[around.window_count], tick_from = begin, between_from = begin;
	int pairs = around.tick_count - 1;
	double share;

	if (!around.open)
		return;
	around.open = false;
	if (around.dropped || pairs < 1) {
		around.answer_count = begin;
		return;
	}
	/* Of the last tick nobody knows where the next one would be. */
	share = (double)around.tick_count / pairs;
	for (int i = 0; i < pairs; i++)
		moment_weigh(around.ticks_us[i], -share, true, &tick_from);
	for (int i = 0; i < pairs; i++)
		moment_weigh((around.ticks_us[i] + around.ticks_us[i + 1]) / 2, share, false, &between_from);
	around.begins[++around.window_count] = around.answer_count;
}

/* Of answers that so many took, by microseconds. */
static double p99_us(const double *by_us)
{
	double all = 0, below = 0;
	int us = 0;

	for (int i = 0; i < LATENCY_MAX_US; i++)
		all += by_us[i];
	while (us < LATENCY_MAX_US - 1 && below + by_us[us] < 0.99 * all)
		below += by_us[us++];
	return us + (by_us[us] > 0 ? (0.99 * all - below) / by_us[us] : 0);
}

/* In percent, of these windows. */
static double change(const int *windows)
{
	static double with[LATENCY_MAX_US], without[LATENCY_MAX_US];

	for (int us = 0; us < LATENCY_MAX_US; us++)
		with[us] = without[us] = 0;
	for (int i = 0; i < around.window_count; i++) {
		for (size_t k = around.begins[windows[i]]; k < around.begins[windows[i] + 1]; k++) {
			const struct answer *answer = &around.answers[k];
			uint64_t us = answer->end_us - answer->begin_us;

			us = us < LATENCY_MAX_US ? us : LATENCY_MAX_US - 1;
			with[us]++;
			without[us] += answer->weight;
		}
	}
	return 100 * (p99_us(with) / p99_us(without) - 1);
}

bool around_p99(double *percent, double *error)
{
	static int windows[WINDOWS_MAX];
	double sum = 0, squares = 0;

	if (around.window_count == 0)
		return false;
	for (int i = 0; i < around.window_count; i++)
		windows[i] = i;
	*percent = change(windows);
	for (int draw = 0; draw < DRAWN; draw++) {
		double drawn;

		for (int i = 0; i < around.window_count; i++)
			windows[i] = (int)(drand48() * around.window_count);
		drawn = change(windows);
		sum += drawn;
		squares += drawn * drawn;
	}
	*error = sqrt(fmax(0, squares / DRAWN - sum / DRAWN * (sum / DRAWN)));
	return true;
}
