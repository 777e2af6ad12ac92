# libvgctl: what applications link.  Libtool makes libvgctl.so and libvgctl.a, and nothing else of this build.
lib_LTLIBRARIES = libvgctl/libvgctl.la
include_HEADERS = libvgctl/vgctl.h
pkgconfigdir = $(libdir)/pkgconfig
pkgconfig_DATA = libvgctl/vgctl.pc
# The messages between libvgctl, vgctl and vignetted.
EXTRA_LIBRARIES += libvgctl/libwire.a
libvgctl_libwire_a_SOURCES = \
	libvgctl/channel.c libvgctl/channel.h \
	libvgctl/ring.h \
	libvgctl/wire.h
libvgctl_libvgctl_la_SOURCES = \
	libvgctl/dump.c \
	libvgctl/events.c \
	libvgctl/failure.c libvgctl/failure.h \
	libvgctl/file_id.c libvgctl/file_id.h \
	libvgctl/helper.c libvgctl/helper.h \
	libvgctl/host_ring.c libvgctl/host_ring.h \
	libvgctl/lanes.c libvgctl/lanes.h \
	libvgctl/listen.c libvgctl/listen.h \
	libvgctl/options.c libvgctl/options.h \
	libvgctl/outfile_wait.c libvgctl/outfile_wait.h \
	libvgctl/process.c libvgctl/process.h \
	libvgctl/producer.h \
	libvgctl/session.c libvgctl/session.h \
	libvgctl/session_list.c libvgctl/session_list.h \
	libvgctl/spawn.c libvgctl/spawn.h \
	libvgctl/stalls.c libvgctl/stalls.h \
	libvgctl/vgctl.c libvgctl/vgctl.h
# What libvgctl uses of other folders is compiled into it, for any address, and without exporting it: a plugin can link
# with libvgctl.a, and then exports only the functions of vgctl.h.
libvgctl_libvgctl_la_SOURCES += libvgctl/channel.c \
	base/counters.c base/descriptor.c base/err.c base/hash.c base/intern.c base/outfile.c base/output_path.c base/utf8.c
libvgctl_libvgctl_la_CFLAGS = $(AM_CFLAGS) -prefer-pic -fvisibility=hidden
libvgctl_libvgctl_la_LDFLAGS = $(library_ldflags) -version-info 2:0:2 -no-undefined \
	-Wl,--version-script=$(srcdir)/libvgctl/vgctl.map
libvgctl_libvgctl_la_DEPENDENCIES = libvgctl/vgctl.map configured
EXTRA_DIST += libvgctl/vgctl.map libvgctl/vgctl.pc.in
libvgctl/libvgctl_la-helper.lo libvgctl/libvgctl_la-spawn.lo: configured
# Programs of this build link with the library where libtool makes it.
if SHARED
libvgctl_so = libvgctl/.libs/libvgctl.so
else
libvgctl_so = libvgctl/.libs/libvgctl.a
endif
$(libvgctl_so): libvgctl/libvgctl.la

if GLIBC_FLOOR
# No libtool library, because libtool would also put it into libvgctl.a. -fno-lto: symbols with versions are in assembler.
EXTRA_LIBRARIES += libvgctl/libfloor.a
libvgctl_libfloor_a_CFLAGS = $(AM_CFLAGS) -fPIC -fvisibility=hidden -fno-lto
libvgctl_libfloor_a_SOURCES = libvgctl/floor.c
libvgctl_libvgctl_la_DEPENDENCIES += libvgctl/libfloor.a
libvgctl_libvgctl_la_LDFLAGS += -Wl,--wrap=fstat,--wrap=fstatat,--wrap=lstat,--wrap=stat \
	-Wl,--wrap=pthread_key_create,--wrap=pthread_key_delete,--wrap=pthread_mutex_trylock \
	-Wl,--wrap=pthread_setspecific,--wrap=pthread_sigmask \
	-Wl,--wrap=__isoc23_strtol,--wrap=__isoc23_strtoull -Wl,libvgctl/libfloor.a,--no-as-needed,-l:libpthread.so.0
endif

# The package of CMake finds other directories from its own, so that the installed tree can be moved.
cmakedir = $(libdir)/cmake/vgctl
cmake_DATA = libvgctl/vgctlConfig.cmake libvgctl/vgctlConfigVersion.cmake
libvgctl/%.cmake: libvgctl/%.cmake.in Makefile
	$(AM_V_GEN)sed -e "s,@include@,$$(realpath -m --relative-to=$(cmakedir) $(includedir)),g" \
		-e "s,@bin@,$$(realpath -m --relative-to=$(cmakedir) $(bindir)),g" \
		-e 's,@version@,$(PACKAGE_VERSION),g; s,@pointer@,$(SIZEOF_VOID_P),g' $< >$@
CLEANFILES += $(cmake_DATA)
EXTRA_DIST += libvgctl/vgctlConfig.cmake.in libvgctl/vgctlConfigVersion.cmake.in
