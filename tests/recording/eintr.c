/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * eintr VIGNETTED PROFILE RATE SECONDS: samples this process with stops, and tests that no system call returns EINTR
 * because of a stop.
 *
 * There are up to three threads for each call that signal(7) lists:
 *
 *   forever   waits without a timeout, and is woken every few milliseconds: must not get EINTR
 *   timed     waits with a timeout of 30 ms: must not get EINTR, and must not wait longer
 *   signal    waits without a timeout, and gets a signal with a handler while it waits: must get EINTR
 *             each time
 *
 * (A stop can interrupt a socket call only if the socket has a timeout.  So "forever" is an hour there.)  The test runs
 * without the sampler first, to measure timed waits, and then with the sampler.  It prints a table.  The exit status is
 * 1 if an EINTR was wrong or missing, or if timed waits became longer.  With TIMING in the environment, the medians of
 * each call's waits are compared.  Otherwise the program waits until the shortest wait of each call is about as long as
 * the timeout: on a busy machine most waits are longer.
 *
 * This file is compiled with frame pointers, because these make sampling a waiting thread harder.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/io_uring.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TIMEOUT_MS = 30, FOREVER_S = 3600, WAITS_MAX = 4096, WAITERS_MAX = 64, BLOCK_BYTES = 4096,
       LENGTHS_MIN = 10, WAITS_MIN = 11, AWAIT_MAX_S = 120, RUNS_MAX = 120,
       LONGER_MAX_NS = 2 * 1000 * 1000,  /* with TIMING: the median wait may change by less than this */
       LONGEST_NS = 20 * 1000 * 1000,    /* without TIMING: the shortest wait may be longer by less than this */
       TICK_NS = 4 * 1000 * 1000 };      /* the kernel rounds timeouts of sockets to scheduler ticks */

enum variant { FOREVER, TIMED, SIGNAL, VARIANTS };
static const char *const variant_names[] = { "forever", "timed", "signal" };

struct waiter {
	const struct call *call;
	enum variant variant;
	pthread_t thread;
	atomic_int tid;
	int fd, other;               /* the descriptor that it waits for, and the other end */
	struct sockaddr_storage address;
	socklen_t address_bytes;
	aio_context_t aio;
	struct { unsigned *head, *tail, *mask, *array; struct io_uring_sqe *entries; unsigned *cq_head,
		*cq_tail; } ring;
	atomic_uint waits, wakes, eintr, sent, handled, unhandled, missed, wrong;
	int wrong_errno;
	/* Lengths of timed waits: [0] before sampling, [1] during it. */
	uint64_t lengths_ns[2][WAITS_MAX];
	size_t lengths[2];
};

struct call {
	const char *name;
	long number;
	unsigned variants;           /* 1 << enum variant */
	int expected;                /* errno at a timeout; 0: the call returns 0 */
	bool (*setup)(struct waiter *waiter);
	long (*wait)(struct waiter *waiter);
	void (*wake)(struct waiter *waiter);
};

static struct waiter *waiters;
static size_t waiter_count;
static atomic_bool stopping;
static atomic_int phase;                 /* 0: before sampling; 1: during it; -1: not measured */
static _Thread_local struct waiter *self;

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void pause_us(uint64_t us)
{
	struct timespec length = { 0, (long)us * 1000 };

	nanosleep(&length, NULL);
}

static bool is_timed(const struct waiter *waiter)
{
	return waiter->variant == TIMED;
}

static struct timespec *timeout_of(const struct waiter *waiter, struct timespec *room)
{
	*room = (struct timespec){ 0, TIMEOUT_MS * 1000000 };
	return is_timed(waiter) ? room : NULL;
}

/* ---- epoll ---- */

static bool epoll_setup(struct waiter *waiter)
{
	struct epoll_event event = { .events = EPOLLIN };

	waiter->fd = epoll_create1(EPOLL_CLOEXEC);
	waiter->other = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return epoll_ctl(waiter->fd, EPOLL_CTL_ADD, waiter->other, &event) == 0;
}

static void counter_wake(struct waiter *waiter)
{
	uint64_t one = 1;

	if (write(waiter->other, &one, sizeof one) < 0)
		abort();
}

static long epoll_take(struct waiter *waiter, long rc)
{
	uint64_t count;

	if (rc > 0 && read(waiter->other, &count, sizeof count) < 0)
		abort();
	return rc;
}

static long epoll_plain(struct waiter *waiter)
{
	struct epoll_event event;

	return epoll_take(waiter, epoll_wait(waiter->fd, &event, 1, is_timed(waiter) ? TIMEOUT_MS : -1));
}

/* The mask of the call unblocks a signal that the thread blocks. */
static sigset_t *mask_inside(sigset_t *mask)
{
	pthread_sigmask(SIG_SETMASK, NULL, mask);
	sigdelset(mask, SIGUSR1);
	return mask;
}

static long epoll_masked(struct waiter *waiter)
{
	struct epoll_event event;
	sigset_t mask;

	return epoll_take(waiter, epoll_pwait(waiter->fd, &event, 1, is_timed(waiter) ? TIMEOUT_MS : -1,
					      mask_inside(&mask)));
}

static long epoll_masked_2(struct waiter *waiter)
{
	struct epoll_event event;
	struct timespec room;
	sigset_t mask;

	return epoll_take(waiter, syscall(SYS_epoll_pwait2, waiter->fd, &event, 1,
					  timeout_of(waiter, &room), mask_inside(&mask), _NSIG / 8));
}

/* ---- io_uring ---- */

static bool ring_setup(struct waiter *waiter)
{
	struct io_uring_params params = { 0 };
	size_t bytes;
	char *ring;

	waiter->fd = (int)syscall(SYS_io_uring_setup, 4, &params);
	if (waiter->fd < 0 || (params.features & IORING_FEAT_SINGLE_MMAP) == 0 ||
	    (params.features & IORING_FEAT_EXT_ARG) == 0)
		return false;
	bytes = params.cq_off.cqes + params.cq_entries * sizeof(struct io_uring_cqe);
	ring = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, waiter->fd, IORING_OFF_SQ_RING);
	waiter->ring.entries = mmap(NULL, params.sq_entries * sizeof(struct io_uring_sqe),
				    PROT_READ | PROT_WRITE, MAP_SHARED, waiter->fd, IORING_OFF_SQES);
	if (ring == MAP_FAILED || waiter->ring.entries == MAP_FAILED)
		return false;
	waiter->ring.tail = (unsigned *)(ring + params.sq_off.tail);
	waiter->ring.mask = (unsigned *)(ring + params.sq_off.ring_mask);
	waiter->ring.array = (unsigned *)(ring + params.sq_off.array);
	waiter->ring.cq_head = (unsigned *)(ring + params.cq_off.head);
	waiter->ring.cq_tail = (unsigned *)(ring + params.cq_off.tail);
	return true;
}

static long ring_wait(struct waiter *waiter)
{
	struct { uint64_t mask; uint32_t mask_bytes, pad; const struct timespec *timeout; } extra = { 0 };
	struct timespec room;
	long rc;

	extra.timeout = timeout_of(waiter, &room);
	rc = is_timed(waiter) ?
	     syscall(SYS_io_uring_enter, waiter->fd, 0, 1, IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG,
		     &extra, sizeof extra) :
	     syscall(SYS_io_uring_enter, waiter->fd, 0, 1, IORING_ENTER_GETEVENTS, NULL, 0);
	if (rc >= 0)
		__atomic_store_n(waiter->ring.cq_head,
				 __atomic_load_n(waiter->ring.cq_tail, __ATOMIC_ACQUIRE), __ATOMIC_RELEASE);
	return rc;
}

static void ring_wake(struct waiter *waiter)
{
	unsigned tail = *waiter->ring.tail, slot = tail & *waiter->ring.mask;

	memset(&waiter->ring.entries[slot], 0, sizeof *waiter->ring.entries);
	waiter->ring.entries[slot].opcode = IORING_OP_NOP;
	waiter->ring.array[slot] = slot;
	__atomic_store_n(waiter->ring.tail, tail + 1, __ATOMIC_RELEASE);
	syscall(SYS_io_uring_enter, waiter->fd, 1, 0, 0, NULL, 0);
}

/* ---- io_getevents ---- */

static bool aio_setup(struct waiter *waiter)
{
	waiter->fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	return syscall(SYS_io_setup, 8, &waiter->aio) == 0;
}

static long aio_wait(struct waiter *waiter)
{
	struct io_event event;
	struct timespec room;

	return syscall(SYS_io_getevents, waiter->aio, 1, 1, &event, timeout_of(waiter, &room));
}

static void aio_wake(struct waiter *waiter)
{
	static char byte;
	struct iocb block = { .aio_lio_opcode = IOCB_CMD_PREAD, .aio_fildes = (uint32_t)waiter->fd,
			      .aio_buf = (uint64_t)&byte, .aio_nbytes = 1 };
	struct iocb *list = &block;

	syscall(SYS_io_submit, waiter->aio, 1, &list);
}

/* ---- semaphores ---- */

static bool semaphore_setup(struct waiter *waiter)
{
	waiter->fd = semget(IPC_PRIVATE, 1, 0600);
	return waiter->fd >= 0;
}

/* In some versions of the C library, semop(3) calls semtimedop(2). */
static long semaphore_wait(struct waiter *waiter)
{
	struct sembuf take = { 0, -1, 0 };

	return syscall(SYS_semop, waiter->fd, &take, 1);
}

static long semaphore_wait_timed(struct waiter *waiter)
{
	struct sembuf take = { 0, -1, 0 };
	struct timespec room;

	return syscall(SYS_semtimedop, waiter->fd, &take, 1, timeout_of(waiter, &room));
}

static void semaphore_wake(struct waiter *waiter)
{
	struct sembuf give = { 0, 1, 0 };

	semop(waiter->fd, &give, 1);
}

/* ---- signals ---- */

static bool signal_setup(struct waiter *waiter)
{
	return waiter != NULL;
}

static long signal_wait_timed(struct waiter *waiter)
{
	struct timespec room;
	sigset_t wanted;

	sigemptyset(&wanted);
	sigaddset(&wanted, SIGRTMIN);
	return is_timed(waiter) ? sigtimedwait(&wanted, NULL, timeout_of(waiter, &room)) :
	       sigtimedwait(&wanted, NULL, NULL);
}

static long signal_wait(struct waiter *waiter)
{
	sigset_t wanted;

	(void)waiter;
	sigemptyset(&wanted);
	sigaddset(&wanted, SIGRTMIN);
	return sigwaitinfo(&wanted, NULL);
}

static void signal_wake(struct waiter *waiter)
{
	pthread_kill(waiter->thread, SIGRTMIN);
}

/* ---- sockets ---- */

static bool timeouts_set(const struct waiter *waiter, int fd)
{
	struct timeval timeout = { FOREVER_S, 0 };

	if (is_timed(waiter))
		timeout = (struct timeval){ 0, TIMEOUT_MS * 1000 };
	return setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout) == 0 &&
	       setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout) == 0;
}

static bool pair_setup(struct waiter *waiter)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
		return false;
	waiter->fd = pair[0];
	waiter->other = pair[1];
	return timeouts_set(waiter, waiter->fd);
}

static long socket_read(struct waiter *waiter)
{
	char byte;

	return read(waiter->fd, &byte, 1);
}

static long socket_receive(struct waiter *waiter)
{
	char byte;

	return recv(waiter->fd, &byte, 1, 0);
}

static long socket_receive_message(struct waiter *waiter)
{
	char byte;
	struct iovec piece = { &byte, 1 };
	struct msghdr message = { .msg_iov = &piece, .msg_iovlen = 1 };

	return recvmsg(waiter->fd, &message, 0);
}

static void pair_wake(struct waiter *waiter)
{
	if (write(waiter->other, "", 1) < 0)
		abort();
}

static long socket_send(struct waiter *waiter)
{
	static const char block[BLOCK_BYTES];

	while (send(waiter->fd, block, sizeof block, MSG_DONTWAIT) > 0)
		;
	return send(waiter->fd, block, sizeof block, 0);
}

static void pair_drain(struct waiter *waiter)
{
	char block[BLOCK_BYTES];

	while (recv(waiter->other, block, sizeof block, MSG_DONTWAIT) > 0)
		;
}

static bool listener_setup(struct waiter *waiter, int family, int backlog)
{
	struct sockaddr_in loopback = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	sa_family_t unnamed = AF_UNIX;

	waiter->fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	waiter->address_bytes = sizeof waiter->address;
	return (family == AF_INET ? bind(waiter->fd, (struct sockaddr *)&loopback, sizeof loopback) :
		bind(waiter->fd, (struct sockaddr *)&unnamed, sizeof unnamed)) == 0 &&
	       listen(waiter->fd, backlog) == 0 && timeouts_set(waiter, waiter->fd) &&
	       getsockname(waiter->fd, (struct sockaddr *)&waiter->address, &waiter->address_bytes) == 0;
}

static bool acceptor_setup(struct waiter *waiter)
{
	return listener_setup(waiter, AF_UNIX, 100);
}

static long socket_accept(struct waiter *waiter)
{
	int fd = accept(waiter->fd, NULL, NULL);

	if (fd >= 0)
		close(fd);
	return fd;
}

static void acceptor_wake(struct waiter *waiter)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (connect(fd, (struct sockaddr *)&waiter->address, waiter->address_bytes) != 0)
		abort();
	close(fd);
}

/* connect(2) to a listener with a full queue waits. */
static bool connect_setup_family(struct waiter *waiter, int family)
{
	int rc;

	if (!listener_setup(waiter, family, 0))
		return false;
	do {
		int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

		rc = connect(fd, (struct sockaddr *)&waiter->address, waiter->address_bytes);
		if (rc != 0 && errno == EINPROGRESS) {
			struct timeval soon = { 0, 100000 };
			fd_set set;

			FD_ZERO(&set);
			FD_SET(fd, &set);
			rc = select(fd + 1, NULL, &set, NULL, &soon) == 1 ? 0 : -1;
		}
	} while (rc == 0);               /* the sockets stay open */
	return true;
}

static bool connect_setup(struct waiter *waiter)
{
	return connect_setup_family(waiter, AF_UNIX);
}

static bool connect_setup_tcp(struct waiter *waiter)
{
	return connect_setup_family(waiter, AF_INET);
}

static long socket_connect(struct waiter *waiter)
{
	int fd = socket(waiter->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0), error;
	long rc;

	timeouts_set(waiter, fd);
	rc = connect(fd, (struct sockaddr *)&waiter->address, waiter->address_bytes);
	error = errno;
	close(fd);
	errno = error;
	return rc;
}

static void connect_wake(struct waiter *waiter)
{
	int fd = accept(waiter->fd, NULL, NULL);

	if (fd >= 0)
		close(fd);
}

/* ---- the table ---- */

enum { F = 1 << FOREVER, T = 1 << TIMED, S = 1 << SIGNAL };

static const struct call calls[] = {
	{ "epoll_wait", SYS_epoll_wait, F | T | S, 0, epoll_setup, epoll_plain, counter_wake },
	{ "epoll_pwait", SYS_epoll_pwait, F | T | S, 0, epoll_setup, epoll_masked, counter_wake },
	{ "epoll_pwait2", SYS_epoll_pwait2, F | T | S, 0, epoll_setup, epoll_masked_2, counter_wake },
	{ "io_uring_enter", SYS_io_uring_enter, F | T | S, ETIME, ring_setup, ring_wait, ring_wake },
	{ "io_getevents", SYS_io_getevents, F | T | S, 0, aio_setup, aio_wait, aio_wake },
	{ "semop", SYS_semop, F | S, 0, semaphore_setup, semaphore_wait, semaphore_wake },
	{ "semtimedop", SYS_semtimedop, F | T | S, EAGAIN, semaphore_setup, semaphore_wait_timed,
	  semaphore_wake },
	{ "sigtimedwait", SYS_rt_sigtimedwait, F | T | S, EAGAIN, signal_setup, signal_wait_timed,
	  signal_wake },
	{ "sigwaitinfo", SYS_rt_sigtimedwait, F | S, 0, signal_setup, signal_wait, signal_wake },
	{ "read", SYS_read, F | T | S, EAGAIN, pair_setup, socket_read, pair_wake },
	{ "recv", SYS_recvfrom, F | T | S, EAGAIN, pair_setup, socket_receive, pair_wake },
	{ "recvmsg", SYS_recvmsg, F | T | S, EAGAIN, pair_setup, socket_receive_message, pair_wake },
	{ "send", SYS_sendto, F | T | S, EAGAIN, pair_setup, socket_send, pair_drain },
	{ "accept", SYS_accept, F | T | S, EAGAIN, acceptor_setup, socket_accept, acceptor_wake },
	{ "connect", SYS_connect, F | T | S, EAGAIN, connect_setup, socket_connect, connect_wake },
	{ "connect (TCP)", SYS_connect, T | S, EINPROGRESS, connect_setup_tcp, socket_connect, NULL },
};

/* ---- threads ---- */

/* Before it runs a handler, the kernel sets the result of an interrupted call to -EINTR. */
static void handler(int number, siginfo_t *info, void *context)
{
	const ucontext_t *thread = context;
	const unsigned char *at = (const unsigned char *)thread->uc_mcontext.gregs[REG_RIP] - 2;
	int error = errno;

	(void)number;
	(void)info;
	if (thread->uc_mcontext.gregs[REG_RAX] == -EINTR && at[0] == 0x0f && at[1] == 0x05)
		self->handled++;
	else
		self->unhandled++;
	errno = error;
}

/* A connect(2) that was restarted returns EALREADY at its timeout. */
static bool is_timeout(const struct call *call, long rc, int error)
{
	if (call->expected == 0)
		return rc == 0;
	return rc < 0 && (error == call->expected ||
			  (call->expected == EINPROGRESS && error == EALREADY));
}

static void wait_count(struct waiter *waiter, long rc, int error, uint64_t took_ns, int at)
{
	waiter->waits++;
	if (rc < 0 && error == EINTR) {
		waiter->eintr++;
	} else if (is_timed(waiter)) {
		if (!is_timeout(waiter->call, rc, error)) {
			waiter->wrong++;
			waiter->wrong_errno = rc < 0 ? error : 0;
		}
		if (at >= 0 && at == phase && waiter->lengths[at] < WAITS_MAX)
			waiter->lengths_ns[at][waiter->lengths[at]++] = took_ns;
	} else if (rc < 0) {
		waiter->wrong++;
		waiter->wrong_errno = error;
	}
}

static void *waiter_run(void *argument)
{
	struct waiter *waiter = argument;
	sigset_t mask;

	self = waiter;
	sigfillset(&mask);
	if (waiter->call->number != SYS_epoll_pwait && waiter->call->number != SYS_epoll_pwait2)
		sigdelset(&mask, SIGUSR1);
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
	waiter->tid = gettid();
	while (!stopping) {
		int at = phase;
		uint64_t since_ns = now_ns();
		long rc = waiter->call->wait(waiter);

		wait_count(waiter, rc, errno, now_ns() - since_ns, at);
	}
	return NULL;
}

/* Whether the thread waits in its call. */
static bool is_waiting(const struct waiter *waiter)
{
	char path[64], text[128] = "";
	int fd;

	snprintf(path, sizeof path, "/proc/self/task/%d/syscall", waiter->tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	if (read(fd, text, sizeof text - 1) < 0)
		text[0] = '\0';
	close(fd);
	return text[0] >= '0' && text[0] <= '9' && strtol(text, NULL, 10) == waiter->call->number;
}

/* Sends a signal to each waiting thread of the variant SIGNAL that has handled the previous signal.  If that signal
 * interrupted a call, and the thread waits although it has not counted an EINTR, the EINTR was missed.  A signal that
 * came before the call began counts as unhandled. */
static void signals_send(void)
{
	for (size_t i = 0; i < waiter_count; i++) {
		struct waiter *waiter = &waiters[i];

		/* In this order: a thread that waits after its handler has returned has counted the EINTR. */
		if (waiter->variant != SIGNAL || waiter->sent != waiter->handled + waiter->unhandled ||
		    !is_waiting(waiter))
			continue;
		waiter->missed = waiter->handled - waiter->eintr;
		waiter->sent++;
		pthread_kill(waiter->thread, SIGUSR1);
	}
}

static void *signals_run(void *random)
{
	unsigned seed = *(unsigned *)random;

	while (!stopping) {
		pause_us(1000 + (unsigned)rand_r(&seed) % 5000);
		signals_send();
	}
	return NULL;
}

static void *wakes_run(void *random)
{
	unsigned seed = *(unsigned *)random;

	while (!stopping) {
		size_t i = (unsigned)rand_r(&seed) % waiter_count;

		pause_us((unsigned)rand_r(&seed) % 500);
		if (waiters[i].variant != FOREVER || !is_waiting(&waiters[i]))
			continue;
		waiters[i].wakes++;
		waiters[i].call->wake(&waiters[i]);
	}
	return NULL;
}

/* ---- the run ---- */

static void waiters_start(void)
{
	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
		for (int variant = 0; variant < VARIANTS; variant++) {
			struct waiter *waiter = &waiters[waiter_count];

			if ((calls[i].variants & 1u << variant) == 0)
				continue;
			waiter->call = &calls[i];
			waiter->variant = (enum variant)variant;
			if (!calls[i].setup(waiter)) {
				printf("%s: cannot be set up here: %s\n", calls[i].name, strerror(errno));
				break;
			}
			waiter_count++;
			pthread_create(&waiter->thread, NULL, waiter_run, waiter);
		}
	}
}

/* Runs the sampler on this process and waits for its end. */
static int sample(char **argv)
{
	extern char **environ;
	char pid[16], *const arguments[] = { argv[1], "--pid", pid, "-o", argv[2], "--rate", argv[3],
					     "--duration", argv[4], "--capture", "stop", NULL };
	posix_spawnattr_t attributes;
	sigset_t none;
	int status;
	pid_t child;

	snprintf(pid, sizeof pid, "%d", getpid());
	sigemptyset(&none);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
	if (posix_spawn(&child, argv[1], NULL, &attributes, arguments, environ) != 0)
		return -1;
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

static int length_compare(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return a < b ? -1 : a > b;
}

static bool with_timing(void)
{
	const char *timing = getenv("TIMING");

	return timing != NULL && *timing != '\0';
}

static uint64_t shortest_ns(const struct waiter *waiter, int at)
{
	uint64_t shortest_ns = UINT64_MAX;

	for (size_t i = 0; i < waiter->lengths[at]; i++)
		shortest_ns = waiter->lengths_ns[at][i] < shortest_ns ? waiter->lengths_ns[at][i] : shortest_ns;
	return shortest_ns;
}

/* The shortest wait, or with TIMING the median. */
static uint64_t typical_ns(struct waiter *waiter, int at)
{
	size_t count = waiter->lengths[at];

	if (count == 0 || !with_timing())
		return shortest_ns(waiter, at);
	qsort(waiter->lengths_ns[at], count, sizeof **waiter->lengths_ns, length_compare);
	return waiter->lengths_ns[at][count / 2];
}

/* By how much a wait may be too long. */
static uint64_t longer_max_ns(const struct waiter *waiter)
{
	bool by_ticks = waiter->address_bytes != 0 || waiter->call->setup == pair_setup;

	return (with_timing() ? LONGER_MAX_NS : LONGEST_NS) + (by_ticks ? TICK_NS : 0);
}

/* Whether there are enough timed waits in that phase, and the shortest of them is not too long. */
static bool lengths_enough(const struct waiter *waiter, int at)
{
	return !is_timed(waiter) ||
	       (waiter->lengths[at] >= LENGTHS_MIN &&
		(with_timing() || shortest_ns(waiter, at) < TIMEOUT_MS * 1000000 + longer_max_ns(waiter)));
}

static bool waiter_report(struct waiter *waiter)
{
	unsigned due = waiter->variant == SIGNAL ? waiter->handled : 0, eintr = waiter->eintr;
	uint64_t before_ns = typical_ns(waiter, 0), during_ns = typical_ns(waiter, 1);
	bool good = eintr == due && waiter->missed == 0 && waiter->wrong == 0 && waiter->waits >= WAITS_MIN;

	if (is_timed(waiter))
		good = good && lengths_enough(waiter, 0) && lengths_enough(waiter, 1) &&
		       during_ns < before_ns + longer_max_ns(waiter) && before_ns < during_ns + longer_max_ns(waiter);
	printf("%-15s %-8s %7u %7u %7u", waiter->call->name, variant_names[waiter->variant],
	       waiter->waits, due, eintr);
	if (is_timed(waiter))
		printf("   %6.2f %6.2f", (double)before_ns / 1e6, (double)during_ns / 1e6);
	if (waiter->unhandled > 0)
		printf("   %u signals came before the call", waiter->unhandled);
	if (waiter->wrong > 0)
		printf("   %u wrong results (errno %d)", waiter->wrong, waiter->wrong_errno);
	printf("%s\n", good ? "" : "   WRONG");
	return good;
}

static bool waits_enough_alone(const struct waiter *waiter)
{
	return lengths_enough(waiter, 0);
}

static bool waits_enough_sampled(const struct waiter *waiter)
{
	return waiter->waits >= WAITS_MIN && lengths_enough(waiter, 1);
}

/* Whether each signal was handled, and has ended its call. */
static bool signals_returned(const struct waiter *waiter)
{
	return waiter->variant != SIGNAL || (waiter->sent == waiter->handled + waiter->unhandled &&
					     waiter->eintr == waiter->handled);
}

static bool of_all(bool (*is_so)(const struct waiter *waiter))
{
	for (size_t i = 0; i < waiter_count; i++) {
		if (!is_so(&waiters[i]))
			return false;
	}
	return true;
}

/* Waits until all waiters fulfil the condition.  The bound only keeps the test from hanging. */
static void await(bool (*is_so)(const struct waiter *waiter))
{
	for (int tries = 0; tries < AWAIT_MAX_S * 50 && !of_all(is_so); tries++)
		pause_us(20 * 1000);
}

int main(int argc, char **argv)
{
	static unsigned seeds[] = { 1, 2 };
	pthread_t waker, killer;
	struct sigaction action = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO };
	int sampled, runs = 0, status = 0;
	sigset_t mask;

	if (argc != 5) {
		fprintf(stderr, "usage: eintr VIGNETTED PROFILE RATE SECONDS\n");
		return 2;
	}
	waiters = calloc(WAITERS_MAX, sizeof *waiters);
	sigaction(SIGUSR1, &action, NULL);
	sigfillset(&mask);
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
	phase = -1;
	waiters_start();
	pthread_create(&waker, NULL, wakes_run, &seeds[0]);
	pthread_create(&killer, NULL, signals_run, &seeds[1]);
	phase = 0;
	if (with_timing())
		pause_us(999 * 1000);
	await(&waits_enough_alone);
	phase = 1;
	/* One run of the sampler is enough, except on a very slow machine. */
	do
		sampled = sample(argv);
	while (sampled == 0 && !of_all(&waits_enough_sampled) && ++runs < RUNS_MAX);
	phase = -1;
	if (sampled != 0)
		printf("the sampler failed: wait status 0x%x\n", sampled);
	stopping = true;
	pthread_join(waker, NULL);
	pthread_join(killer, NULL);
	pause_us(50 * 1000);
	await(&signals_returned);
	printf("%-15s %-8s %7s %7s %7s   %s timed wait without and with the sampler, ms\n", "call", "variant", "waits",
	       "due", "EINTR", with_timing() ? "median" : "shortest");
	for (size_t i = 0; i < waiter_count; i++) {
		if (!waiter_report(&waiters[i]))
			status = 1;
		if (waiters[i].call->setup == semaphore_setup)
			semctl(waiters[i].fd, 0, IPC_RMID);
	}
	return sampled != 0 ? 1 : status;
}
