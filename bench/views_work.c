/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A fixed amount of work in some thirty functions: an interpreter of expressions, sorting, hashing, printing and
 * checksums.  The functions have inlined functions, recursion, tail calls, callbacks from the C library, and functions
 * of a static library.
 *
 *     views_work ROUNDS [THREADS]
 *
 * Each thread does ROUNDS rounds, of about 0.4 ms.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/views_library.h"

#define OWN_CODE __attribute__((noinline, noclone)) static

enum { VALUES = 1000, SLOTS = 2048, NODES = 256, SIDE = 24, TEXT_BYTES = 16384, INSERTION = 12 };

struct node {
	char operator;               /* 'n' for a number */
	double number;
	struct node *left, *right;
};

struct work {
	unsigned long random;
	const char *at;              /* of the expression */
	struct node nodes[NODES];
	size_t node_count;
	unsigned values[VALUES];
	struct slot { unsigned key, count; } slots[SLOTS];
	double a[SIDE][SIDE], b[SIDE][SIDE], product[SIDE][SIDE];
	char text[TEXT_BYTES];
	size_t text_bytes;
	unsigned long result;
};

static inline unsigned random_next(struct work *work)
{
	work->random = work->random * 6364136223846793005 + 1442695040888963407;
	return (unsigned)(work->random >> 33);
}

/* ---- the interpreter ---- */

static struct node *parse_sum(struct work *work);

static inline void blanks_skip(struct work *work)
{
	while (*work->at == ' ')
		work->at++;
}

static inline struct node *node_add(struct work *work, char operator, struct node *left, struct node *right)
{
	struct node *node = &work->nodes[work->node_count++ % NODES];

	*node = (struct node){ .operator = operator, .left = left, .right = right };
	return node;
}

OWN_CODE double parse_digits(struct work *work)
{
	double number = 0, scale = 1;

	while (*work->at >= '0' && *work->at <= '9')
		number = number * 10 + (*work->at++ - '0');
	if (*work->at == '.') {
		for (work->at++; *work->at >= '0' && *work->at <= '9'; work->at++)
			number += (*work->at - '0') * (scale /= 10);
	}
	return number;
}

OWN_CODE struct node *parse_atom(struct work *work)
{
	struct node *node;

	blanks_skip(work);
	if (*work->at == '(') {
		work->at++;
		node = parse_sum(work);
		blanks_skip(work);
		work->at++;
		return node;
	}
	node = node_add(work, 'n', NULL, NULL);
	node->number = parse_digits(work);
	return node;
}

OWN_CODE struct node *parse_product(struct work *work)
{
	struct node *left = parse_atom(work);

	for (blanks_skip(work); *work->at == '*' || *work->at == '/'; blanks_skip(work)) {
		char operator = *work->at++;

		left = node_add(work, operator, left, parse_atom(work));
	}
	return left;
}

__attribute__((noinline, noclone)) static struct node *parse_sum(struct work *work)
{
	struct node *left = parse_product(work);

	for (blanks_skip(work); *work->at == '+' || *work->at == '-'; blanks_skip(work)) {
		char operator = *work->at++;

		left = node_add(work, operator, left, parse_product(work));
	}
	return left;
}

OWN_CODE double evaluate(const struct node *node)
{
	double left, right;

	if (node->operator == 'n')
		return node->number;
	left = evaluate(node->left);
	right = evaluate(node->right);
	switch (node->operator) {
	case '+': return left + right;
	case '-': return left - right;
	case '*': return left * right;
	default: return right != 0 ? left / right : 0;
	}
}

OWN_CODE void interpret(struct work *work)
{
	static const char expression[] = "((1.25 + 2 * 3.5) / (4 - 0.125) + 17 * (3 + 4 * (5 + 6 * (7 + 8)))) * 2"
		" + (100 / 8 - 3.75) * (1 + 2 * (3 + 4 * (5 - 6))) + 12345.678 / 3";
	struct node *tree;

	for (int i = 0; i < 25; i++) {
		work->at = expression;
		work->node_count = 0;
		tree = parse_sum(work);
		for (int turn = 0; turn < 5; turn++)
			work->result += (unsigned long)(long)evaluate(tree);
	}
}

/* ---- sorting ---- */

static inline void swap(unsigned *a, unsigned *b)
{
	unsigned value = *a;

	*a = *b;
	*b = value;
}

OWN_CODE void fill(struct work *work)
{
	for (size_t i = 0; i < VALUES; i++)
		work->values[i] = random_next(work);
}

OWN_CODE void insertion_sort(unsigned *values, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		for (size_t at = i; at > 0 && values[at - 1] > values[at]; at--)
			swap(&values[at - 1], &values[at]);
	}
}

OWN_CODE size_t partition(unsigned *values, size_t count)
{
	size_t low = 0;

	swap(&values[count / 2], &values[count - 1]);
	for (size_t i = 0; i + 1 < count; i++) {
		if (values[i] < values[count - 1])
			swap(&values[i], &values[low++]);
	}
	swap(&values[low], &values[count - 1]);
	return low;
}

/* The first call is a recursion, the last one is a loop or a tail call. */
OWN_CODE void quick_sort(unsigned *values, size_t count)
{
	size_t low;

	if (count <= INSERTION) {
		insertion_sort(values, count);
		return;
	}
	low = partition(values, count);
	quick_sort(values, low);
	quick_sort(values + low + 1, count - low - 1);
}

static int value_compare(const void *a, const void *b)
{
	unsigned left = *(const unsigned *)a, right = *(const unsigned *)b;

	return (left > right) - (left < right);
}

OWN_CODE void sift_down(unsigned *values, size_t count, size_t at)
{
	for (size_t child; (child = 2 * at + 1) < count; at = child) {
		if (child + 1 < count && values[child + 1] > values[child])
			child++;
		if (values[at] >= values[child])
			return;
		swap(&values[at], &values[child]);
	}
}

OWN_CODE void heap_sort(unsigned *values, size_t count)
{
	for (size_t i = count / 2; i-- > 0;)
		sift_down(values, count, i);
	for (size_t left = count; left-- > 1;) {
		swap(&values[0], &values[left]);
		sift_down(values, left, 0);
	}
}

OWN_CODE void sort(struct work *work)
{
	fill(work);
	quick_sort(work->values, VALUES);
	fill(work);
	heap_sort(work->values, VALUES);
	fill(work);
	qsort(work->values, VALUES, sizeof *work->values, value_compare);
	work->result += work->values[VALUES / 2];
}

/* ---- hashing ---- */

static inline unsigned mix(unsigned key)
{
	key ^= key >> 16;
	key *= 0x85ebca6b;
	key ^= key >> 13;
	key *= 0xc2b2ae35;
	return key ^ key >> 16;
}

OWN_CODE struct slot *slot_find(struct work *work, unsigned key)
{
	size_t at = mix(key) % SLOTS;

	while (work->slots[at].count > 0 && work->slots[at].key != key)
		at = (at + 1) % SLOTS;
	return &work->slots[at];
}

OWN_CODE void table_insert(struct work *work, unsigned key)
{
	struct slot *slot = slot_find(work, key);

	slot->key = key;
	slot->count++;
}

OWN_CODE unsigned table_count(struct work *work, unsigned key)
{
	return slot_find(work, key)->count;
}

OWN_CODE void hash(struct work *work)
{
	memset(work->slots, 0, sizeof work->slots);
	for (size_t i = 0; i < VALUES; i++)
		table_insert(work, work->values[i]);
	for (size_t turn = 0; turn < 4; turn++) {
		for (size_t i = 0; i < VALUES; i++)
			work->result += table_count(work, work->values[i]);
	}
	work->result += library_hash(work->text, work->text_bytes);
}

/* ---- a state machine whose states call the next state at their end: tail calls ---- */

static unsigned long state_odd(unsigned long value, unsigned steps);

OWN_CODE unsigned long state_done(unsigned long value, unsigned steps)
{
	for (unsigned i = 0; i < 300; i++)
		value = value * 31 + steps;
	return value;
}

OWN_CODE unsigned long state_even(unsigned long value, unsigned steps)
{
	for (unsigned i = 0; i < 100; i++)
		value ^= value << 7 ^ value >> 9;
	return steps == 0 ? state_done(value, steps) : state_odd(value, steps - 1);
}

__attribute__((noinline, noclone)) static unsigned long state_odd(unsigned long value, unsigned steps)
{
	for (unsigned i = 0; i < 50; i++)
		value += value % (i + 3);
	return steps == 0 ? state_done(value, steps) : state_even(value, steps - 1);
}

OWN_CODE void machine(struct work *work)
{
	for (unsigned i = 0; i < 30; i++)
		work->result += state_even(work->result | 1, 4 + i % 2);
}

/* ---- printing ---- */

static inline void text_put(struct work *work, char letter)
{
	if (work->text_bytes < TEXT_BYTES)
		work->text[work->text_bytes++] = letter;
}

OWN_CODE void print_number(struct work *work, unsigned number)
{
	char digits[12];
	size_t count = 0;

	do
		digits[count++] = (char)('0' + number % 10);
	while ((number /= 10) > 0);
	while (count > 0)
		text_put(work, digits[--count]);
}

OWN_CODE void print_hex(struct work *work, unsigned number)
{
	for (int shift = 28; shift >= 0; shift -= 4)
		text_put(work, "0123456789abcdef"[number >> shift & 15]);
}

OWN_CODE void print_real(struct work *work, double number)
{
	char text[32];
	int bytes = snprintf(text, sizeof text, "%.6g", number);

	for (int i = 0; i < bytes; i++)
		text_put(work, text[i]);
}

OWN_CODE void print(struct work *work)
{
	work->text_bytes = 0;
	for (size_t i = 0; i < VALUES / 2; i++) {
		print_number(work, work->values[i]);
		text_put(work, ' ');
		print_hex(work, work->values[i]);
		text_put(work, '\n');
	}
	for (size_t i = 0; i < 100; i++)
		print_real(work, work->values[i] / 7.0);
}

/* ---- numbers ---- */

OWN_CODE void matrix_multiply(struct work *work)
{
	for (size_t i = 0; i < SIDE; i++) {
		for (size_t j = 0; j < SIDE; j++) {
			double sum = 0;

			for (size_t k = 0; k < SIDE; k++)
				sum += work->a[i][k] * work->b[k][j];
			work->product[i][j] = sum;
		}
	}
}

OWN_CODE unsigned long fibonacci(unsigned n)
{
	return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

OWN_CODE void calculate(struct work *work)
{
	matrix_multiply(work);
	work->result += fibonacci(15) + library_primes(2000) + (unsigned long)work->product[1][2];
}

OWN_CODE void checksums(struct work *work)
{
	work->result += library_crc((const unsigned char *)work->text, work->text_bytes / 2);
	work->result += library_adler((const unsigned char *)work->text, work->text_bytes);
}

static unsigned long rounds;

static void *work_run(void *result)
{
	struct work *work = calloc(1, sizeof *work);

	if (work == NULL)
		abort();
	work->random = 1;
	for (size_t i = 0; i < SIDE * SIDE; i++)
		work->a[i / SIDE][i % SIDE] = work->b[i % SIDE][i / SIDE] = (double)i / 100;
	for (unsigned long round = 0; round < rounds; round++) {
		interpret(work);
		sort(work);
		hash(work);
		machine(work);
		print(work);
		calculate(work);
		checksums(work);
	}
	*(unsigned long *)result = work->result;
	free(work);
	return NULL;
}

int main(int argc, char **argv)
{
	enum { THREADS_MAX = 64 };
	pthread_t threads[THREADS_MAX];
	unsigned long results[THREADS_MAX] = { 0 }, count = argc > 2 ? strtoul(argv[2], NULL, 10) : 1, sum = 0;

	if (argc < 2 || argc > 3 || count < 1 || count > THREADS_MAX) {
		fprintf(stderr, "usage: views_work ROUNDS [THREADS]\n");
		return 2;
	}
	rounds = strtoul(argv[1], NULL, 10);
	for (unsigned long i = 1; i < count; i++) {
		if (pthread_create(&threads[i], NULL, work_run, &results[i]) != 0)
			return 1;
	}
	work_run(&results[0]);
	for (unsigned long i = 0; i < count; i++) {
		if (i > 0)
			pthread_join(threads[i], NULL);
		sum += results[i];
	}
	printf("%lu\n", sum);
	return 0;
}
