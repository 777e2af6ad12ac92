# profile: the model, the format.
EXTRA_LIBRARIES += profile/libprofile.a
profile_libs = profile/libprofile.a base/libbase.a $(MSGPACK_LIBS) $(ZLIB_LIBS)
profile_libprofile_a_SOURCES = \
	profile/chunk.c profile/chunk.h \
	profile/cursor.c profile/cursor.h \
	profile/damage.c profile/damage.h \
	profile/merge.c profile/merge.h \
	profile/merging.h \
	profile/merging_samples.c \
	profile/merging_tables.c \
	profile/model.c profile/model.h \
	profile/packing.h \
	profile/profile_symbols.c profile/profile_symbols.h \
	profile/reader.c profile/reader.h \
	profile/reading.h \
	profile/reading_events.c \
	profile/reading_fields.c profile/reading_fields.h \
	profile/reading_modules.c profile/reading_modules.h \
	profile/reading_session.c \
	profile/reading_stacks.c \
	profile/reading_symbols.c \
	profile/record.h \
	profile/stream.c profile/stream.h \
	profile/writer.c profile/writer.h
