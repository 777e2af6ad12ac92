/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "vignetted/unwind/regs.h"

#include <asm/perf_regs.h>
#include <elf.h>
#include <errno.h>
#include <libunwind.h>
#include <stddef.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>

const uint32_t vg_dwarf_fp = 6, vg_dwarf_sp = 7, vg_dwarf_last = 16;
const uint32_t vg_regs_red_zone_bytes = 128;

/* Offsets in the kernel's struct ucontext.  The general registers are behind uc_flags, uc_link and uc_stack, in the
 * order of struct sigcontext_64 (asm/sigcontext.h). */
enum { REGISTERS_AT = 40 };
const struct vg_signal_frame vg_regs_signal_frame = {
	.fp = REGISTERS_AT + 10 * 8, .sp = REGISTERS_AT + 15 * 8, .pc = REGISTERS_AT + 16 * 8,
	.trap = REGISTERS_AT + 20 * 8, .fault_address = REGISTERS_AT + 22 * 8, .page_fault = 14,
};

/* The kernel maps nothing in the first page (vm.mmap_min_addr), unless root allows it.  With five-level page tables
 * user space ends at address 2^56. */
enum { FIRST_PAGE_BYTES = 4096, USER_SPACE_BITS = 56 };

bool vg_regs_is_never_code(uint64_t address)
{
	return address < FIRST_PAGE_BYTES || address >> USER_SPACE_BITS != 0;
}

int vg_regs_read(struct vg_regs *regs, pid_t tid)
{
	struct iovec iov = { &regs->raw, sizeof regs->raw };

	if (ptrace(PTRACE_GETREGSET, tid, NT_PRSTATUS, &iov) != 0)
		return -errno;
	/* A 32-bit program has fewer registers, and different ones. */
	return iov.iov_len == sizeof regs->raw ? 0 : -ENOTSUP;
}

uint64_t vg_regs_pc(const struct vg_regs *regs)
{
	return regs->raw.rip;
}

uint64_t vg_regs_sp(const struct vg_regs *regs)
{
	return regs->raw.rsp;
}

uint64_t vg_regs_fp(const struct vg_regs *regs)
{
	return regs->raw.rbp;
}

uint64_t vg_regs_thread_block(const struct vg_regs *regs)
{
	return regs->raw.fs_base;
}

void vg_regs_set(struct vg_regs *regs, uint64_t pc, uint64_t sp, const uint64_t arguments[6])
{
	struct user_regs_struct *raw = &regs->raw;

	raw->rip = pc;
	raw->rsp = sp;
	if (arguments == NULL)
		return;
	raw->rdi = arguments[0];
	raw->rsi = arguments[1];
	raw->rdx = arguments[2];
	raw->r10 = arguments[3];
	raw->r8 = arguments[4];
	raw->r9 = arguments[5];
}

bool vg_regs_is_argument(int number)
{
	switch (number) {
	case UNW_X86_64_RDI: case UNW_X86_64_RSI: case UNW_X86_64_RDX:
	case UNW_X86_64_R10: case UNW_X86_64_R8: case UNW_X86_64_R9:
		return true;
	}
	return false;
}

int64_t vg_regs_syscall(const struct vg_regs *regs)
{
	return (int64_t)regs->raw.orig_rax;
}

#define AT(name) offsetof(struct user_regs_struct, name)
int vg_regs_by_dwarf_number(const struct vg_regs *regs, int number, uint64_t *value)
{
	/* System V ABI, AMD64 supplement, 3.6.2: in the order of the DWARF numbers, from 0 on. */
	static const size_t places[] = {
		AT(rax), AT(rdx), AT(rcx), AT(rbx), AT(rsi), AT(rdi), AT(rbp), AT(rsp), AT(r8), AT(r9), AT(r10),
		AT(r11), AT(r12), AT(r13), AT(r14), AT(r15), AT(rip),
	};

	if (number < 0 || (size_t)number >= sizeof places / sizeof *places)
		return -EINVAL;
	memcpy(value, (const char *)&regs->raw + places[number], sizeof *value);
	return 0;
}
#undef AT

bool vg_regs_in_syscall(const struct vg_regs *regs)
{
	long result = (long)regs->raw.rax;

	/* -EINTR, or one of the kernel's internal codes ERESTARTSYS (512) to ERESTART_RESTARTBLOCK (516). */
	return (long)regs->raw.orig_rax >= 0 &&
	       (result == -EINTR || (result <= -512 && result >= -516));
}

bool vg_regs_in_new_thread(const struct vg_regs *regs)
{
	long call = (long)regs->raw.orig_rax;

	return regs->raw.rax == 0 && (call == SYS_clone || call == SYS_clone3);
}

#define BIT(name) (UINT64_C(1) << PERF_REG_X86_##name)
const uint64_t vg_regs_perf_mask = BIT(AX) | BIT(BX) | BIT(CX) | BIT(DX) | BIT(SI) | BIT(DI) | BIT(BP) |
				   BIT(SP) | BIT(IP) | BIT(R8) | BIT(R9) | BIT(R10) | BIT(R11) |
				   BIT(R12) | BIT(R13) | BIT(R14) | BIT(R15);

void vg_regs_from_perf(struct vg_regs *regs, const uint64_t *values)
{
	struct user_regs_struct *raw = &regs->raw;
	unsigned long long *const places[] = { &raw->rax, &raw->rbx, &raw->rcx, &raw->rdx, &raw->rsi,
		&raw->rdi, &raw->rbp, &raw->rsp, &raw->rip, &raw->r8, &raw->r9, &raw->r10, &raw->r11,
		&raw->r12, &raw->r13, &raw->r14, &raw->r15 };

	for (size_t i = 0; i < sizeof places / sizeof *places; i++)
		*places[i] = values[i];
	raw->orig_rax = (unsigned long long)-1;
}
