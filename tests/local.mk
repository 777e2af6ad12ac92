# Tests: tests/README.md says what is in which folder.
if WITH_TESTS
check_PROGRAMS += tests/unit/runner tests/unit/fixture_a.so tests/unit/fixture_b.so $(recording_programs) \
	tests/symbols/lookup $(views_programs) $(bench_programs)
else
check-local:
	@echo "make check: the tests need the helper and the tools: configure without --without-helper and --without-tools"; exit 1
endif
recording_programs = \
	tests/recording/blocked tests/recording/breather tests/recording/churn tests/recording/clocked \
	tests/recording/code_rows tests/recording/confined tests/recording/cycles tests/recording/eintr \
	tests/recording/even tests/recording/events tests/recording/flight tests/recording/hazards \
	tests/recording/hosts_memory tests/recording/hosts_process tests/recording/kills tests/recording/naps \
	tests/recording/one_thread tests/recording/remote_events tests/recording/roots tests/recording/rows \
	tests/recording/sessions tests/recording/shares tests/recording/signals tests/recording/twins \
	tests/recording/vforks tests/recording/vforks_framed
views_programs = tests/views/events_write tests/views/untrusted

tests_unit_runner_SOURCES = \
	tests/spin.h \
	tests/unit/check_account.c \
	tests/unit/check_arguments.c \
	tests/unit/check_breakpad.c \
	tests/unit/check_broker.c \
	tests/unit/check_budget.c \
	tests/unit/check_capture.c \
	tests/unit/check_cfi.c \
	tests/unit/check_changes.c \
	tests/unit/check_chrome.c \
	tests/unit/check_chunk.c \
	tests/unit/check_code_rows.c \
	tests/unit/check_confine.c \
	tests/unit/check_counter_set.c \
	tests/unit/check_counters.c \
	tests/unit/check_cursor.c \
	tests/unit/check_cut.c \
	tests/unit/check_debug_id.c \
	tests/unit/check_descendants.c \
	tests/unit/check_disassembly.c \
	tests/unit/check_events.c \
	tests/unit/check_finisher.c \
	tests/unit/check_firefox.c \
	tests/unit/check_flight.c \
	tests/unit/check_folded.c \
	tests/unit/check_frame_size.c \
	tests/unit/check_frames.c \
	tests/unit/check_instruction.c \
	tests/unit/check_intern.c \
	tests/unit/check_intervals.c \
	tests/unit/check_json.c \
	tests/unit/check_lane.c \
	tests/unit/check_merge.c \
	tests/unit/check_modules.c \
	tests/unit/check_number.c \
	tests/unit/check_options.c \
	tests/unit/check_outfile.c \
	tests/unit/check_policy.c \
	tests/unit/check_pprof.c \
	tests/unit/check_print.c \
	tests/unit/check_priority.c \
	tests/unit/check_process_file.c \
	tests/unit/check_profile.c \
	tests/unit/check_ranges.c \
	tests/unit/check_recorder.c \
	tests/unit/check_report.c \
	tests/unit/check_resolve.c \
	tests/unit/check_ring.c \
	tests/unit/check_screen.c \
	tests/unit/check_sections.c \
	tests/unit/check_session.c \
	tests/unit/check_source_file.c \
	tests/unit/check_speedscope.c \
	tests/unit/check_stack.c \
	tests/unit/check_store.c \
	tests/unit/check_stream.c \
	tests/unit/check_symbolization.c \
	tests/unit/check_symbols_table.c \
	tests/unit/check_table.c \
	tests/unit/check_tasks.c \
	tests/unit/check_text.c \
	tests/unit/check_ticks.c \
	tests/unit/check_timers.c \
	tests/unit/check_tracer.c \
	tests/unit/check_tracks.c \
	tests/unit/check_unwind.c \
	tests/unit/check_verdict.c \
	tests/unit/check_vgctl.c \
	tests/unit/check_view.c \
	tests/unit/check_waits.c \
	tests/unit/check_walker.c \
	tests/unit/check_weights.c \
	tests/unit/check_workers.c \
	tests/unit/fixture.c \
	tests/unit/fixture.h \
	tests/unit/recorded.h \
	tests/unit/runner.c \
	tests/unit/suites.h
tests_unit_runner_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS) \
	-DFIXTURE_A='"$(abs_builddir)/tests/unit/fixture_a.so"' -DFIXTURE_B='"$(abs_builddir)/tests/unit/fixture_b.so"'
EXTRA_tests_unit_runner_DEPENDENCIES = tests/unit/fixture_a.so tests/unit/fixture_b.so
tests_unit_runner_LDADD = $(libvgctl_so) $(helper_libs) $(tool_libs) $(CHECK_LIBS)
# Two shared libraries from one source.
fixture_link = $(link) -shared -fPIC $(library_ldflags) $(LDFLAGS) -o $@
tests_unit_fixture_a_so_SOURCES = tests/fixtures/library.c
tests_unit_fixture_a_so_CPPFLAGS = $(AM_CPPFLAGS) -DFIXTURE_NAME='"a"'
tests_unit_fixture_a_so_CFLAGS = $(AM_CFLAGS) -fPIC
tests_unit_fixture_a_so_LINK = $(fixture_link)
tests_unit_fixture_b_so_SOURCES = tests/fixtures/library.c
tests_unit_fixture_b_so_CPPFLAGS = $(AM_CPPFLAGS) -DFIXTURE_NAME='"b"'
tests_unit_fixture_b_so_CFLAGS = $(AM_CFLAGS) -fPIC
tests_unit_fixture_b_so_LINK = $(fixture_link)

tests_recording_blocked_SOURCES = tests/recording/blocked.c
tests_recording_breather_SOURCES = tests/recording/breather.c tests/spin.h
tests_recording_churn_SOURCES = tests/recording/churn.c tests/spin.h
tests_recording_clocked_SOURCES = tests/recording/clocked.c tests/spin.h
tests_recording_clocked_LDADD = -lm
tests_recording_code_rows_SOURCES = tests/recording/code_rows.c tests/recording/fde_code.c \
	tests/recording/fde_code.h tests/recording/libdw_rows.c tests/recording/libdw_rows.h
tests_recording_code_rows_LDADD = $(helper_libs) $(DW_LIBS)
tests_recording_confined_SOURCES = tests/recording/confined.c
tests_recording_confined_LDADD = $(helper_libs)
tests_recording_confined_LINK = $(helper_link)
tests_recording_cycles_SOURCES = tests/recording/cycles.c
tests_recording_cycles_LDADD = $(libvgctl_so) $(profile_libs)
tests_recording_eintr_SOURCES = tests/recording/eintr.c
tests_recording_even_SOURCES = tests/recording/even.c tests/spin.h
tests_recording_events_SOURCES = tests/recording/events.c
tests_recording_events_LDADD = $(libvgctl_so) $(profile_libs)
tests_recording_flight_SOURCES = tests/recording/flight.c
tests_recording_flight_LDADD = $(libvgctl_so) $(profile_libs)
tests_recording_hazards_SOURCES = tests/recording/hazards.c tests/recording/hazards.h \
	tests/recording/hazards_identity.c tests/recording/hazards_policy.c tests/recording/hazards_process.c \
	tests/spin.h
tests_recording_hazards_LDADD = $(libvgctl_so) $(profile_libs)
tests_recording_hosts_memory_SOURCES = tests/recording/hosts_memory.c
tests_recording_hosts_memory_LDADD = $(libvgctl_so)
tests_recording_hosts_process_SOURCES = tests/recording/hosts_process.c
tests_recording_hosts_process_LDADD = $(libvgctl_so)
tests_recording_kills_SOURCES = tests/recording/kills.c
tests_recording_kills_LDADD = $(libvgctl_so) $(profile_libs)
tests_recording_naps_SOURCES = tests/recording/naps.c tests/recording/litter.h
tests_recording_one_thread_SOURCES = tests/recording/one_thread.c
tests_recording_one_thread_LDADD = $(libvgctl_so)
tests_recording_remote_events_SOURCES = tests/recording/remote_events.c
tests_recording_remote_events_LDADD = $(libvgctl_so)
tests_recording_roots_SOURCES = tests/recording/roots.c
tests_recording_rows_SOURCES = tests/recording/rows.c tests/recording/libdw_rows.c tests/recording/libdw_rows.h
tests_recording_rows_LDADD = $(helper_libs) $(DW_LIBS)
tests_recording_sessions_SOURCES = tests/recording/sessions.c
tests_recording_sessions_LDADD = $(libvgctl_so)
tests_recording_shares_SOURCES = tests/recording/shares.c tests/spin.h
tests_recording_signals_SOURCES = tests/recording/signals.c
tests_recording_twins_SOURCES = tests/recording/twins.c
tests_recording_twins_LDADD = $(helper_libs)
tests_recording_vforks_SOURCES = tests/recording/vforks.c tests/recording/litter.h
tests_recording_vforks_framed_SOURCES = $(tests_recording_vforks_SOURCES)
# With frame pointers, a walk of a waiting thread needs the frame pointer, which a stop can read and /proc lacks.
tests_recording_blocked_CFLAGS = $(AM_CFLAGS) -fno-omit-frame-pointer
tests_recording_blocked_LINK = $(LINK)
tests_recording_eintr_CFLAGS = $(AM_CFLAGS) -fno-omit-frame-pointer
tests_recording_eintr_LINK = $(LINK)
tests_recording_hazards_CFLAGS = $(AM_CFLAGS) -fno-omit-frame-pointer
tests_recording_hazards_LINK = $(LINK)
tests_recording_naps_CFLAGS = $(AM_CFLAGS) -fno-omit-frame-pointer
tests_recording_naps_LINK = $(LINK)
tests_recording_vforks_framed_CFLAGS = $(AM_CFLAGS) -fno-omit-frame-pointer
tests_recording_vforks_framed_LINK = $(LINK)

tests_symbols_lookup_SOURCES = tests/symbols/lookup.c
tests_symbols_lookup_LDADD = $(symbols_libs)

tests_views_events_write_SOURCES = tests/views/events_write.c
tests_views_events_write_LDADD = $(profile_libs)
tests_views_untrusted_SOURCES = tests/views/untrusted.c
tests_views_untrusted_LDADD = libvgctl/libwire.a $(profile_libs)

AM_TESTS_ENVIRONMENT = LOOKUP=$(abs_builddir)/tests/symbols/lookup; export LOOKUP; \
	VIGNETTED=$(abs_builddir)/vignetted/vignetted; export VIGNETTED; \
	VGTOOL=$(abs_builddir)/vgtool/vgtool; export VGTOOL; \
	VGCTL=$(abs_builddir)/vgctl/vgctl; export VGCTL; \
	BUILDDIR=$(abs_builddir); export BUILDDIR; SRCDIR=$(abs_srcdir); export SRCDIR; \
	CC='$(CC)'; export CC; NPM=$${NPM:-$(abs_srcdir)/build/npm/node_modules}; export NPM; \
	DUMP_SYMS=$$NPM/minidump/bin/linux-x64/dump_syms; export DUMP_SYMS; \
	SENTRY_CLI=$$NPM/@sentry/cli-linux-x64/bin/sentry-cli; export SENTRY_CLI; \
	SANITIZE='$(SANITIZE_CFLAGS)'; export SANITIZE; SOAK='$(SOAK)'; export SOAK; \
	TIMING='$(TIMING)'; export TIMING; SUITES='$(notdir $(suite_tests:.suite=))'; export SUITES; \
	FUZZ_FLAGS='-include $(abs_builddir)/config.h -I$(abs_builddir) $(package_cflags)'; export FUZZ_FLAGS; \
	FUZZ_LIBS='$(UNWIND_LIBS) $(ZYDIS_LIBS) $(SECCOMP_LIBS) $(DW_LIBS) $(MSGPACK_LIBS) $(IBERTY_LIBS) $(ZLIB_LIBS) \
		$(LZMA_LIBS) $(ZSTD_LIBS) $(DEFLATE_LIBS) $(PROTOBUF_C_LIBS)'; export FUZZ_LIBS;
TEST_EXTENSIONS = .sh .suite
LOG_DRIVER = env AM_TAP_AWK='$(AWK)' $(SHELL) $(top_srcdir)/build-aux/tap-driver.sh
SH_LOG_DRIVER = $(LOG_DRIVER)
SH_LOG_COMPILER = $(SHELL) $(srcdir)/tests/one.sh
# A suite of the runner is a test, whose file says only when the runner was made.  The suites that take long are tests
# of their own, so that others run beside them; `others` has all other suites.
SUITE_LOG_DRIVER = $(LOG_DRIVER)
SUITE_LOG_COMPILER = $(SHELL) $(srcdir)/tests/suite.sh
suite_tests = \
	tests/unit/vgctl.suite \
	tests/unit/timers.suite \
	tests/unit/events.suite \
	tests/unit/finisher.suite \
	tests/unit/capture.suite \
	tests/unit/flight.suite \
	tests/unit/store.suite \
	tests/unit/verdict.suite \
	tests/unit/workers.suite \
	tests/unit/others.suite
tests/unit/%.suite: tests/unit/runner
	$(AM_V_at)echo "$*" >$@
CLEANFILES += tests/unit/*.suite
# What several scripts share: tests/views/recorded.sh.
clean-local:
	rm -rf tests/shared flake
if WITH_TESTS
# `./bootstrap check` runs the tests of both builds at the same time.  plain_tests is the usual list.  A script belongs to
# both_tests if the programs read bytes of others in it, or keep much memory by hand, and its verdict without sanitizers
# counts, too.  It belongs to sanitized_tests if its verdict is the same in both builds.  The sanitized build is not
# confined, so tests of the confinement are in plain_tests.  So is vforks.sh: a sanitizer's own vfork(2) hides the caller.
TESTS = $(suite_tests) $(both_tests)
if SANITIZERS
TESTS += $(sanitized_tests)
else
TESTS += tests/recording/confined $(plain_tests)
endif
endif
both_tests = \
	tests/recording/churn.sh \
	tests/recording/counters.sh \
	tests/recording/cycles.sh \
	tests/recording/events.sh \
	tests/recording/naps.sh \
	tests/recording/options.sh \
	tests/recording/remote_events.sh \
	tests/recording/rows.sh \
	tests/recording/sample_once.sh \
	tests/recording/sessions.sh \
	tests/symbols/servers.sh \
	tests/symbols/store.sh \
	tests/symbols/symbols_breakpad.sh \
	tests/symbols/symbols_fifo.sh \
	tests/symbols/symbols_languages.sh \
	tests/views/annotate.sh \
	tests/views/annotate_asm.sh \
	tests/views/cut.sh \
	tests/views/definitions.sh \
	tests/views/hostile.sh \
	tests/views/processes.sh \
	tests/views/recover.sh \
	tests/views/report.sh \
	tests/views/terminal.sh \
	tests/views/view.sh \
	tests/views/views.sh
plain_tests = \
	tests/project/abi.sh \
	tests/project/build.sh \
	tests/project/completions.sh \
	tests/project/dist.sh \
	tests/project/examples.sh \
	tests/project/hardening.sh \
	tests/project/house.sh \
	tests/project/house_faults.sh \
	tests/project/languages.sh \
	tests/project/man.sh \
	tests/project/messages.sh \
	tests/project/words.sh \
	tests/recording/blocked.sh \
	tests/recording/bounds.sh \
	tests/recording/clocked.sh \
	tests/recording/code_rows.sh \
	tests/recording/complete.sh \
	tests/recording/disk.sh \
	tests/recording/eintr.sh \
	tests/recording/first_read.sh \
	tests/recording/flight.sh \
	tests/recording/hazards.sh \
	tests/recording/hosts_memory.sh \
	tests/recording/hosts_process.sh \
	tests/recording/job_control.sh \
	tests/recording/kernel.sh \
	tests/recording/kills.sh \
	tests/recording/launch.sh \
	tests/recording/one_thread.sh \
	tests/recording/peer.sh \
	tests/recording/perf_map.sh \
	tests/recording/program_32.sh \
	tests/recording/removed.sh \
	tests/recording/roots.sh \
	tests/recording/servers.sh \
	tests/recording/service.sh \
	tests/recording/setuid.sh \
	tests/recording/signals.sh \
	tests/recording/static.sh \
	tests/recording/suites.sh \
	tests/recording/swaps.sh \
	tests/recording/threads.sh \
	tests/recording/timens.sh \
	tests/recording/truth.sh \
	tests/recording/turns.sh \
	tests/recording/twins.sh \
	tests/recording/vforks.sh \
	tests/symbols/symbols_absent.sh \
	tests/symbols/symbols_hints.sh \
	tests/symbols/symbols_large.sh \
	tests/views/compare.sh \
	tests/views/containers.sh \
	tests/views/demo.sh \
	tests/views/firefox.sh \
	tests/views/pprof.sh \
	tests/views/readers.sh \
	tests/views/record.sh \
	tests/views/record_children.sh \
	tests/views/top.sh \
	tests/views/tutorial.sh \
	tests/views/view_page.sh \
	tests/views/viewers.sh
sanitized_tests = \
	tests/project/corpus.sh \
	tests/symbols/symbols_cfi.sh \
	tests/symbols/symbols_hostile.sh \
	tests/symbols/symbols_lookup.sh \
	tests/symbols/symbols_sources.sh

# Tests with a short form for `make check` and a long form for `make soak`.
soak_tests = \
	tests/recording/blocked.sh \
	tests/recording/churn.sh \
	tests/recording/code_rows.sh \
	tests/recording/cycles.sh \
	tests/recording/eintr.sh \
	tests/recording/events.sh \
	tests/recording/kills.sh \
	tests/recording/rows.sh \
	tests/recording/signals.sh
if !SANITIZERS
soak_tests += \
	tests/project/gallery.sh \
	tests/recording/complete.sh \
	tests/recording/flight.sh \
	tests/recording/hazards.sh \
	tests/recording/suites.sh \
	tests/recording/truth.sh \
	tests/recording/twins.sh \
	tests/views/pprof.sh \
	tests/views/viewers.sh
endif
EXTRA_DIST += $(both_tests) $(plain_tests) $(sanitized_tests) $(fixture_sources) \
	tests/README.md tests/functions.mjs tests/fuzz tests/installed.sh tests/lib.sh tests/namespace.sh tests/one.sh \
	tests/suite.sh tests/flake.sh tests/views/quick.sh tests/project/fuzz.sh \
	tests/views/browser.sh tests/views/picture.sh tests/views/tutorial.mjs \
	tests/recording/clocked.mjs tests/recording/incomplete.mjs tests/recording/leaves.mjs tests/recording/even.sh tests/recording/pacing.sh \
	tests/project/abi.txt tests/project/messages.mjs tests/project/messages.txt \
	tests/project/words.mjs tests/recording/threads.c tests/recording/vm.sh tests/recording/yama.c \
	tests/symbols/lookup_compare.awk tests/symbols/symbols_cfi.mjs tests/symbols/symbols_large.mjs tests/views/demo.mjs \
	tests/views/firefox.mjs tests/views/page_data.mjs tests/views/page_driver.mjs tests/views/profiler.mjs tests/views/profiler.sh \
	tests/views/recorded.sh tests/views/speedscope.mjs tests/views/view.mjs tests/views/view_page.mjs \
	tests/views/viewers.mjs tests/views/views.mjs
# Each file is listed.  If the folder were listed, the files that the build writes to its own tests/fixtures would be
# distributed, too.
fixture_sources = \
	tests/fixtures/bounds.c \
	tests/fixtures/changing.c \
	tests/fixtures/endless.c \
	tests/fixtures/minidump.c \
	tests/fixtures/mutate.c \
	tests/fixtures/pages.c \
	tests/fixtures/phases.c \
	tests/fixtures/plugin.c \
	tests/fixtures/reload.c \
	tests/fixtures/setuid_helper.c \
	tests/fixtures/setuid_host.c \
	tests/fixtures/sources.c \
	tests/fixtures/sources.h \
	tests/fixtures/sources.rs \
	tests/fixtures/sources_labels.S \
	tests/fixtures/sources_lookup.awk \
	tests/fixtures/sources_more.c \
	tests/fixtures/symbol_server.py \
	tests/fixtures/symbols_cfi.s \
	tests/fixtures/symbols_folded.cc \
	tests/fixtures/symbols_frames.c \
	tests/fixtures/symbols_languages.f90 \
	tests/fixtures/symbols_languages.s \
	tests/fixtures/symbols_names.cc \
	tests/fixtures/symbols_nested.s \
	tests/fixtures/symbols_overflow.s \
	tests/fixtures/symbols_plain.c \
	tests/fixtures/symbols_plain_more.c \
	tests/fixtures/swapped.c \
	tests/fixtures/swaps.c \
	tests/fixtures/twins.c \
	tests/fixtures/twins.cc \
	tests/fixtures/twins.rs \
	tests/fixtures/viewers.cc

# The tests for after each change: a minute at most.  They need no other packages than the build.
quick_tests = $(suite_tests) tests/views/quick.sh tests/project/house.sh tests/project/dist.sh
check-quick: all tests/unit/runner$(EXEEXT)
	$(MAKE) $(AM_MAKEFLAGS) -j4 check-TESTS TESTS='$(quick_tests)' check_PROGRAMS=tests/unit/runner
.PHONY: check-quick

# Shows that no test of a live process fails by chance: N times beside stress-ng, and ONE_CORE times on one CPU.
flake: all $(check_PROGRAMS)
	@$(SHELL) $(srcdir)/tests/flake.sh '$(flake_tests)'
flake_tests = $(suite_tests) $(filter tests/recording/%.sh tests/views/%.sh tests/symbols/%.sh,$(TESTS)) \
	tests/project/abi.sh tests/project/examples.sh tests/project/languages.sh
.PHONY: flake

# The recording scripts with the smallest usual limits, and without the capabilities that raise them.  Four scripts need
# more: setuid and hazards need set-user-ID programs, hosts_memory locks memory itself, and in servers redis complains.
# One at a time, because the kernel limits the locked memory of a user's processes together (perf_event_mlock_kb).
limits: all $(check_PROGRAMS)
	prlimit --nofile=1024:1024 --memlock=65536:65536 --stack=8388608:8388608 \
		setpriv --no-new-privs --bounding-set=-sys_resource,-ipc_lock \
		$(MAKE) $(AM_MAKEFLAGS) -j1 check TESTS='$(limits_tests)'
limits_tests = $(filter-out %/setuid.sh %/hazards.sh %/hosts_memory.sh %/servers.sh, \
	$(filter tests/recording/%.sh,$(TESTS)))
.PHONY: limits

# Tests whose results depend on how busy the machine is.  With TIMING in the environment they have narrower bounds.
timing_tests = \
	tests/recording/blocked.sh \
	tests/recording/clocked.sh \
	tests/recording/complete.sh \
	tests/recording/counters.sh \
	tests/recording/cycles.sh \
	tests/recording/eintr.sh \
	tests/recording/even.sh \
	tests/recording/events.sh \
	tests/recording/naps.sh \
	tests/recording/pacing.sh \
	tests/recording/suites.sh \
	tests/recording/swaps.sh \
	tests/recording/truth.sh \
	tests/views/demo.sh
timing: all $(check_PROGRAMS)
	$(MAKE) $(AM_MAKEFLAGS) check TESTS='$(timing_tests)' TIMING=1
.PHONY: timing

# Prints a table that compares programs' measurements of themselves with their profiles (bench/truth.txt).
# TRUTH="naps auto 99" chooses one row.
truth: all tests/recording/clocked
	COMMIT=$$(git -C $(srcdir) describe --always 2>/dev/null || echo $(VERSION)) \
	VIGNETTED=$(abs_builddir)/vignetted/vignetted VGTOOL=$(abs_builddir)/vgtool/vgtool \
		node $(srcdir)/tests/recording/clocked.mjs $(abs_builddir)/tests/recording/clocked $(TRUTH)
.PHONY: truth

soak: all $(check_PROGRAMS)
	$(MAKE) $(AM_MAKEFLAGS) check SOAK=1 TIMING=1 TESTS='$(sort $(soak_tests) $(timing_tests)) \
		tests/recording/threads.sh tests/recording/vm.sh tests/symbols/symbols_lookup.sh \
		tests/project/analyze.sh tests/project/fuzz.sh'
	$(MAKE) $(AM_MAKEFLAGS) truth
.PHONY: soak

# Tests before a release.  They need root and a mirror of Debian, and run one after the other: `./bootstrap
# check-release` installs what they need.  distcheck builds the tarball, runs the check of that build, and installs it.
release_tests = \
	tests/project/analyze.sh \
	tests/project/gallery.sh \
	tests/release/build_systems.sh \
	tests/release/floors.sh \
	tests/release/packages.sh \
	tests/release/pairs.sh \
	tests/release/prefix.sh \
	tests/release/static_helper.sh \
	tests/release/systemd.sh \
	tests/release/tarball.sh
EXTRA_DIST += $(release_tests) tests/release/roots.sh tests/release/systemd_guest.sh tests/vm.sh
check-release: all
	$(MAKE) $(AM_MAKEFLAGS) -j1 check TESTS='$(release_tests)'
	NPM=$${NPM:-$(abs_srcdir)/build/npm/node_modules} $(MAKE) $(AM_MAKEFLAGS) -j4 distcheck
.PHONY: check-release

# Runs a test in a virtual machine.  Needs qemu-system-x86, busybox-static and cpio.
vm-check: all
	@$(AM_TESTS_ENVIRONMENT) $(SHELL) $(srcdir)/tests/recording/vm.sh
.PHONY: vm-check

# Runs all static analyzers, which takes about ten minutes.
analyze:
	@$(AM_TESTS_ENVIRONMENT) SOAK=1 $(SHELL) $(srcdir)/tests/project/analyze.sh
.PHONY: analyze

# Runs the fuzzers for FUZZ_SECONDS each.  FUZZERS chooses some of "sym elf profile wire ring unwind code perfmap".
fuzz: all
	@$(AM_TESTS_ENVIRONMENT) FUZZ_SECONDS=$${FUZZ_SECONDS:-60}; export FUZZ_SECONDS; \
		$(SHELL) $(srcdir)/tests/project/fuzz.sh
.PHONY: fuzz

