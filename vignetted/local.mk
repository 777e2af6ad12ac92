# vignetted: the helper.
if WITH_HELPER
libexec_PROGRAMS = vignetted/vignetted
endif
EXTRA_LIBRARIES += vignetted/libvignetted.a
helper_libs = vignetted/libvignetted.a libvgctl/libwire.a $(profile_libs) $(UNWIND_LIBS) $(ZYDIS_LIBS) $(SECCOMP_LIBS)
vignetted_libvignetted_a_SOURCES = \
	vignetted/capture/activity.c vignetted/capture/activity.h \
	vignetted/capture/counters.c vignetted/capture/counters.h \
	vignetted/capture/priority.c vignetted/capture/priority.h \
	vignetted/capture/stack.c vignetted/capture/stack.h \
	vignetted/capture/timers.c vignetted/capture/timers.h \
	vignetted/capture/tracer.c vignetted/capture/tracer.h \
	vignetted/capture/waits.c vignetted/capture/waits.h \
	vignetted/capture/waits_$(VG_MACHINE).c \
	vignetted/capture/walker.c vignetted/capture/walker.h \
	vignetted/output/disk.c vignetted/output/disk.h \
	vignetted/output/flight.c vignetted/output/flight.h \
	vignetted/output/recorder.c vignetted/output/recorder.h \
	vignetted/policy/permission.c vignetted/policy/permission.h \
	vignetted/policy/policy.c vignetted/policy/policy.h \
	vignetted/policy/weights.c vignetted/policy/weights.h \
	vignetted/serve/arguments.c vignetted/serve/arguments.h \
	vignetted/serve/check.c vignetted/serve/check.h \
	vignetted/serve/confine.c vignetted/serve/confine.h \
	vignetted/serve/control.c vignetted/serve/control.h \
	vignetted/serve/finisher.c vignetted/serve/finisher.h \
	vignetted/serve/launch.c vignetted/serve/launch.h \
	vignetted/serve/listener.c vignetted/serve/listener.h \
	vignetted/serve/loop.c vignetted/serve/loop.h \
	vignetted/serve/output_name.c vignetted/serve/output_name.h \
	vignetted/serve/remote.c vignetted/serve/remote.h \
	vignetted/serve/status.c vignetted/serve/status.h \
	vignetted/session/account.c vignetted/session/account.h \
	vignetted/session/dumps.c vignetted/session/dumps.h \
	vignetted/session/recording.c vignetted/session/recording.h \
	vignetted/session/round.c vignetted/session/round.h \
	vignetted/session/session.c vignetted/session/session.h \
	vignetted/session/session_state.h \
	vignetted/session/threads.c vignetted/session/threads.h \
	vignetted/session/ticks.c vignetted/session/ticks.h \
	vignetted/session/timer_samples.c vignetted/session/timer_samples.h \
	vignetted/target/access.c vignetted/target/access.h \
	vignetted/target/bytes.h \
	vignetted/target/events.c vignetted/target/events.h \
	vignetted/target/image.c vignetted/target/image.h \
	vignetted/target/kernel_symbols.c vignetted/target/kernel_symbols.h \
	vignetted/target/lane.c vignetted/target/lane.h \
	vignetted/target/memory.c vignetted/target/memory.h \
	vignetted/target/modules.c vignetted/target/modules.h \
	vignetted/target/open_intervals.c vignetted/target/open_intervals.h \
	vignetted/target/perf_map.c vignetted/target/perf_map.h \
	vignetted/target/ranges.c vignetted/target/ranges.h \
	vignetted/target/target.c vignetted/target/target.h \
	vignetted/target/tasks.c vignetted/target/tasks.h \
	vignetted/unwind/cfi.c vignetted/unwind/cfi.h \
	vignetted/unwind/cfi_program.c vignetted/unwind/cfi_program.h \
	vignetted/unwind/code.h \
	vignetted/unwind/code_$(VG_MACHINE).c \
	vignetted/unwind/code_path.c vignetted/unwind/code_path.h \
	vignetted/unwind/code_rows.c vignetted/unwind/code_rows.h \
	vignetted/unwind/fallback.c vignetted/unwind/fallback.h \
	vignetted/unwind/instruction.h \
	vignetted/unwind/instruction_$(VG_MACHINE).c \
	vignetted/unwind/regs.h \
	vignetted/unwind/regs_$(VG_MACHINE).c \
	vignetted/unwind/row.h \
	vignetted/unwind/rows.c vignetted/unwind/rows.h \
	vignetted/unwind/snapshot.c vignetted/unwind/snapshot.h \
	vignetted/unwind/step.c vignetted/unwind/step.h \
	vignetted/unwind/unwind.c vignetted/unwind/unwind.h \
	vignetted/unwind/walk.c vignetted/unwind/walk.h
vignetted_vignetted_SOURCES = vignetted/main.c
vignetted_vignetted_LDADD = $(helper_libs)
EXTRA_vignetted_vignetted_DEPENDENCIES = configured
if STATIC_HELPER
helper_link = $(link) $(library_ldflags) $(STATIC_LDFLAGS) $(LDFLAGS) -o $@
helper_map = -Wl,-Map,vignetted/vignetted.map
CLEANFILES += vignetted/vignetted.map
else
helper_link = $(LINK)
endif
vignetted_vignetted_LINK = $(helper_link) $(helper_map)

# Makes the folder dist-helper: what an application is shipped with, and what its makers keep (doc/design/shipping.md).
dist-helper: vignetted/vignetted
	$(SHELL) $(srcdir)/vignetted/dist_helper.sh vignetted/vignetted $${VGTOOL:-vgtool/vgtool} $${DIST_HELPER:-dist-helper}
.PHONY: dist-helper
EXTRA_DIST += vignetted/dist_helper.sh

# libvgctl finds vignetted in libexecdir. Users find it in sbindir.
if WITH_HELPER
install-exec-hook:
	$(MKDIR_P) $(DESTDIR)$(sbindir)
	ln -sf $$(realpath -m --relative-to=$(sbindir) $(libexecdir))/vignetted $(DESTDIR)$(sbindir)/vignetted
uninstall-hook:
	rm -f $(DESTDIR)$(sbindir)/vignetted
endif

# The unit of systemd that records a service.
if WITH_HELPER
systemdunitdir = $(prefix)/lib/systemd/system
systemdunit_DATA = vignetted/systemd/vignetted@.service
sysusersdir = $(prefix)/lib/sysusers.d
dist_sysusers_DATA = vignetted/systemd/vignetted.conf
dist_libexec_SCRIPTS = vignetted/systemd/vignetted-service
endif
EXTRA_DIST += vignetted/systemd/vignetted@.service.in
CLEANFILES += $(systemdunit_DATA)
# Depends on Makefile, so that it is made again when libexecdir has changed.
vignetted/systemd/vignetted@.service: $(srcdir)/vignetted/systemd/vignetted@.service.in Makefile
	$(AM_V_GEN)$(MKDIR_P) $(@D) && sed 's,[@]libexecdir[@],$(libexecdir),' \
		'$(srcdir)/vignetted/systemd/vignetted@.service.in' >'$@.part' && mv '$@.part' '$@'
