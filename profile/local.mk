# profile: the model, the format.
EXTRA_LIBRARIES += profile/libprofile.a
profile_libs = profile/libprofile.a base/libbase.a $(MSGPACK_LIBS) $(ZLIB_LIBS)
profile_libprofile_a_SOURCES = \
	profile/chunk.c profile/chunk.h \
	profile/cursor.c profile/cursor.h \
	profile/merge.c profile/merge.h \
	profile/model.c profile/model.h \
	profile/reader.c profile/reader.h \
	profile/reading.c profile/reading.h \
	profile/record.h \
	profile/stream.c profile/stream.h \
	profile/writer.c profile/writer.h
