# ---- benchmarks: only `make bench` runs them; `make check` builds them, too, to detect errors of compilation ----
bench_programs = bench/begin_end bench/watch bench/bare_stop bench/bare_read bench/cpu bench/sleepers bench/unwind \
	bench/addresses bench/large_profile bench/bare_scan bench/events bench/peak bench/repeat bench/toggle \
	bench/verdicts_work
bench_begin_end_SOURCES = bench/begin_end.c
bench_begin_end_LDADD = $(libvgctl_so)
bench_large_profile_SOURCES = bench/large_profile.c
bench_large_profile_LDADD = $(profile_libs)
bench_addresses_SOURCES = bench/addresses.c
bench_addresses_LDADD = $(profile_libs)
bench_events_SOURCES = bench/events.c
bench_events_LDADD = $(libvgctl_so)
bench_peak_SOURCES = bench/peak.c
bench_repeat_SOURCES = bench/repeat.c
compare_sources = bench/compare.c bench/compare.h bench/latencies.c \
	bench/latencies.h bench/load.c bench/load.h bench/transactions.c bench/transactions.h
bench_toggle_SOURCES = bench/toggle.c bench/floors.c bench/floors.h bench/stop.c bench/stop.h \
	$(compare_sources)
bench_toggle_LDADD = $(helper_libs) -lm
bench_watch_SOURCES = bench/watch.c
bench_verdicts_work_SOURCES = bench/verdicts_work.c
bench_bare_stop_SOURCES = bench/bare_stop.c bench/stop.c bench/stop.h
bench_bare_read_SOURCES = bench/bare_read.c
bench_bare_scan_SOURCES = bench/bare_scan.c
bench_bare_scan_LDADD = $(helper_libs)
bench_cpu_SOURCES = bench/cpu.c
bench_sleepers_SOURCES = bench/sleepers.c
bench_unwind_SOURCES = bench/unwind.c
bench_unwind_LDADD = $(helper_libs)
benches = pause unwind cost threads size churn children victims events begin_end symbols resolve verdicts views \
	exporters no_tables recordings
bench_scripts = bench/pause.sh bench/unwind.sh bench/cost.sh bench/threads.sh bench/size.sh bench/churn.sh \
	bench/children.sh bench/victims.sh bench/events.sh bench/begin_end.sh bench/symbols.sh bench/resolve.sh bench/verdicts.sh \
	bench/views.sh bench/exporters.sh bench/no_tables.sh bench/recordings.sh
EXTRA_DIST += $(bench_scripts) bench/lib.sh bench/README.md bench/truth.txt bench/busy.js bench/busy.py bench/nginx.conf
EXTRA_DIST += bench/exporters.mjs bench/views.mjs bench/views_work.c bench/views_library.c bench/views_library.h

EXTRA_DIST += bench/no_tables.c bench/busy.rs bench/Busy.java bench/busy.erl bench/busy.lua
EXTRA_DIST += bench/RESULTS.md bench/results.awk

bench: all $(bench_programs) tests/recording/churn$(EXEEXT) tests/recording/sessions$(EXEEXT)
	@$(AM_TESTS_ENVIRONMENT) status=0; for name in $(benches); do \
		$(SHELL) $(srcdir)/bench/$$name.sh || { echo "$$name: FAILED"; status=1; }; \
	done; exit $$status
.PHONY: bench
