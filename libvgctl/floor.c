/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Lets libvgctl.so run with glibc 2.28, although it was built with a later glibc.
 *
 * The linker's --wrap makes the library's objects call the functions below.  These call the versions that the functions
 * had in glibc 2.28; later versions of glibc still have them.  glibc 2.33 and 2.34 gave new versions to the functions
 * that moved to libc.so.6 from libpthread.so.0 and libc_nonshared.a.  So libvgctl.so needs libpthread.so.0, too, which
 * is empty since 2.34.  The headers of glibc 2.38 replace strtol(3) by a function that also reads binary numbers.
 *
 * libvgctl.a contains none of this: undefined symbols with versions could not be linked with libc.a.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>

/* Declares old_NAME, a symbol of glibc of that version. */
#define OLD(type, name, symbol, version, parameters) \
	type old_##name parameters; \
	__asm__(".symver old_" #name "," #symbol "@GLIBC_" #version);

#define WRAP(type, name, parameters, call) \
	type __wrap_##name parameters; \
	type __wrap_##name parameters { return call; }

#define OLD_AND_WRAP(name, parameters, arguments) \
	OLD(int, name, name, 2.2.5, parameters) \
	WRAP(int, name, parameters, old_##name arguments)

OLD_AND_WRAP(pthread_key_create, (pthread_key_t *key, void (*destroy)(void *)), (key, destroy))
OLD_AND_WRAP(pthread_key_delete, (pthread_key_t key), (key))
OLD_AND_WRAP(pthread_mutex_trylock, (pthread_mutex_t *mutex), (mutex))
OLD_AND_WRAP(pthread_setspecific, (pthread_key_t key, const void *value), (key, value))
OLD_AND_WRAP(pthread_sigmask, (int how, const sigset_t *set, sigset_t *before), (how, set, before))

/* The first argument is the version of struct stat: 1 is the kernel's. */
OLD(int, stat, __xstat, 2.2.5, (int, const char *, struct stat *))
OLD(int, lstat, __lxstat, 2.2.5, (int, const char *, struct stat *))
OLD(int, fstat, __fxstat, 2.2.5, (int, int, struct stat *))
OLD(int, fstatat, __fxstatat, 2.4, (int, int, const char *, struct stat *, int))
WRAP(int, stat, (const char *path, struct stat *status), old_stat(1, path, status))
WRAP(int, lstat, (const char *path, struct stat *status), old_lstat(1, path, status))
WRAP(int, fstat, (int fd, struct stat *status), old_fstat(1, fd, status))
WRAP(int, fstatat, (int fd, const char *path, struct stat *status, int flags),
     old_fstatat(1, fd, path, status, flags))

OLD(long, strtol, strtol, 2.2.5, (const char *, char **, int))
OLD(unsigned long long, strtoull, strtoull, 2.2.5, (const char *, char **, int))
WRAP(long, __isoc23_strtol, (const char *text, char **end, int base), old_strtol(text, end, base))
WRAP(unsigned long long, __isoc23_strtoull, (const char *text, char **end, int base), old_strtoull(text, end, base))
