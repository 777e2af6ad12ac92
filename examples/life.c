/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Conway's Game of Life on several threads, which records a profile of itself.
 *
 *     life PROFILE [SECONDS]
 *
 * It has three kinds of threads: workers compute generations in parallel, a clock thread mostly sleeps,
 * and the main thread measures a snake of cells by deep recursion from time to time.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "vgctl.h"

enum { WIDTH = 512, HEIGHT = 512, WORKERS = 2, SNAKE_LENGTH = 1500 };

typedef unsigned char board[HEIGHT][WIDTH];

/* Each worker has its own universe, so that no worker waits for another. */
static board universes[WORKERS][2], first_generation;
static atomic_bool stopping;
static atomic_ulong generations, beats;

static double seconds_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Printed for comparison with the thread's time in the profile. */
static void lifetime_print(double begin)
{
	char name[16];

	pthread_getname_np(pthread_self(), name, sizeof name);
	printf("%s ran for %.3f s\n", name, seconds_now() - begin);
}

/* The board is a torus.  The masks wrap around because both sizes are powers of two. */
static inline int neighbours(const board cells, int row, int column)
{
	int count = 0;

	for (int down = -1; down <= 1; down++) {
		for (int right = -1; right <= 1; right++)
			count += cells[(row + down) & (HEIGHT - 1)][(column + right) & (WIDTH - 1)];
	}
	return count - cells[row][column];
}

/* The workers spend their time here. */
static __attribute__((noinline)) void board_evolve(const board from, board to)
{
	for (int row = 0; row < HEIGHT; row++) {
		for (int column = 0; column < WIDTH; column++) {
			int alive = neighbours(from, row, column);

			to[row][column] = alive == 3 || (alive == 2 && from[row][column]);
		}
	}
}

static void *worker_run(void *argument)
{
	board *universe = argument;
	double begin = seconds_now();

	for (unsigned long generation = 0; !atomic_load(&stopping); generation++) {
		board_evolve(universe[generation % 2], universe[(generation + 1) % 2]);
		atomic_fetch_add(&generations, 1);
	}
	lifetime_print(begin);
	return NULL;
}

static void *clock_run(void *argument)
{
	struct timespec pause = { .tv_nsec = 100 * 1000 * 1000 };
	double begin = seconds_now();

	(void)argument;
	while (!atomic_load(&stopping)) {
		nanosleep(&pause, NULL);
		atomic_fetch_add(&beats, 1);
	}
	lifetime_print(begin);
	return NULL;
}

/* One recursive call for each cell: the stack is as deep as the snake is long. */
static __attribute__((noinline)) long snake_measure(board cells, int row, int column)
{
	long length = 1;

	if (row < 0 || row >= HEIGHT || column < 0 || column >= WIDTH || cells[row][column] != 1)
		return 0;
	cells[row][column] = 2;
	for (int side = -1; side <= 1; side += 2) {
		length += snake_measure(cells, row + side, column);
		length += snake_measure(cells, row, column + side);
	}
	cells[row][column] = 0;
	return length;
}

/* The snake fills every second row, in alternating directions. */
static void snake_draw(board cells)
{
	int row = 0, column = 0, step = 1;

	for (int i = 0; i < SNAKE_LENGTH; i++) {
		cells[row][column] = 1;
		if (column + step >= 0 && column + step < WIDTH && row % 2 == 0) {
			column += step;
		} else {
			if (row % 2 == 1)
				step = -step;
			row++;
		}
	}
}

static long snakes_measure(int times)
{
	static board cells;
	long length = 0;

	for (int i = 0; i < times; i++) {
		snake_draw(cells);
		length += snake_measure(cells, 0, 0);
	}
	return length / times;
}

static void thread_start(pthread_t *thread, const char *name, void *(*run)(void *), void *argument)
{
	if (pthread_create(thread, NULL, run, argument) != 0) {
		fprintf(stderr, "life: cannot start a thread\n");
		exit(EXIT_FAILURE);
	}
	pthread_setname_np(*thread, name);
}

static long life_run(double seconds)
{
	struct timespec pause = { .tv_nsec = 30 * 1000 * 1000 };
	pthread_t workers[WORKERS], clock;
	double begin = seconds_now();
	long length = 0;

	for (int i = 0; i < WORKERS; i++) {
		char name[16];

		snprintf(name, sizeof name, "worker-%d", i);
		memcpy(universes[i][0], first_generation, sizeof first_generation);
		thread_start(&workers[i], name, worker_run, universes[i]);
	}
	thread_start(&clock, "clock", clock_run, NULL);
	while (seconds_now() < begin + seconds) {
		length = snakes_measure(400);
		nanosleep(&pause, NULL);
	}
	atomic_store(&stopping, true);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(workers[i], NULL);
	pthread_join(clock, NULL);
	lifetime_print(begin);
	return length;
}

static void fail(int rc)
{
	fprintf(stderr, "life: %s\n", vgctl_strerror(rc));
	exit(EXIT_FAILURE);
}

int main(int argc, char **argv)
{
	struct vgctl_options options = VGCTL_OPTIONS_INIT;
	struct vgctl_summary summary = VGCTL_SUMMARY_INIT;
	struct vgctl_session *session;
	long length;
	int rc;

	if (argc < 2) {
		fprintf(stderr, "usage: life PROFILE [SECONDS]\n");
		return 2;
	}
	srand(1);
	for (int i = 0; i < WIDTH * HEIGHT; i++)
		first_generation[i / WIDTH][i % WIDTH] = rand() % 4 == 0;

	options.rate_hz = 199;
	options.thread_names = 1;        /* the names of these threads identify nobody */
	rc = vgctl_begin(argv[1], &options, &session);
	if (rc < 0)
		fail(rc);
	length = life_run(argc > 2 ? atof(argv[2]) : 3.0);
	rc = vgctl_end(session, &summary);
	if (rc < 0)
		fail(rc);
	printf("%lu generations, a snake of %ld cells, %lu beats\n", atomic_load(&generations), length,
	       atomic_load(&beats));
	printf("%s: %llu samples of %u threads, %llu lost\n", argv[1],
	       (unsigned long long)summary.samples, summary.threads,
	       (unsigned long long)summary.lost);
	return 0;
}
