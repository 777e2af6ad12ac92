/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The broker sends only ELF files by a module's name, whatever an attacker who controls the reader asks for.  A
 * confined reader can receive from the broker's socket only. */
#include <check.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/system_calls.h"
#include "tests/unit/fixture.h"
#include "tests/unit/suites.h"
#include "vgtool/commands/record_options.h"
#include "vgtool/run/broker.h"
#include "vgtool/run/confine.h"
#include "vgtool/run/landlock.h"
#include "vgtool/run/mapped_files.h"
#include "vgtool/run/server_path.h"
#include "vgtool/run/vignetted_run.h"
#include "vgtool/run/mappings.h"

#if defined __SANITIZE_ADDRESS__
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

/* OPEN_FD: a descriptor that is open in the broker. */
enum { HEADER_BYTES = EI_NIDENT + 2, OPEN_FD = 100 };

static const unsigned char id[4] = { 0xab, 1, 2, 3 };
static char directory[] = "/tmp/check_broker.XXXXXX";
static char offered[] = "/gone/offered", late[] = "/gone/late";
static struct vg_broker_offer offers[2]; /* the second is offered when the file "loaded" exists */
static pid_t broker_pid;
static int reader;              /* the reader's end of the socket */

static void file_make(const char *name, const char *contents)
{
	FILE *file = fopen(name, "w");

	ck_assert_ptr_nonnull(file);
	fputs(contents, file);
	ck_assert_int_eq(fclose(file), 0);
}

/* An ELF header of this type, as far as the broker reads it, and a text. */
static void elf_make(const char *name, unsigned char type, const char *text)
{
	const unsigned char header[HEADER_BYTES] = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, [EI_NIDENT] = type };
	FILE *file = fopen(name, "w");

	ck_assert_ptr_nonnull(file);
	ck_assert_uint_eq(fwrite(header, 1, sizeof header, file), sizeof header);
	fputs(text, file);
	ck_assert_int_eq(fclose(file), 0);
}

static void offers_refresh(void *context, struct vg_broker *broker)
{
	broker->offers = context;
	broker->offer_count = access("loaded", F_OK) == 0 ? 2 : 1;
}

/* Returns a descriptor of a file that is removed then. */
static int removed_open(const char *name)
{
	int fd;

	elf_make(name, ET_EXEC, name);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	unlink(name);
	return fd;
}

/* Writes an index that says what the process can do.  Fails if there is one already: a second call is an error. */
static int index_update(const char *store, const char *path, struct vg_err *err)
{
	int other = open("module", O_RDONLY | O_NONBLOCK), input = open(store, O_RDONLY | O_NONBLOCK);
	int forbidden = socket(AF_UNIX, SOCK_STREAM, 0);
	int fd = openat(AT_FDCWD, path, O_RDWR | O_CREAT | O_EXCL, 0600);

	(void)err;
	if (fd < 0 || strcmp(store, "failing") == 0)
		return -EIO;
	dprintf(fd, "%d %d %d %d", other >= 0, forbidden >= 0, input >= 0, fcntl(OPEN_FD, F_GETFD) >= 0);
	return 0;
}

static mode_t directory_mode = 0700;

static void setup(void)
{
	static const char *const stores[] = { "folder", "text", "failing", "none" };
	static struct vg_indexer indexer = { .stores = stores, .count = 4, .update = index_update };
	struct vg_broker broker = { .refresh = offers_refresh, .context = offers, .indexer = &indexer };
	int ends[2];

	ck_assert_ptr_nonnull(mkdtemp(directory));
	ck_assert_int_eq(chdir(directory) | chmod(directory, directory_mode), 0);
	elf_make("module", ET_DYN, "module");
	elf_make("core", ET_CORE, "memory");
	elf_make("object", ET_REL, "object");
	file_make("text", "no ELF file");
	file_make("short", "\177E");
	ck_assert_int_eq(mkfifo("fifo", 0600) | mkdir("folder", 0700) | mkdir("failing", 0700), 0);
	ck_assert_int_eq(mkdir("vignette", 0700) | mkdir("vignette/.build-id", 0700), 0);
	ck_assert_int_eq(mkdir("vignette/.build-id/ab", 0700), 0);
	elf_make("vignette/.build-id/ab/010203.debug", ET_DYN, "debug");
	setenv("XDG_CACHE_HOME", directory, 1);
	setenv("PATH", "relative:", 1);
	offers[0] = (struct vg_broker_offer){ offered, removed_open("offered") };
	offers[1] = (struct vg_broker_offer){ late, removed_open("late") };
	ck_assert_int_eq(dup2(offers[0].fd, OPEN_FD), OPEN_FD);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	broker_pid = fork();
	if (broker_pid == 0) {
		close(ends[0]);
		vg_broker_serve(&broker, ends[1]);
		_exit(0);
	}
	close(ends[1]);
	reader = ends[0];
}

static void setup_shared(void)
{
	directory_mode = 01777;
	setup();
}

static void teardown(void)
{
	char command[64];
	int status;

	close(reader);
	/* The broker ends when the reader closes the socket. */
	ck_assert_int_eq(waitpid(broker_pid, &status, 0), broker_pid);
	ck_assert_int_eq(status, 0);
	close(OPEN_FD);
	close(offers[0].fd);
	close(offers[1].fd);
	ck_assert_int_eq(chdir("/"), 0);
	snprintf(command, sizeof command, "/bin/rm -r %s", directory);
	ck_assert_int_eq(system(command), 0);
}

static int ask(const char *name, uint32_t *next, char **path)
{
	return vg_broker_ask(reader, 0, name, id, sizeof id, next, path);
}

static void expect_next(const char *name, uint32_t *next, const char *contents, const char *end_of_path)
{
	char *path = NULL, bytes[64] = "";
	int fd = ask(name, next, &path);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_gt(pread(fd, bytes, sizeof bytes - 1, HEADER_BYTES), 0);
	ck_assert_str_eq(bytes, contents);
	ck_assert_str_eq(path + strlen(path) - strlen(end_of_path), end_of_path);
	ck_assert_int_eq(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
	free(path);
	close(fd);
}

/* Only the debug file, whose name comes from the build id. */
static void expect_no_file(const char *name)
{
	uint32_t next = 0;
	char *path;

	expect_next(name, &next, "debug", "/ab/010203.debug");
	ck_assert_int_eq(ask(name, &next, &path), -ENOENT);
}

START_TEST(candidates_in_order)
{
	uint32_t next = 0;
	char *path;

	expect_next("module", &next, "module", "/module");
	expect_next("module", &next, "debug", "/ab/010203.debug");
	ck_assert_int_eq(ask("module", &next, &path), -ENOENT);
	next = 0;
	expect_next("offered", &next, "offered", "/gone/offered");
	next = UINT32_MAX;
	ck_assert_int_eq(ask("module", &next, &path), -ENOENT);
}
END_TEST

/* Another user can put a file with any build id into a working directory that is not private. */
START_TEST(shared_working_directory)
{
	uint32_t next = 0;

	expect_next("module", &next, "debug", "/ab/010203.debug");
	expect_next("module", &next, "module", "/module");
}
END_TEST

/* Stands for the tests that need root. */
START_TEST(skipped)
{
}
END_TEST

START_TEST(file_of_another_user_is_not_sent)
{
	ck_assert_int_eq(chown("module", 65533, 65533), 0);
	expect_no_file("module");
}
END_TEST

static bool file_map(void *file)
{
	return mmap(NULL, HEADER_BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE, open(file, O_RDONLY | O_CLOEXEC), 0) !=
	       MAP_FAILED;
}

/* Starts a process of another user that maps the file. */
static pid_t visitor_start(char *file)
{
	return fixture_other_user(65533, file_map, file);
}

/* Another user can start a process with any id, in a pid namespace of that user's own. */
START_TEST(process_of_another_user)
{
	uint32_t next = 0;
	char *path;
	pid_t pid;
	int fd;

	elf_make("folder/visitor", ET_DYN, "visitor");
	pid = visitor_start("folder/visitor");
	expect_next("visitor", &next, "debug", "/ab/010203.debug");
	fd = vg_broker_ask(reader, (uint32_t)pid, "visitor", id, sizeof id, &next, &path);
	ck_assert_int_ge(fd, 0);
	free(path);
	close(fd);
	ck_assert_int_eq(chown("folder/visitor", 65533, 65533), 0);
	next = 0;
	expect_next("visitor", &next, "debug", "/ab/010203.debug");
	ck_assert_int_eq(vg_broker_ask(reader, (uint32_t)pid, "visitor", id, sizeof id, &next, &path), -ENOENT);
	kill(pid, SIGKILL);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}
END_TEST

static bool offers_visitor(const struct vg_mappings *mappings)
{
	for (size_t i = 0; i < mappings->offers.count; i++) {
		if (strstr(mappings->offers.items[i].path, "/visitor") != NULL)
			return true;
	}
	return false;
}

/* Offers serve the modules of all processes.  A process that has ended, and the same one again, change nothing. */
START_TEST(processes_of_several_users)
{
	pid_t pid, ended = fork();

	if (ended == 0)
		_exit(0);
	ck_assert_int_eq(waitpid(ended, NULL, 0), ended);
	elf_make("folder/visitor", ET_DYN, "visitor");
	ck_assert_int_eq(chown("folder/visitor", 65533, 65533), 0);
	pid = visitor_start("folder/visitor");
	for (int visitor_is_first = 0; visitor_is_first <= 1; visitor_is_first++) {
		struct vg_mappings mappings = { 0 };

		vg_mappings_read(&mappings, visitor_is_first ? pid : getpid());
		vg_mappings_read(&mappings, ended);
		ck_assert_int_eq(offers_visitor(&mappings), visitor_is_first);
		vg_mappings_read(&mappings, visitor_is_first ? pid : getpid());
		ck_assert_int_eq(offers_visitor(&mappings), visitor_is_first);
		vg_mappings_read(&mappings, visitor_is_first ? getpid() : pid);
		ck_assert(!offers_visitor(&mappings));
		vg_mappings_free(&mappings);
	}
	kill(pid, SIGKILL);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}
END_TEST

START_TEST(cache_of_this_user)
{
	char *path;

	ck_assert_int_eq(vg_cache_directory(&path), 0);
	ck_assert_ptr_nonnull(path);
	free(path);
}
END_TEST

/* sudo(8) may keep another user's HOME. */
START_TEST(cache_of_another_user_is_not_used)
{
	char *path;

	ck_assert_int_eq(mkdir("home", 0755) | chown("home", 65533, 65533), 0);
	setenv("XDG_CACHE_HOME", "relative", 1);
	/* Root's files below do not help: the other user can replace them. */
	ck_assert_int_eq(mkdir("home/.cache", 0755) | mkdir("home/.cache/vignette", 0755) | mkdir("mine", 0755) |
			 symlink(directory, "mine/.cache") | lchown("mine/.cache", 65533, 65533), 0);
	for (int i = 0; i < 3; i++) {
		static const char *const homes[] = { "home", "home/new", "mine" };
		char home[sizeof directory + 10];

		snprintf(home, sizeof home, "%s/%s", directory, homes[i]);
		setenv("HOME", home, 1);
		ck_assert_int_eq(vg_cache_directory(&path), 0);
		ck_assert_ptr_null(path);
	}
	setenv("HOME", "/new", 1);
	ck_assert_int_eq(vg_cache_directory(&path), 0);
	ck_assert_str_eq(path, "/new/.cache/vignette");
	free(path);
}
END_TEST

static bool has_cache(const char *home)
{
	char *path;

	setenv("XDG_CACHE_HOME", "relative", 1);
	setenv("HOME", home, 1);
	ck_assert_int_eq(vg_cache_directory(&path), 0);
	free(path);
	return path != NULL;
}

/* The test's directory is like /tmp: another user could make what is missing in it. */
START_TEST(cache_in_a_shared_directory)
{
	char home[sizeof directory + 10];

	snprintf(home, sizeof home, "%s/new", directory);
	ck_assert(!has_cache(home));
	ck_assert(has_cache(directory));
	ck_assert_int_eq(access(".cache", F_OK), 0);
	ck_assert_int_eq(chmod(directory, 0777), 0);
	ck_assert(!has_cache(directory));
}
END_TEST

START_TEST(offers_that_change)
{
	uint32_t next = 0;

	expect_no_file("late");
	file_make("loaded", "");
	expect_next("late", &next, "late", "/gone/late");
}
END_TEST

START_TEST(files_that_are_not_sent)
{
	expect_no_file("text");
	expect_no_file("short");
	expect_no_file("core");
	expect_no_file("object");
	expect_no_file("fifo");
	expect_no_file("folder");
	expect_no_file("none");
}
END_TEST

static int raw_ask(const void *message, size_t bytes)
{
	struct vg_broker_reply reply;

	ck_assert_int_eq(send(reader, message, bytes, 0), (ssize_t)bytes);
	ck_assert_int_eq(recv(reader, &reply, sizeof reply, 0), (ssize_t)sizeof reply);
	return reply.rc;
}

START_TEST(hostile_requests)
{
	static const char *const names[] = { "", ".", "..", "/etc/passwd", "../module", "folder/module", "module/" };
	struct vg_broker_request good = { .build_id_bytes = 4, .name = "module" }, bad;
	static char large[8192];

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		bad = good;
		snprintf(bad.name, sizeof bad.name, "%s", names[i]);
		ck_assert_int_eq(raw_ask(&bad, sizeof bad), -EINVAL);
	}
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		bad = good;
		bad.kind = VG_BROKER_SYMBOLS;
		snprintf(bad.name, sizeof bad.name, "%s", names[i]);
		ck_assert_int_eq(raw_ask(&bad, sizeof bad), -EINVAL);
	}
	bad = good;
	bad.kind = VG_BROKER_INDEX + 1;
	ck_assert_int_eq(raw_ask(&bad, sizeof bad), -EINVAL);
	bad = good;
	memset(bad.name, 'x', sizeof bad.name);
	ck_assert_int_eq(raw_ask(&bad, sizeof bad), -EINVAL);
	for (uint32_t bytes = 0; bytes < 2; bytes++) {
		bad = good;
		bad.build_id_bytes = bytes == 0 ? 1 : VG_BUILD_ID_MAX_BYTES + 1;
		ck_assert_int_eq(raw_ask(&bad, sizeof bad), -EINVAL);
	}
	ck_assert_int_eq(raw_ask(&good, sizeof good - 1), -EINVAL);
	memcpy(large, &good, sizeof good);
	ck_assert_int_eq(raw_ask(large, sizeof large), -EINVAL);
	ck_assert_int_eq(raw_ask(&good, sizeof good), 0);
}
END_TEST

static long landlock_version(void)
{
	return syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
}

START_TEST(indexes_of_stores)
{
	char text[16] = "", expected[16];
	int fd;

	/* A confined process makes the index.  It can read the store only, and has no descriptor of the broker. */
	snprintf(expected, sizeof expected, "%d %d 1 0", SANITIZED || landlock_version() < 1, SANITIZED);
	for (int i = 0; i < 2; i++) {
		fd = vg_broker_ask_index(reader, 0);
		ck_assert_int_ge(fd, 0);
		ck_assert_int_gt(pread(fd, text, sizeof text - 1, 0), 0);
		ck_assert_str_eq(text, expected);
		ck_assert_int_eq(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
		close(fd);
	}
	for (uint32_t store = 1; store < 6; store++)
		ck_assert_int_eq(vg_broker_ask_index(reader, store), -ENOENT);
	ck_assert_int_eq(vg_broker_ask_index(reader, UINT32_MAX), -ENOENT);
}
END_TEST

/* A broker without servers asks nobody. */
START_TEST(no_servers)
{
	char *path;

	ck_assert_int_eq(vg_broker_ask_symbols(reader, "module", id, sizeof id), -ENOENT);
	ck_assert_int_eq(vg_broker_ask_debug_file(reader, id, sizeof id, &path), -ENOENT);
	ck_assert_int_eq(vg_broker_ask_binary(reader, id, sizeof id, &path), -ENOENT);
}
END_TEST

/* A broker that disassembles nothing discards the file. */
START_TEST(no_disassembly)
{
	struct vg_broker_request request = { .kind = VG_BROKER_DISASSEMBLY, .build_id_bytes = 4, .name = "module" };
	int file = open("module", O_RDONLY | O_CLOEXEC);

	ck_assert_int_eq(vg_broker_ask_disassembly(reader, file, 0, 1), -ENOENT);
	ck_assert_int_eq(raw_ask(&request, sizeof request), -ENOENT);
	close(file);
}
END_TEST

/* Only a regular file that cannot be written is disassembled. */
START_TEST(files_that_are_not_disassembled)
{
	struct vg_objdump objdump = { .path = "/bin/true" };
	struct vg_broker broker = { .objdump = &objdump };
	struct vg_broker_request request = { .kind = VG_BROKER_DISASSEMBLY, .build_id_bytes = 4, .name = "module" };
	int ends[2], files[] = { open("fifo", O_RDONLY | O_NONBLOCK | O_CLOEXEC), open("folder", O_RDONLY | O_CLOEXEC),
				 open("module", O_RDWR | O_CLOEXEC), open("module", O_PATH | O_CLOEXEC) };
	int output, good = open("module", O_RDONLY | O_CLOEXEC);
	pid_t child;
	char byte;

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	child = fork();
	if (child == 0) {
		close(ends[0]);
		vg_broker_serve(&broker, ends[1]);
		_exit(0);
	}
	close(ends[1]);
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		ck_assert_int_ge(files[i], 0);
		ck_assert_int_eq(vg_broker_ask_disassembly(ends[0], files[i], 0, 1), -EINVAL);
		close(files[i]);
	}
	ck_assert_int_eq(send(ends[0], &request, sizeof request, 0), (ssize_t)sizeof request);
	ck_assert_int_gt(recv(ends[0], &(struct vg_broker_reply){ 0 }, sizeof(struct vg_broker_reply), 0), 0);
	output = vg_broker_ask_disassembly(ends[0], good, 0, 1);
	ck_assert_int_ge(output, 0);
	ck_assert_int_eq(read(output, &byte, 1), 0);
	close(output);
	close(good);
	close(ends[0]);
	ck_assert_int_eq(waitpid(child, NULL, 0), child);
}
END_TEST

/* What a name of a module may do to URLs and paths. */
START_TEST(names_on_servers)
{
	static const struct { const char *name, *encoded; } names[] = {
		{ "libc.so.6", "libc.so.6" }, { "a b+c", "a%20b%2Bc" }, { "..%2f", "..%252f" },
		{ "?x=1#y", "%3Fx%3D1%23y" }, { "\xc3\xa9\n\x7f", "%C3%A9%0A%7F" }, { "a\\b@c:d", "a%5Cb%40c%3Ad" },
	};
	static struct vg_download_request request;
	static char name[VG_BROKER_NAME_MAX_BYTES + 2];
	char expected[300];

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		ck_assert_int_eq(vg_server_symbols_request(&request, "http://h/p", "/c", names[i].name, id, sizeof id,
							   i == 1), 0);
		snprintf(expected, sizeof expected, "http://h/p/%s/030201AB0000000000000000000000000/%s.sym%s",
			 names[i].encoded, names[i].encoded, i == 1 ? ".gz" : "");
		ck_assert_str_eq(request.url, expected);
		ck_assert_str_eq(request.path, "/c/modules/030201AB0000000000000000000000000/symbols.sym");
	}
	memset(name, ' ', sizeof name - 2);
	ck_assert_int_eq(vg_server_symbols_request(&request, "http://h", "/c", name, id, sizeof id, false), 0);
	ck_assert_uint_eq(strlen(request.url), strlen("http://h///.sym") + 33 + 2 * 3 * VG_BROKER_NAME_MAX_BYTES);
	memset(name, ' ', sizeof name - 1);
	ck_assert_int_eq(vg_server_symbols_request(&request, "http://h", "/c", name, id, sizeof id, false),
			 -ENAMETOOLONG);
	ck_assert_int_eq(vg_server_file_request(&request, VG_SERVER_DEBUG_FILE, "http://h", id, sizeof id), 0);
	ck_assert_str_eq(request.url, "http://h/buildid/ab010203/debuginfo");
	ck_assert_int_eq(vg_server_file_request(&request, VG_SERVER_BINARY, "http://h", id, sizeof id), 0);
	ck_assert_str_eq(request.url, "http://h/buildid/ab010203/executable");
}
END_TEST

START_TEST(urls_of_servers)
{
	static const struct { const char *url; bool is_good; } urls[] = {
		{ "http://host", true }, { "https://host:8080/path/", true }, { "https://me:secret@[::1]/x", true },
		{ "http://", false }, { "http:///path", false }, { "https://host/?query", false },
		{ "https://host/#part", false }, { "http://host/a b", false }, { "http://host/\xc3\xa9", false },
		{ "http://host/\n", false }, { "ftp://host/", false }, { "file:///etc", false }, { "", false },
	};
	char shown[VG_SERVER_URL_MAX_BYTES + 1], long_url[VG_SERVER_URL_MAX_BYTES + 2];

	for (size_t i = 0; i < sizeof urls / sizeof *urls; i++)
		ck_assert_int_eq(vg_server_url_check(urls[i].url, NULL), urls[i].is_good ? 0 : -EINVAL);
	memset(long_url, 'x', sizeof long_url);
	memcpy(long_url, "http://", 7);
	long_url[sizeof long_url - 1] = '\0';
	ck_assert_int_eq(vg_server_url_check(long_url, NULL), -EINVAL);
	vg_server_url_show("https://me:se@cret@host/a@b", shown);
	ck_assert_str_eq(shown, "https://host/a@b");
	vg_server_url_show("http://host", shown);
	ck_assert_str_eq(shown, "http://host");
}
END_TEST

START_TEST(requests_are_bounded)
{
	/* As many as one wait for the other process should serve, to save time. */
	enum { AT_ONCE = 50 };
	struct vg_broker_request request = { .next = UINT32_MAX, .build_id_bytes = 4, .name = "module" };
	struct vg_broker_reply reply;

	for (size_t i = 0; i < VG_BROKER_REQUESTS_MAX; i += AT_ONCE) {
		for (int sent = 0; sent < AT_ONCE; sent++)
			often_assert_eq(send(reader, &request, sizeof request, 0), sizeof request);
		for (int received = 0; received < AT_ONCE; received++) {
			often_assert_eq(recv(reader, &reply, sizeof reply, 0), sizeof reply);
			often_assert(reply.rc == -ENOENT);
		}
	}
	request.next = 0;
	ck_assert_int_eq(raw_ask(&request, sizeof request), -ENOENT);
}
END_TEST

/* Returns the errno of sending to the socket in a confined process. */
static int confined_send(int fd, const struct vg_confinement *confinement)
{
	int status;
	pid_t child = fork();

	if (child == 0) {
		struct iovec vector = { "", 1 };
		struct msghdr message = { .msg_iov = &vector, .msg_iovlen = 1 };

		if (vg_reader_confine(confinement, NULL) != 0)
			_exit(255);
		_exit(sendmsg(fd, &message, 0) >= 0 ? 0 : errno);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* Returns the errno of receiving from the socket in a confined process. */
static int confined_receive(int fd, int broker)
{
	struct vg_broker_request request = { .build_id_bytes = 4, .name = "module" };
	int status;
	pid_t child = fork();

	if (child == 0) {
		struct vg_broker_reply reply;
		struct iovec vector = { &reply, sizeof reply };
		struct msghdr message = { .msg_iov = &vector, .msg_iovlen = 1 };
		struct vg_err err;

		if (write(fd, &request, sizeof request) < 0 ||
		    vg_reader_confine(&(struct vg_confinement){ .broker = broker }, &err) != 0)
			_exit(255);
		_exit(recvmsg(fd, &message, 0) >= 0 ? 0 : errno);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFEXITED(status));
	return WEXITSTATUS(status);
}

START_TEST(confined_reader)
{
	ck_assert_int_eq(confined_receive(reader, reader), 0);
	ck_assert_int_eq(confined_receive(reader, reader + 1), SANITIZED ? 0 : EPERM);
	ck_assert_int_eq(confined_receive(reader, 0), SANITIZED ? 0 : EPERM);
	ck_assert_int_eq(confined_send(reader, &(struct vg_confinement){ .broker = reader, .sends = true }), 0);
	ck_assert_int_eq(confined_send(reader, &(struct vg_confinement){ .broker = reader }), SANITIZED ? 0 : EPERM);
	ck_assert_int_eq(confined_send(reader, &(struct vg_confinement){ .broker = reader + 1, .sends = true }),
			 SANITIZED ? 0 : EPERM);
}
END_TEST

/* ---- what vgtool record reads from vignetted and from the process ---- */

START_TEST(status_lines)
{
	struct vg_vignetted_status status = { 0 };

	vg_vignetted_line(&status, "begin 42");
	vg_vignetted_line(&status, "progress 1000 99 7");
	ck_assert_int_eq(status.pid, 42);
	ck_assert_uint_eq(status.elapsed_ms, 1000);
	ck_assert_uint_eq(status.cpu_ms, 7);
	vg_vignetted_line(&status, "end 1 2 3");
	ck_assert(!status.ended);
	vg_vignetted_line(&status, "end 2000 198 4 5000 1 2 the process ended");
	ck_assert(status.ended);
	ck_assert_uint_eq(status.samples, 198);
	ck_assert_uint_eq(status.threads, 4);
	ck_assert_uint_eq(status.skipped, 2);
	ck_assert_str_eq(status.reason, "the process ended");
	vg_vignetted_line(&status, "no program 13");
	ck_assert_int_eq(status.exec_errno, EACCES);
	vg_vignetted_line(&status, "later versions may say more");
	ck_assert_str_eq(status.reason, "the process ended");
	vg_vignetted_line(&status, "vignetted: process 1: another tracer");
	vg_vignetted_line(&status, "vignetted: more");
	ck_assert_str_eq(status.message, "process 1: another tracer");
}
END_TEST

START_TEST(mapped_files)
{
	struct vg_mappings mappings = { 0 };
	bool libc = false;
	size_t count;

	vg_mappings_read(&mappings, getpid());
	count = mappings.offers.count;
	for (size_t i = 0; i < count; i++)
		libc = libc || strstr(mappings.offers.items[i].path, "/libc.so") != NULL;
	ck_assert(libc);
	vg_mappings_read(&mappings, getpid());
	ck_assert_uint_eq(mappings.offers.count, count);
	vg_mappings_free(&mappings);
}
END_TEST

/* Opens a file of the working directory as a mapped file, by its path only. */
static bool path_opens(const char *name, ino_t other_inode)
{
	char path[128];
	struct vg_mapped_file mapped = { .pid = getpid(), .path = path };
	struct stat status;
	int fd;

	ck_assert_int_eq(stat(name, &status), 0);
	mapped.identity = (struct vg_file_identity){ status.st_dev, status.st_ino + other_inode };
	snprintf(path, sizeof path, "%s/%s", directory, name);
	fd = vg_mapped_file_open(&mapped);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* The kernel's path has no symbolic link, so a link in it was made later, and can lead out of a container. */
START_TEST(paths_of_mapped_files)
{
	elf_make("folder/library", ET_DYN, "library");
	ck_assert_int_eq(symlink("folder", "linked"), 0);
	ck_assert_int_eq(symlink("library", "folder/linked"), 0);
	ck_assert(path_opens("folder/library", 0));
	ck_assert(!path_opens("folder/library", 1));
	ck_assert(!path_opens("linked/library", 0));
	ck_assert(!path_opens("folder/linked", 0));
	ck_assert(!path_opens("text", 0));
	ck_assert(!path_opens("fifo", 0));
}
END_TEST

static int options_parse(struct vg_record_options *options, const char *line, struct vg_err *err)
{
	static char text[256];
	static char *argv[24];
	int argc = 1;

	memset(argv, 0, sizeof argv);
	argv[0] = "vgtool record";
	snprintf(text, sizeof text, "%s", line);
	for (char *word = strtok(text, " "); word != NULL; word = strtok(NULL, " "))
		argv[argc++] = word;
	optind = 0;                      /* makes glibc's getopt_long() begin anew */
	return vg_record_options_parse(options, argc, argv, err);
}

START_TEST(options_of_three_programs)
{
	struct vg_record_options options = VG_RECORD_OPTIONS_DEFAULT;
	struct vg_err err;

	ck_assert_int_eq(options_parse(&options, "--rate 99 --counter page-faults --thread-names -o a.vgp --tree --min 3 "
				       "--time 1.. -s store -- ls --tree", &err), 0);
	ck_assert_uint_eq(options.forwarded.count, 3);
	ck_assert_str_eq(options.forwarded.items[0], "--rate=99");
	ck_assert_str_eq(options.forwarded.items[1], "--counter=page-faults");
	ck_assert_str_eq(options.forwarded.items[2], "--thread-names");
	ck_assert_str_eq(options.out, "a.vgp");
	ck_assert_str_eq(options.report.view, "--tree");
	ck_assert_uint_eq(options.report.tree.least_ppm, 30000);
	ck_assert_uint_eq(options.report.filter.begin_ns, 1000000000);
	ck_assert_ptr_null(options.report.counter);
	ck_assert_uint_eq(options.symbolize.stores.count, 1);
	ck_assert_str_eq(options.command[0], "ls");
	ck_assert_str_eq(options.command[1], "--tree");
	ck_assert_ptr_null(options.command[2]);
	vg_record_options_free(&options);
}
END_TEST

/* A wrong option is reported before the recording begins. */
START_TEST(wrong_options_of_record)
{
	static const struct { const char *line, *message; } wrong[] = {
		{ "", "nothing to record; use --pid PID, or a command after --" },
		{ "--pid 3 -- x", "both --pid and a command; use one of them" },
		{ "--pid x", "--pid x: must be the id of a process, or several ids with commas between them" },
		{ "--pid 3 --thread 0", "--thread 0: must be the id (1 to 2147483647) or the name of a thread" },
		{ "--pid 3 --thread -5", "--thread -5: must be the id (1 to 2147483647) or the name of a thread" },
		{ "--pid 3 --thread 99999999999",
		  "--thread 99999999999: must be the id (1 to 2147483647) or the name of a thread" },
		{ "--pid 3 --thread 4 --thread x", "--thread: use it only once, with an id or with a name" },
		{ "--pid 3 --thread x --thread 4", "--thread: use it only once, with an id or with a name" },
		{ "--view -o x.html -- x", "-o x.html: must be the name of the profile; --view writes OUT.html, too" },
		{ "--rate", "--rate: needs a value, HZ" },
		{ "--output= -- x", "--output: the value is empty; must be the name of a file" },
		{ "--by size -- x", "--by size: must be function, line, module, file, thread, interval or process" },
		{ "--tree --inverted -- x", "--inverted: cannot be combined with --tree" },
		{ "--tree --by thread -- x", "--tree: --by thread has no tree" },
		{ "--on-cpu --off-cpu -- x", "--on-cpu, --off-cpu: use only one of them" },
		{ "--time 3 -- x", "--time 3: must be a range of seconds: A..B, A.. or ..B" },
		{ "--match a --match b -- x", "--match: use it only once" },
		{ "--limit 0 -- x", "--limit 0: must be 1 or more rows" },
		{ "--weight none -- x", "--weight none: must be wall or cpu" },
	};

	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		struct vg_record_options options = VG_RECORD_OPTIONS_DEFAULT;
		struct vg_err err;

		ck_assert_int_eq(options_parse(&options, wrong[i].line, &err), -EINVAL);
		ck_assert_str_eq(err.text, wrong[i].message);
		vg_record_options_free(&options);
	}
}
END_TEST

Suite *broker_suite(void)
{
	Suite *suite = suite_create("broker");
	TCase *cases = tcase_create("broker"), *others = tcase_create("record"), *shared = tcase_create("shared");
	TCase *other_users = tcase_create(geteuid() == 0 ? "other_users" : "other_users # SKIP not root");

	tcase_add_checked_fixture(cases, setup, teardown);
	tcase_add_test(cases, candidates_in_order);
	tcase_add_test(cases, cache_of_this_user);
	tcase_add_test(cases, offers_that_change);
	tcase_add_test(cases, files_that_are_not_sent);
	tcase_add_test(cases, hostile_requests);
	tcase_add_test(cases, indexes_of_stores);
	tcase_add_test(cases, no_servers);
	tcase_add_test(cases, no_disassembly);
	tcase_add_test(cases, files_that_are_not_disassembled);
	tcase_add_test(cases, names_on_servers);
	tcase_add_test(cases, urls_of_servers);
	tcase_add_test(cases, requests_are_bounded);
	tcase_add_test(cases, confined_reader);
	tcase_add_test(cases, paths_of_mapped_files);
	suite_add_tcase(suite, cases);
	tcase_add_checked_fixture(shared, setup_shared, teardown);
	tcase_add_test(shared, shared_working_directory);
	tcase_add_test(shared, cache_in_a_shared_directory);
	suite_add_tcase(suite, shared);
	if (geteuid() == 0) {
		tcase_add_checked_fixture(other_users, setup_shared, teardown);
		tcase_add_test(other_users, file_of_another_user_is_not_sent);
		tcase_add_test(other_users, process_of_another_user);
		tcase_add_test(other_users, processes_of_several_users);
		tcase_add_test(other_users, cache_of_another_user_is_not_used);
	} else {
		tcase_add_test(other_users, skipped);
	}
	suite_add_tcase(suite, other_users);
	tcase_add_test(others, status_lines);
	tcase_add_test(others, mapped_files);
	tcase_add_test(others, options_of_three_programs);
	tcase_add_test(others, wrong_options_of_record);
	suite_add_tcase(suite, others);
	return suite;
}
