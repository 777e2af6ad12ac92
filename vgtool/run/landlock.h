/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef VG_VGTOOL_LANDLOCK_H
#define VG_VGTOOL_LANDLOCK_H

#if __has_include(<linux/landlock.h>)
#include <linux/landlock.h>
#else
/* What vgtool uses of landlock(7), for the kernel's headers before 5.13. */
#include <stdint.h>

struct landlock_path_beneath_attr {
	uint64_t allowed_access;
	int32_t parent_fd;
} __attribute__((packed));
enum { LANDLOCK_RULE_PATH_BENEATH = 1 };
#define LANDLOCK_CREATE_RULESET_VERSION (1U << 0)
#define LANDLOCK_ACCESS_FS_EXECUTE (UINT64_C(1) << 0)
#define LANDLOCK_ACCESS_FS_WRITE_FILE (UINT64_C(1) << 1)
#define LANDLOCK_ACCESS_FS_READ_FILE (UINT64_C(1) << 2)
#define LANDLOCK_ACCESS_FS_READ_DIR (UINT64_C(1) << 3)
#define LANDLOCK_ACCESS_FS_REMOVE_DIR (UINT64_C(1) << 4)
#define LANDLOCK_ACCESS_FS_REMOVE_FILE (UINT64_C(1) << 5)
#define LANDLOCK_ACCESS_FS_MAKE_DIR (UINT64_C(1) << 7)
#define LANDLOCK_ACCESS_FS_MAKE_REG (UINT64_C(1) << 8)
#define LANDLOCK_ACCESS_FS_MAKE_SYM (UINT64_C(1) << 12)
#endif

#endif
