/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/output/disk.h"

#include <fcntl.h>
#include <linux/aio_abi.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const uint64_t PERIOD_NS = VG_DISK_SYNC_PERIOD_S * UINT64_C(1000000000);

void vg_disk_open(struct vg_disk *disk, int fd, uint64_t now_ns)
{
	struct stat status;

	*disk = (struct vg_disk){ .fd = -1, .due_ns = now_ns + PERIOD_NS };
	/* Only regular files are synced. */
	if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
		return;
	disk->fd = fd;
}

/* Counts the result of the sync that is in progress, if it has finished. */
static void disk_reap(struct vg_disk *disk)
{
	struct timespec left = { 0 };
	struct io_event event;

	if (!disk->syncing || syscall(SYS_io_getevents, disk->context, 1, 1, &event, &left) != 1)
		return;
	disk->syncing = false;
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
	aio_context_t context = 0;

	disk->synced_bytes = file_bytes;
	/* The queue is opened only now: io_destroy(2) takes milliseconds, and a short recording needs no queue. */
	if (disk->context == 0 && syscall(SYS_io_setup, 1, &context) == 0)
		disk->context = context;
	if (disk->context != 0 && syscall(SYS_io_submit, disk->context, 1, requests) == 1) {
		disk->syncing = true;
		return;
	}
	/* There is no queue if the kernel is too old, or if the machine has too many queues (fs.aio-max-nr). */
	writing_begin(disk);
}

void vg_disk_sync_if_due(struct vg_disk *disk, uint64_t file_bytes, uint64_t now_ns)
{
	if (disk->fd < 0 || now_ns < disk->due_ns)
		return;
	disk_reap(disk);
	disk->due_ns = now_ns + PERIOD_NS;
	if (!disk->syncing && file_bytes != disk->synced_bytes)
		disk_sync(disk, file_bytes);
}

void vg_disk_write_begin(struct vg_disk *disk, uint64_t file_bytes)
{
	if (disk->fd < 0)
		return;
	disk_reap(disk);
	if (!disk->syncing && file_bytes != disk->synced_bytes)
		writing_begin(disk);
}

void vg_disk_close(struct vg_disk *disk)
{
	/* io_destroy(2) would wait for a sync in progress.  The kernel destroys the queue when we exit. */
	if (disk->context != 0 && !disk->syncing)
		syscall(SYS_io_destroy, disk->context);
	disk->context = 0;
	disk->fd = -1;
}
