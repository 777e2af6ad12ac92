/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Stars attract each other.  The program records itself into the file PROFILE:
 *
 *     cc -O2 -g -o simulation simulation.c $(pkg-config --cflags --libs vgctl) -lpthread -lm
 *     ./simulation simulation.vgp && vgtool report simulation.vgp
 *
 * simulation PROFILE [STEPS].  In each step the main thread puts all stars into a tree, then two workers move them.
 * The writer writes them to stars.txt, again and again, and holds their lock meanwhile.  The monitor sleeps, and shows
 * the progress.  simulation.cc and simulation.rs are the same program, and print the same checksum.
 */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <vgctl.h>

enum { STARS = 4000, WORKERS = 2 };

static const double step_time = 1e-3, softening = 1e-4, accuracy = 0.7;

struct vec { double x, y; };
struct star { struct vec position, velocity; };

/* A square, with the number and the sum of the positions in it. */
struct node { struct vec middle, sum; double half; int stars; struct node *children[4]; };

static struct star stars[STARS];
static struct node nodes[4 * STARS];    /* nodes[0] is the root */
static int node_count, steps;
static atomic_int steps_done;
static pthread_barrier_t tree_ready, stars_moved;
static pthread_mutex_t stars_lock = PTHREAD_MUTEX_INITIALIZER;

static inline struct vec add(struct vec a, struct vec b) { return (struct vec){ a.x + b.x, a.y + b.y }; }
static inline struct vec scale(struct vec a, double by) { return (struct vec){ a.x * by, a.y * by }; }

static void tree_add(struct node *node, struct vec star);

static void child_add(struct node *node, struct vec star)
{
	int right = star.x >= node->middle.x, up = star.y >= node->middle.y;
	struct node **child = &node->children[right + 2 * up];
	double half = node->half / 2;

	if (!*child) {
		*child = &nodes[node_count++];
		**child = (struct node){ .half = half };
		(*child)->middle = add(node->middle, (struct vec){ right ? half : -half, up ? half : -half });
	}
	tree_add(*child, star);
}

static void tree_add(struct node *node, struct vec star)
{
	if (node->stars == 1)
		child_add(node, node->sum);     /* the star that was alone in this square */
	if (node->stars >= 1)
		child_add(node, star);
	node->sum = add(node->sum, star);
	node->stars++;
}

static void tree_build(void)
{
	VGCTL_SCOPE(vgctl_intern("phase"), vgctl_intern("tree"));
	double half = 0;

	for (int i = 0; i < STARS; i++)
		half = fmax(half, fmax(fabs(stars[i].position.x), fabs(stars[i].position.y)));
	nodes[0] = (struct node){ .half = half };
	node_count = 1;
	for (int i = 0; i < STARS; i++)
		tree_add(nodes, stars[i].position);
	vgctl_counter(vgctl_intern("nodes"), node_count);
}

/* The force on a star.  The stars of a square that is far away count as one. */
static struct vec force(const struct node *node, struct vec star)
{
	struct vec away = add(scale(node->sum, 1.0 / node->stars), scale(star, -1)), sum = { 0, 0 };
	double square = away.x * away.x + away.y * away.y + softening;

	if (node->stars == 1 || node->half * node->half < accuracy * accuracy * square)
		return scale(away, node->stars / (square * sqrt(square)));
	for (int i = 0; i < 4; i++) {
		if (node->children[i])
			sum = add(sum, force(node->children[i], star));
	}
	return sum;
}

static void stars_move(struct star *star, struct star *end)
{
	VGCTL_SCOPE(vgctl_intern("phase"), vgctl_intern("move"));
	for (; star < end; star++) {
		star->velocity = add(star->velocity, scale(force(nodes, star->position), step_time / STARS));
		star->position = add(star->position, scale(star->velocity, step_time));
	}
}

static void *worker_run(void *first)
{
	vgctl_thread_name(first == stars ? "worker 0" : "worker 1");
	for (int step = 0; step < steps; step++) {
		pthread_barrier_wait(&tree_ready);
		stars_move(first, (struct star *)first + STARS / WORKERS);
		pthread_barrier_wait(&stars_moved);
	}
	return NULL;
}

static void stars_write(void)
{
	VGCTL_SCOPE(vgctl_intern("phase"), vgctl_intern("write"));
	pthread_mutex_lock(&stars_lock);
	FILE *file = fopen("stars.txt", "w");

	for (int i = 0; file && i < STARS; i++)
		fprintf(file, "%.6f %.6f\n", stars[i].position.x, stars[i].position.y);
	pthread_mutex_unlock(&stars_lock);
	if (!file || fclose(file) != 0)
		perror("stars.txt");
}

static void *writer_run(void *unused)
{
	vgctl_thread_name("writer");
	while (steps_done < steps) {
		stars_write();
		usleep(5 * 1000);
	}
	return unused;
}

static void *monitor_run(void *unused)
{
	vgctl_thread_name("monitor");
	while (steps_done < steps) {
		usleep(100 * 1000);
		fprintf(stderr, "step %d of %d\n", steps_done, steps);
	}
	return unused;
}

static void simulate(void)
{
	pthread_t threads[WORKERS + 2];

	for (int i = 0; i < WORKERS; i++)
		pthread_create(&threads[i], NULL, worker_run, stars + STARS / WORKERS * i);
	pthread_create(&threads[WORKERS], NULL, writer_run, NULL);
	pthread_create(&threads[WORKERS + 1], NULL, monitor_run, NULL);
	for (; steps_done < steps; steps_done++) {
		tree_build();
		pthread_mutex_lock(&stars_lock);
		pthread_barrier_wait(&tree_ready);
		pthread_barrier_wait(&stars_moved);
		pthread_mutex_unlock(&stars_lock);
	}
	for (int i = 0; i < WORKERS + 2; i++)
		pthread_join(threads[i], NULL);
	stars_write();
}

static uint64_t checksum(void)
{
	uint64_t sum = 0, bits[2];

	for (int i = 0; i < STARS; i++) {
		memcpy(bits, &stars[i].position, sizeof bits);
		sum = (sum * 31 + bits[0]) * 31 + bits[1];
	}
	return sum;
}

int main(int argc, char **argv)
{
	struct vgctl_options options = VGCTL_OPTIONS_INIT;
	struct vgctl_session *session;
	int rc;

	if (argc < 2) {
		fprintf(stderr, "usage: simulation PROFILE [STEPS]\n");
		return 2;
	}
	steps = argc > 2 ? atoi(argv[2]) : 500;
	vgctl_thread_name("main");
	for (int i = 0; i < STARS; i++) {
		struct vec at = { 2 * fmod(i * 0.618034, 1) - 1, 2.0 * i / STARS - 1 };

		stars[i] = (struct star){ at, { -at.y / 2, at.x / 2 } };
	}
	pthread_barrier_init(&tree_ready, NULL, WORKERS + 1);
	pthread_barrier_init(&stars_moved, NULL, WORKERS + 1);
	options.rate_hz = 499;
	rc = vgctl_begin(argv[1], &options, &session);
	if (rc >= 0) {
		simulate();
		rc = vgctl_end(session, NULL);
	}
	if (rc < 0) {
		fprintf(stderr, "simulation: %s\n", vgctl_strerror(rc));
		return 1;
	}
	printf("checksum %016llx\n", (unsigned long long)checksum());
	return 0;
}
