# symbols: symbol tables, from binaries and from .sym files.
EXTRA_LIBRARIES += symbols/libsymbols.a
symbols_libs = symbols/libsymbols.a base/libbase.a $(DW_LIBS) $(IBERTY_LIBS) $(ZLIB_LIBS) $(LZMA_LIBS) $(ZSTD_LIBS) \
	$(DEFLATE_LIBS)
symbols_libsymbols_a_SOURCES = \
	symbols/binary.c symbols/binary.h \
	symbols/breakpad/breakpad.h \
	symbols/breakpad/breakpad_cursor.h \
	symbols/breakpad/breakpad_function.c symbols/breakpad/breakpad_function.h \
	symbols/breakpad/breakpad_inlines.c symbols/breakpad/breakpad_inlines.h \
	symbols/breakpad/breakpad_linker_symbols.c symbols/breakpad/breakpad_linker_symbols.h \
	symbols/breakpad/breakpad_missing_file.c symbols/breakpad/breakpad_missing_file.h \
	symbols/breakpad/breakpad_name.c symbols/breakpad/breakpad_name.h \
	symbols/breakpad/breakpad_pairs.c symbols/breakpad/breakpad_pairs.h \
	symbols/breakpad/breakpad_read.c \
	symbols/breakpad/breakpad_reader.c symbols/breakpad/breakpad_reader.h \
	symbols/breakpad/breakpad_record.c symbols/breakpad/breakpad_record.h \
	symbols/breakpad/breakpad_slots.c symbols/breakpad/breakpad_slots.h \
	symbols/breakpad/breakpad_symbolize.c \
	symbols/breakpad/breakpad_wanted.c symbols/breakpad/breakpad_wanted.h \
	symbols/breakpad/breakpad_write.c \
	symbols/cfi/cfi.c symbols/cfi/cfi.h \
	symbols/cfi/cfi_address.c symbols/cfi/cfi_address.h \
	symbols/cfi/cfi_columns.c symbols/cfi/cfi_columns.h \
	symbols/cfi/cfi_expression.c symbols/cfi/cfi_expression.h \
	symbols/cfi/cfi_program.c symbols/cfi/cfi_program.h \
	symbols/cfi/cfi_reader.h \
	symbols/cfi/cfi_registers.c symbols/cfi/cfi_registers.h \
	symbols/cfi/cfi_rule.c symbols/cfi/cfi_rule.h \
	symbols/dwarf/dwarf.c symbols/dwarf/dwarf.h \
	symbols/dwarf/dwarf_companion.c symbols/dwarf/dwarf_companion.h \
	symbols/dwarf/dwarf_dwo.c symbols/dwarf/dwarf_dwo.h \
	symbols/dwarf/dwarf_emit.c symbols/dwarf/dwarf_emit.h \
	symbols/dwarf/dwarf_file.c symbols/dwarf/dwarf_file.h \
	symbols/dwarf/dwarf_language.c symbols/dwarf/dwarf_language.h \
	symbols/dwarf/dwarf_line.c symbols/dwarf/dwarf_line.h \
	symbols/dwarf/dwarf_name.c symbols/dwarf/dwarf_name.h \
	symbols/dwarf/dwarf_package.c symbols/dwarf/dwarf_package.h \
	symbols/dwarf/dwarf_package_unit.c symbols/dwarf/dwarf_package_unit.h \
	symbols/dwarf/dwarf_reader.h \
	symbols/dwarf/dwarf_split.c symbols/dwarf/dwarf_split.h \
	symbols/dwarf/dwarf_unused_rows.c symbols/dwarf/dwarf_unused_rows.h \
	symbols/dwarf/dwarf_walk.c symbols/dwarf/dwarf_walk.h \
	symbols/elf/elf_bytes.h \
	symbols/elf/elf_decompress.c \
	symbols/elf/elf_gaps.c \
	symbols/elf/elf_identity.c \
	symbols/elf/elf_image.c symbols/elf/elf_image.h \
	symbols/elf/elf_minidebug.c \
	symbols/elf/elf_plt.c \
	symbols/elf/elf_separate.c symbols/elf/elf_separate.h \
	symbols/elf/elf_symbols.h \
	symbols/elf/elf_symtab.c \
	symbols/elf/search.h \
	symbols/store/store.h \
	symbols/store/store_add.c \
	symbols/store/store_binary.c symbols/store/store_binary.h \
	symbols/store/store_files.c symbols/store/store_files.h \
	symbols/store/store_find.c \
	symbols/store/store_index.c symbols/store/store_index.h \
	symbols/store/store_list.c symbols/store/store_list.h \
	symbols/store/store_path.c symbols/store/store_path.h \
	symbols/store/store_prune.c symbols/store/store_prune.h \
	symbols/table/covered_ranges.c symbols/table/covered_ranges.h \
	symbols/table/debug_id.c symbols/table/debug_id.h \
	symbols/table/demangle.c symbols/table/demangle.h \
	symbols/table/lookup.c \
	symbols/table/missing_file.c symbols/table/missing_file.h \
	symbols/table/multiple.c \
	symbols/table/symbolization.c symbols/table/symbolization.h \
	symbols/table/table.c symbols/table/table.h \
	symbols/table/work_limit.c symbols/table/work_limit.h
