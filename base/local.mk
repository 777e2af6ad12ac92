# base: libc only.
EXTRA_LIBRARIES += base/libbase.a
base_libbase_a_SOURCES = \
	base/array.h \
	base/build_id.c base/build_id.h \
	base/clock.h \
	base/counters.c base/counters.h \
	base/descriptor.c base/descriptor.h \
	base/err.c base/err.h \
	base/hash.c base/hash.h \
	base/infile.c base/infile.h \
	base/intern.c base/intern.h \
	base/number.c base/number.h \
	base/option_table.c base/option_table.h \
	base/outfile.c base/outfile.h \
	base/output_path.c base/output_path.h \
	base/pauses.c base/pauses.h \
	base/print.c base/print.h \
	base/process_file.c base/process_file.h \
	base/sorted.c base/sorted.h \
	base/sum.h \
	base/system_calls.h \
	base/utf8.c base/utf8.h
