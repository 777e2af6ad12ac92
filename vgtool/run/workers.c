/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vgtool/run/workers.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/print.h"

/* Longer output of a job is truncated.  A job of vgtool symbols prints a few hundred bytes. */
enum { OUTPUT_MAX_BYTES = 1 << 20 };

enum job_state {
	JOB_WAITS,
	JOB_RUNS,
	JOB_ENDED,              /* its output waits for the output of jobs with lower numbers */
	JOB_DONE,
};

struct stream {
	int fd;                 /* of memfd_create(2); the child writes to it; -1: closed */
	char *text;             /* owned; the output, after stream_collect(); NULL: none */
	size_t bytes;           /* length of text */
};

struct job {
	enum job_state state;
	pid_t pid;
	int status;             /* of waitpid(2) */
	struct stream out, err;
};

struct pool {
	const struct vg_workers *workers;
	struct job *jobs;       /* owned; by job number */
	size_t started;         /* number of jobs that were started, in workers->order */
	size_t printed;         /* number of jobs whose output was printed, in the order of the job numbers */
	unsigned running;       /* number of jobs in JOB_RUNS */
};

unsigned vg_workers_cpus(void)
{
	cpu_set_t set;
	int count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;

	return count > 0 ? (unsigned)count : 1;
}

/* The number of the job that is started at this place of the order. */
static size_t number_at(const struct pool *pool, size_t place)
{
	return pool->workers->order != NULL ? pool->workers->order[place] : place;
}

static int stream_open(struct stream *stream)
{
	stream->fd = vg_descriptor_raise(memfd_create("output", MFD_CLOEXEC));
	return stream->fd >= 0 ? 0 : -errno;
}

static void stream_close(struct stream *stream)
{
	if (stream->fd >= 0)
		close(stream->fd);
	stream->fd = -1;
}

/* Reads the child's output and closes the descriptor: an ended job can wait long for its turn, and
 * descriptors are limited. */
static void stream_collect(struct stream *stream)
{
	off_t length = lseek(stream->fd, 0, SEEK_END);

	if (length > OUTPUT_MAX_BYTES)
		length = OUTPUT_MAX_BYTES;
	stream->text = length > 0 ? malloc((size_t)length) : NULL;
	if (stream->text != NULL) {
		ssize_t got = pread(stream->fd, stream->text, (size_t)length, 0);

		stream->bytes = got > 0 ? (size_t)got : 0;
	}
	stream_close(stream);
}

static void stream_print(struct stream *stream, FILE *to)
{
	/* An untrusted file may have taken control of the child, so its output is escaped. */
	if (stream->bytes > 0)
		vg_print_lines(to, stream->text, stream->bytes);
	free(stream->text);
	stream->text = NULL;
	stream->bytes = 0;
}

/* PR_SET_PDEATHSIG kills the child when its parent exits: the child must not write to a store after that. */
static void child_limit(const struct vg_workers *workers, pid_t parent)
{
	/* At the soft limit the kernel sends SIGXCPU, which job_result() recognizes.  At the hard limit it sends
	 * SIGKILL. */
	struct rlimit cpu = { workers->cpu_seconds_max, workers->cpu_seconds_max + 5 };
	struct rlimit core = { 0, 0 };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(255);
	setrlimit(RLIMIT_CPU, &cpu);
	setrlimit(RLIMIT_CORE, &core);
}

/* An untrusted file may take control of the child.  So the child gets no terminal, and no descriptors for the
 * output of other jobs. */
static int child_descriptors(const struct pool *pool, size_t number)
{
	if (isatty(STDIN_FILENO)) {
		int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);

		if (nothing < 0 || dup2(nothing, STDIN_FILENO) < 0)
			return -errno;
	}
	if (dup2(pool->jobs[number].out.fd, STDOUT_FILENO) < 0 ||
	    dup2(pool->jobs[number].err.fd, STDERR_FILENO) < 0)
		return -errno;
	for (size_t place = 0; place < pool->started; place++) {
		struct job *job = &pool->jobs[number_at(pool, place)];

		stream_close(&job->out);
		stream_close(&job->err);
	}
	return 0;
}

static void __attribute__((noreturn)) child_run(const struct pool *pool, size_t number,
						pid_t parent)
{
	int status;

	child_limit(pool->workers, parent);
	if (child_descriptors(pool, number) != 0)
		_exit(255);
	status = pool->workers->run(pool->workers->context, number);
	fflush(stdout);
	fflush(stderr);
	_exit(status);
}

static int job_start(struct pool *pool, size_t number)
{
	struct job *job = &pool->jobs[number];
	pid_t parent = getpid();
	int rc = stream_open(&job->out);

	if (rc == 0)
		rc = stream_open(&job->err);
	if (rc != 0)
		return rc;
	/* fork(2) copies the buffers of the streams, so output that is not flushed would be printed twice. */
	fflush(stdout);
	fflush(stderr);
	job->pid = fork();
	if (job->pid < 0)
		return -errno;
	if (job->pid == 0)
		child_run(pool, number, parent);
	job->state = JOB_RUNS;
	pool->running++;
	return 0;
}

/* Waits until any of the jobs ends. */
static int job_wait(struct pool *pool)
{
	int status;
	pid_t pid;

	do {
		pid = waitpid(-1, &status, 0);
	} while (pid < 0 && errno == EINTR);
	if (pid < 0)
		return -errno;
	for (size_t place = 0; place < pool->started; place++) {
		struct job *job = &pool->jobs[number_at(pool, place)];

		if (job->state != JOB_RUNS || job->pid != pid)
			continue;
		job->state = JOB_ENDED;
		job->status = status;
		pool->running--;
		stream_collect(&job->out);
		stream_collect(&job->err);
		break;
	}
	return 0;
}

static int job_result(const struct pool *pool, const struct job *job, struct vg_err *err)
{
	err->text[0] = '\0';
	if (WIFEXITED(job->status))
		return WEXITSTATUS(job->status);
	if (WTERMSIG(job->status) == SIGXCPU)
		vg_err_set(err, -1, "reading the file took more than %u s of CPU time",
			   pool->workers->cpu_seconds_max);
	else if (WTERMSIG(job->status) == SIGKILL)
		vg_err_set(err, -1, "the process that read the file was killed, perhaps for lack of memory");
	else
		vg_err_set(err, -1, "the process that read the file crashed: %s",
			   strsignal(WTERMSIG(job->status)));
	return -1;
}

static void jobs_print(struct pool *pool)
{
	for (; pool->printed < pool->workers->count &&
	     pool->jobs[pool->printed].state == JOB_ENDED; pool->printed++) {
		struct job *job = &pool->jobs[pool->printed];
		struct vg_err err;
		int status = job_result(pool, job, &err);

		stream_print(&job->out, stdout);
		fflush(stdout);
		stream_print(&job->err, stderr);
		job->state = JOB_DONE;
		pool->workers->done(pool->workers->context, pool->printed, status, &err);
	}
}

static void jobs_free(struct pool *pool)
{
	for (size_t i = 0; pool->jobs != NULL && i < pool->workers->count; i++) {
		struct job *job = &pool->jobs[i];

		if (job->state == JOB_RUNS) {
			kill(job->pid, SIGKILL);
			waitpid(job->pid, NULL, 0);
		}
		stream_close(&job->out);
		stream_close(&job->err);
		free(job->out.text);
		free(job->err.text);
	}
	free(pool->jobs);
}

int vg_workers_run(const struct vg_workers *workers, struct vg_err *err)
{
	struct pool pool = { .workers = workers };
	int rc = 0;

	pool.jobs = calloc(workers->count + 1, sizeof *pool.jobs);
	if (pool.jobs == NULL)
		return vg_err_sys(err, -ENOMEM, "cannot run %zu jobs", workers->count);
	for (size_t i = 0; i < workers->count; i++)
		pool.jobs[i].out.fd = pool.jobs[i].err.fd = -1;
	while (rc == 0 && pool.printed < workers->count) {
		if (pool.started < workers->count && pool.running < workers->jobs_max)
			rc = job_start(&pool, number_at(&pool, pool.started++));
		else
			rc = job_wait(&pool);
		jobs_print(&pool);
	}
	if (rc != 0)
		vg_err_sys(err, rc, "cannot run a child process");
	jobs_free(&pool);
	return rc;
}
