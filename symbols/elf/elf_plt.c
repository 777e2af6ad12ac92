/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "symbols/elf/elf_symbols.h"

#include "base/sorted.h"

/*
 * Finds the stubs of the procedure linkage table (PLT) and their names.  A stub jumps through a
 * slot of the global offset table (GOT), and the slot's relocation names the function.  A stub is
 * found by decoding the one or two instructions that load the slot.  The other instructions of a
 * stub depend on the linker.
 */

#define SLOTS_MAX 4000000       /* limit: a damaged file may claim any number */

struct slot {
	uint64_t address;
	const char *name;       /* borrowed from libelf */
};

struct plt {
	struct vg_elf_symbols *elf_symbols;
	VG_ARRAY(struct slot) slots;            /* sorted by address */
	VG_ARRAY(const char *) by_relocation;   /* names, by index of the relocation in .rela.plt */
	unsigned machine;
	bool is_64;
	uint64_t got;           /* address of the GOT, to which i386 stubs add an offset; or 0 */

	/* the section that is being read */
	const unsigned char *code;
	size_t code_bytes;
	uint64_t address;
};

/* One stub: where it is in the section, and the name of its function. */
struct stub {
	size_t start, bytes;    /* offset and size in the section */
	const char *name;
};

static const char *slot_name(const struct plt *plt, uint64_t address)
{
	const struct slot *slots = plt->slots.items;
	size_t at = vg_count_below(slots, plt->slots.count, address, address);

	return at < plt->slots.count && slots[at].address == address ? slots[at].name : NULL;
}

static const char *symbol_name(const struct vg_elf_image *image, size_t table, size_t number)
{
	Elf_Scn *section = elf_getscn(image->elf, table);
	GElf_Shdr header;
	GElf_Sym symbol;
	Elf_Data *data;
	const char *name;

	if (number == 0 || section == NULL || gelf_getshdr(section, &header) == NULL ||
	    header.sh_type != SHT_DYNSYM)
		return NULL;
	data = elf_getdata(section, NULL);
	if (data == NULL || gelf_getsym(data, (int)number, &symbol) == NULL)
		return NULL;
	name = elf_strptr(image->elf, header.sh_link, symbol.st_name);
	return name != NULL && *name != '\0' ? name : NULL;
}

static int relocations_read(struct plt *plt, Elf_Scn *section, const GElf_Shdr *header,
			    bool is_plt_section)
{
	const struct vg_elf_image *image = plt->elf_symbols->image;
	Elf_Data *data = elf_getdata(section, NULL);

	for (int i = 0; data != NULL && plt->slots.count < SLOTS_MAX; i++) {
		struct slot slot;
		GElf_Rela rela;
		GElf_Rel rel;

		if (header->sh_type == SHT_RELA) {
			if (gelf_getrela(data, i, &rela) == NULL)
				break;
			rel = (GElf_Rel){ rela.r_offset, rela.r_info };
		} else if (gelf_getrel(data, i, &rel) == NULL) {
			break;
		}
		slot.address = rel.r_offset;
		slot.name = symbol_name(image, header->sh_link, GELF_R_SYM(rel.r_info));
		if ((is_plt_section && vg_array_push(&plt->by_relocation, &slot.name) != 0) ||
		    (slot.name != NULL && vg_array_push(&plt->slots, &slot) != 0))
			return -ENOMEM;
	}
	return 0;
}

static int slots_read(struct plt *plt)
{
	Elf *elf = plt->elf_symbols->image->elf;
	Elf_Scn *section = NULL;
	size_t names;
	int rc = 0;

	if (elf_getshdrstrndx(elf, &names) != 0)
		return 0;
	while (rc == 0 && (section = elf_nextscn(elf, section)) != NULL) {
		const char *name;
		GElf_Shdr header;

		if (gelf_getshdr(section, &header) == NULL || !(header.sh_flags & SHF_ALLOC))
			continue;
		name = elf_strptr(elf, names, header.sh_name);
		if (header.sh_type == SHT_REL || header.sh_type == SHT_RELA)
			rc = relocations_read(plt, section, &header, name != NULL &&
					      (strcmp(name, ".rela.plt") == 0 ||
					       strcmp(name, ".rel.plt") == 0));
		else if (name != NULL && (strcmp(name, ".got.plt") == 0 ||
					  (plt->got == 0 && strcmp(name, ".got") == 0)))
			plt->got = header.sh_addr;
	}
	vg_sort_by(plt->slots.items, plt->slots.count, address);
	return rc;
}

static uint32_t uint32_le(const unsigned char *at)
{
	return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

/* The jump is at offset 0 to 5: endbr64 or a bnd prefix may precede it.  A push and another jump
 * may follow. */
static const char *x86_stub(const struct plt *plt, size_t start, size_t bytes)
{
	const unsigned char *code = plt->code + start;

	for (size_t at = 0; at + 6 <= bytes && at <= 5; at++) {
		uint32_t operand = uint32_le(code + at + 2);
		uint64_t slot;

		if (code[at] != 0xff || (code[at + 1] != 0x25 && code[at + 1] != 0xa3))
			continue;
		if (code[at + 1] == 0xa3)       /* i386: jmp *operand(%ebx) */
			slot = (uint32_t)(plt->got + operand);
		else if (plt->is_64)            /* jmp *operand(%rip) */
			slot = plt->address + start + at + 6 + (uint64_t)(int32_t)operand;
		else
			slot = operand;
		return slot_name(plt, slot);
	}
	/* If the jump is in .plt.sec, the stub in .plt is endbr64 and a push of the relocation's
	 * index. */
	if (plt->is_64 && bytes >= 9 && memcmp(code, "\xf3\x0f\x1e\xfa\x68", 5) == 0 &&
	    uint32_le(code + 5) < plt->by_relocation.count)
		return plt->by_relocation.items[uint32_le(code + 5)];
	return NULL;
}

/* The stub has adrp x16, page; ldr x17, [x16, offset].  bti c may precede them. */
static bool aarch64_stub(const struct plt *plt, size_t at, struct stub *stub)
{
	uint32_t adrp = uint32_le(plt->code + at), ldr;
	uint64_t pages;

	if (at + 8 > plt->code_bytes || (adrp & 0x9f00001f) != 0x90000010)
		return false;
	ldr = uint32_le(plt->code + at + 4);
	if ((ldr & 0xffc003ff) != 0xf9400211)
		return false;
	pages = (uint64_t)((int64_t)((uint64_t)((adrp >> 5 & 0x7ffff) << 2 | (adrp >> 29 & 3)) << 43) >> 31);
	stub->name = slot_name(plt, ((plt->address + at) & ~(uint64_t)0xfff) + pages +
			       (uint64_t)(ldr >> 10 & 0xfff) * 8);
	stub->start = at;
	stub->bytes = 16;
	if (at >= 4 && uint32_le(plt->code + at - 4) == 0xd503245f) {
		stub->start = at - 4;
		stub->bytes = 24;
	}
	return stub->name != NULL;
}

/* The stub has auipc t3, high; ld t3, low(t3). */
static bool riscv_stub(const struct plt *plt, size_t at, struct stub *stub)
{
	uint32_t auipc = uint32_le(plt->code + at), load;
	uint64_t slot;

	if (at + 8 > plt->code_bytes || (auipc & 0xfff) != 0xe17)
		return false;
	load = uint32_le(plt->code + at + 4);
	if ((load & 0xfffff) != (plt->is_64 ? 0xe3e03 : 0xe2e03))
		return false;
	slot = plt->address + at + (uint64_t)(int64_t)(int32_t)(auipc & 0xfffff000) +
	       (uint64_t)(int64_t)((int32_t)load >> 20);
	*stub = (struct stub){ at, 16, slot_name(plt, plt->is_64 ? slot : (uint32_t)slot) };
	return stub->name != NULL;
}

static bool stub_find(const struct plt *plt, size_t at, size_t stride, struct stub *stub)
{
	switch (plt->machine) {
	case EM_X86_64:
	case EM_386:
		*stub = (struct stub){ at, stride, x86_stub(plt, at, stride) };
		return stub->name != NULL;
	case EM_AARCH64:
		return aarch64_stub(plt, at, stub);
	case EM_RISCV:
		return riscv_stub(plt, at, stub);
	}
	return false;
}

static int section_read(struct plt *plt, const char *name)
{
	bool is_x86 = plt->machine == EM_X86_64 || plt->machine == EM_386;
	GElf_Shdr header;
	Elf_Scn *section = vg_elf_section(plt->elf_symbols->image, name, &header);
	Elf_Data *data = section != NULL ? elf_rawdata(section, NULL) : NULL;
	size_t stride = is_x86 ? 16 : 4;
	int rc = 0;

	if (data == NULL || data->d_buf == NULL || !(header.sh_flags & SHF_EXECINSTR))
		return 0;
	/* An entry of .plt.got without endbr64 is a jump and 2 bytes of padding. */
	if (is_x86 && header.sh_entsize == 8)
		stride = 8;
	plt->code = data->d_buf;
	plt->code_bytes = data->d_size;
	plt->address = header.sh_addr;
	for (size_t at = 0; at + stride <= plt->code_bytes && rc == 0; at += stride) {
		struct stub stub;

		if (stub_find(plt, at, stride, &stub))
			rc = vg_elf_symbols_add(plt->elf_symbols, plt->address + stub.start, stub.bytes,
						stub.name, "@plt");
	}
	return rc;
}

int vg_elf_symbols_read_plt(struct vg_elf_symbols *elf_symbols)
{
	static const char *const sections[] = { ".plt.sec", ".plt", ".plt.got" };
	struct plt plt = { .elf_symbols = elf_symbols };
	GElf_Ehdr header;
	int rc;

	if (gelf_getehdr(elf_symbols->image->elf, &header) == NULL)
		return 0;
	plt.machine = header.e_machine;
	plt.is_64 = header.e_ident[EI_CLASS] == ELFCLASS64;
	rc = slots_read(&plt);
	for (size_t i = 0; i < sizeof sections / sizeof *sections && rc == 0; i++)
		rc = section_read(&plt, sections[i]);
	vg_array_free(&plt.slots);
	vg_array_free(&plt.by_relocation);
	return rc;
}
