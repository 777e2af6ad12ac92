/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * roots PROGRAM spin|wait: makes a stack that is hard to unwind to its root, and prints a line.  Keeps this stack until
 * the program is killed.
 *
 *     null        calls address 0, and the handler of SIGSEGV does not return
 *     wild        calls a page without code, and the handler of SIGSEGV does not return
 *     again       calls address 0, and the handler of SIGSEGV returns there, again and again
 *     coroutine   runs on a stack of makecontext(3)
 *     alternate   raises a signal, whose handler runs on an alternate stack
 */
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

static bool waits;
static void (*volatile callee)(void);

/* Prevents a tail call. */
#define AFTER_CALL() __asm__ volatile ("" ::: "memory")

static void ready_print(void)
{
	if (write(1, "ready\n", 6) != 6)
		abort();
}

static __attribute__((noinline)) void stay(void)
{
	ready_print();
	for (;;) {
		if (waits)
			poll(NULL, 0, -1);
		AFTER_CALL();
	}
}

static __attribute__((noinline)) void handler(int number)
{
	(void)number;
	stay();
	AFTER_CALL();
}

static void handler_returns(int number)
{
	static bool printed;

	(void)number;
	if (!printed)
		ready_print();
	printed = true;
}

static void raise_signal(void)
{
	raise(SIGUSR1);
}

static __attribute__((noinline)) void second(void)
{
	callee();
	AFTER_CALL();
}

static __attribute__((noinline)) void first(void)
{
	second();
	AFTER_CALL();
}

static __attribute__((noinline)) void entry(void)
{
	stay();
	AFTER_CALL();
}

/* The saved contexts are directly above this stack in memory.  A walk that goes beyond the stack's end finds the return
 * address in a saved context, and must not take it for a frame. */
static void coroutine(void)
{
	static struct {
		char stack[1 << 16];
		ucontext_t outer, inner;
	} contexts;

	getcontext(&contexts.inner);
	contexts.inner.uc_stack.ss_sp = contexts.stack;
	contexts.inner.uc_stack.ss_size = sizeof contexts.stack;
	contexts.inner.uc_link = &contexts.outer;
	makecontext(&contexts.inner, entry, 0);
	swapcontext(&contexts.outer, &contexts.inner);
}

static void handle(int number, void (*function)(int))
{
	struct sigaction action = { .sa_handler = function, .sa_flags = SA_ONSTACK };

	sigaction(number, &action, NULL);
}

int main(int argc, char **argv)
{
	const char *program = argc == 3 ? argv[1] : "";

	waits = argc == 3 && strcmp(argv[2], "wait") == 0;
	handle(SIGUSR1, handler);
	handle(SIGSEGV, strcmp(program, "again") == 0 ? handler_returns : handler);
	if (strcmp(program, "wild") == 0)
		callee = (void (*)(void))mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (strcmp(program, "alternate") == 0) {
		static char bytes[1 << 16];
		stack_t stack = { .ss_sp = bytes, .ss_size = sizeof bytes };

		sigaltstack(&stack, NULL);
		callee = raise_signal;
	}
	if (strcmp(program, "coroutine") == 0)
		coroutine();
	else
		first();
	return 2;
}
