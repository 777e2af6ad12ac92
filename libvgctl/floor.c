/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Lets libvgctl.so run with glibc 2.28, although it was built with a later glibc.
 *
 * glibc 2.33 and 2.34 gave these functions new symbol versions when they moved from libpthread.so.0 and from
 * libc_nonshared.a to libc.so.6.  The old versions still exist and do the same.  --wrap of the linker makes the
 * library's objects call the functions below.  With an earlier glibc, the old versions are in libpthread.so.0, so
 * libvgctl.so needs this library, too.  In later versions of glibc it is empty.
 *
 * libvgctl.a contains none of this, because libtool defines PIC only for the shared library: undefined symbols with
 * versions could not be linked with libc.a.
 */
#ifdef PIC
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>

/* Declares `symbol` as version `version` of a function of glibc. */
#define OLD(symbol, version, name, parameters) \
	int old_##name parameters; \
	__asm__(".symver old_" #name "," #symbol "@GLIBC_" #version);

#define WRAP(name, parameters, call) \
	int __wrap_##name parameters; \
	int __wrap_##name parameters { return call; }

#define OLD_AND_WRAP(name, parameters, arguments) \
	OLD(name, 2.2.5, name, parameters) \
	WRAP(name, parameters, old_##name arguments)

OLD_AND_WRAP(pthread_key_create, (pthread_key_t *key, void (*destroy)(void *)), (key, destroy))
OLD_AND_WRAP(pthread_key_delete, (pthread_key_t key), (key))
OLD_AND_WRAP(pthread_mutex_trylock, (pthread_mutex_t *mutex), (mutex))
OLD_AND_WRAP(pthread_setspecific, (pthread_key_t key, const void *value), (key, value))
OLD_AND_WRAP(pthread_sigmask, (int how, const sigset_t *set, sigset_t *before), (how, set, before))

/* The first argument is the version of struct stat: 1 is the kernel's. */
OLD(__xstat, 2.2.5, stat, (int, const char *, struct stat *))
OLD(__lxstat, 2.2.5, lstat, (int, const char *, struct stat *))
OLD(__fxstat, 2.2.5, fstat, (int, int, struct stat *))
OLD(__fxstatat, 2.4, fstatat, (int, int, const char *, struct stat *, int))
WRAP(stat, (const char *path, struct stat *status), old_stat(1, path, status))
WRAP(lstat, (const char *path, struct stat *status), old_lstat(1, path, status))
WRAP(fstat, (int fd, struct stat *status), old_fstat(1, fd, status))
WRAP(fstatat, (int fd, const char *path, struct stat *status, int flags), old_fstatat(1, fd, path, status, flags))
#endif
