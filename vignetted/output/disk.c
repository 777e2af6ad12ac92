/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/output/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const uint64_t EVERY_NS = VG_DISK_EVERY_S * UINT64_C(1000000000);

void vg_disk_open(struct vg_disk *disk, int fd, uint64_t now_ns)
{
	struct stat status;

	*disk = (struct vg_disk){ .fd = -1, .due_ns = now_ns + EVERY_NS };
	/* A pipe or a device has nothing to sync. */
	if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
		return;
	disk->fd = fd;
}

/* Not earlier than it is needed: to take a queue down costs the kernel milliseconds. */
static bool queue_open(struct vg_disk *disk)
{
	aio_context_t context = 0;

	if (disk->context == 0 && syscall(SYS_io_setup, 1, &context) == 0)
		disk->context = context;
	return disk->context != 0;
}

/* What came of the sync that is under way, if that is known. */
static void disk_reap(struct vg_disk *disk)
{
	struct timespec left = { 0 };
	struct io_event event;

	if (!disk->busy || syscall(SYS_io_getevents, disk->context, 1, 1, &event, &left) != 1)
		return;
	disk->busy = false;
	disk->syncs += event.res == 0;
	disk->failures += event.res != 0;
}

static void writing_begin(struct vg_disk *disk)
{
	if (sync_file_range(disk->fd, 0, 0, SYNC_FILE_RANGE_WRITE) == 0)
		disk->syncs++;
	else
		disk->failures++;
}

static void disk_sync(struct vg_disk *disk, uint64_t file_bytes)
{
	struct iocb request = { .aio_lio_opcode = IOCB_CMD_FDSYNC, .aio_fildes = (uint32_t)disk->fd };
	struct iocb *requests[] = { &request };

	disk->covered_bytes = file_bytes;
	if (queue_open(disk) && syscall(SYS_io_submit, disk->context, 1, requests) == 1) {
		disk->busy = true;
		return;
	}
	/* No such kernel, or too many queues on this machine. */
	writing_begin(disk);
}

void vg_disk_tick(struct vg_disk *disk, uint64_t file_bytes, uint64_t now_ns)
{
	if (disk->fd < 0 || now_ns < disk->due_ns)
		return;
	disk_reap(disk);
	disk->due_ns = now_ns + EVERY_NS;
	if (!disk->busy && file_bytes != disk->covered_bytes)
		disk_sync(disk, file_bytes);
}

void vg_disk_last(struct vg_disk *disk, uint64_t file_bytes)
{
	if (disk->fd < 0)
		return;
	disk_reap(disk);
	if (!disk->busy && file_bytes != disk->covered_bytes)
		writing_begin(disk);
}

void vg_disk_close(struct vg_disk *disk)
{
	/* That would wait for what is under way; the end of the process does it too. */
	if (disk->context != 0 && !disk->busy)
		syscall(SYS_io_destroy, disk->context);
	disk->context = 0;
	disk->fd = -1;
}
