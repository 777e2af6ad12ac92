# vgtool: saves symbols, symbolizes profiles and shows them.
if WITH_TOOLS
bin_PROGRAMS = vgtool/vgtool vgctl/vgctl
endif
EXTRA_LIBRARIES += vgtool/libvgtool.a
tool_libs = vgtool/libvgtool.a profile/libprofile.a $(symbols_libs) $(MSGPACK_LIBS) $(SECCOMP_LIBS) $(PROTOBUF_C_LIBS) -lm
vgtool_vgtool_SOURCES = vgtool/main.c
vgtool_vgtool_LDADD = $(tool_libs)
vgtool/run/vignetted_run.o: configured
vgtool_libvgtool_a_SOURCES = \
	vgtool/analysis/address_groups.c vgtool/analysis/address_groups.h \
	vgtool/analysis/blocks.c vgtool/analysis/blocks.h \
	vgtool/analysis/call_tree.c vgtool/analysis/call_tree.h \
	vgtool/analysis/chains.c vgtool/analysis/chains.h \
	vgtool/analysis/changes.c vgtool/analysis/changes.h \
	vgtool/analysis/comparable.c vgtool/analysis/comparable.h \
	vgtool/analysis/disassembly.c vgtool/analysis/disassembly.h \
	vgtool/analysis/estimate.c vgtool/analysis/estimate.h \
	vgtool/analysis/exclusion.c vgtool/analysis/exclusion.h \
	vgtool/analysis/frame_class.c vgtool/analysis/frame_class.h \
	vgtool/analysis/frames.c vgtool/analysis/frames.h \
	vgtool/analysis/function_lines.c vgtool/analysis/function_lines.h \
	vgtool/analysis/function_match.c vgtool/analysis/function_match.h \
	vgtool/analysis/function_table.c vgtool/analysis/function_table.h \
	vgtool/analysis/instruction_frames.c vgtool/analysis/instruction_frames.h \
	vgtool/analysis/interval_counts.c vgtool/analysis/interval_counts.h \
	vgtool/analysis/interval_table.c vgtool/analysis/interval_table.h \
	vgtool/analysis/intervals.c vgtool/analysis/intervals.h \
	vgtool/analysis/measures.c vgtool/analysis/measures.h \
	vgtool/analysis/part.c vgtool/analysis/part.h \
	vgtool/analysis/perf_counts.c vgtool/analysis/perf_counts.h \
	vgtool/analysis/record_filter.c vgtool/analysis/record_filter.h \
	vgtool/analysis/sample_filter.c vgtool/analysis/sample_filter.h \
	vgtool/analysis/spread.c vgtool/analysis/spread.h \
	vgtool/analysis/stack_sums.c vgtool/analysis/stack_sums.h \
	vgtool/analysis/state_at.c vgtool/analysis/state_at.h \
	vgtool/analysis/student.c vgtool/analysis/student.h \
	vgtool/analysis/summary.c vgtool/analysis/summary.h \
	vgtool/analysis/thread_names.c vgtool/analysis/thread_names.h \
	vgtool/analysis/thread_samples.c vgtool/analysis/thread_samples.h \
	vgtool/analysis/tracks.c vgtool/analysis/tracks.h \
	vgtool/analysis/tree.c vgtool/analysis/tree.h \
	vgtool/analysis/verdict.c vgtool/analysis/verdict.h \
	vgtool/commands/cmd_aggregate.c \
	vgtool/commands/cmd_annotate.c \
	vgtool/commands/cmd_audit.c \
	vgtool/commands/cmd_chrome.c \
	vgtool/commands/cmd_cut.c \
	vgtool/commands/cmd_diff.c \
	vgtool/commands/cmd_dump.c \
	vgtool/commands/cmd_firefox.c \
	vgtool/commands/cmd_flamegraph.c \
	vgtool/commands/cmd_folded.c \
	vgtool/commands/cmd_info.c \
	vgtool/commands/cmd_missing.c \
	vgtool/commands/cmd_pprof.c \
	vgtool/commands/cmd_record.c \
	vgtool/commands/cmd_recover.c \
	vgtool/commands/cmd_report.c \
	vgtool/commands/cmd_resolve.c \
	vgtool/commands/cmd_speedscope.c \
	vgtool/commands/cmd_store.c \
	vgtool/commands/cmd_summary.c \
	vgtool/commands/cmd_symbols.c \
	vgtool/commands/cmd_top.c \
	vgtool/commands/cmd_view.c \
	vgtool/commands/command.c vgtool/commands/command.h \
	vgtool/commands/command_line.c vgtool/commands/command_line.h \
	vgtool/commands/diff_print.c vgtool/commands/diff_print.h \
	vgtool/commands/function_code.c vgtool/commands/function_code.h \
	vgtool/commands/profiles.c vgtool/commands/profiles.h \
	vgtool/commands/record_options.c vgtool/commands/record_options.h \
	vgtool/commands/record_run.c vgtool/commands/record_run.h \
	vgtool/commands/record_view.c vgtool/commands/record_view.h \
	vgtool/commands/report_options.c vgtool/commands/report_options.h \
	vgtool/commands/symbol_saver.c vgtool/commands/symbol_saver.h \
	vgtool/commands/symbolize.c vgtool/commands/symbolize.h \
	vgtool/commands/top_options.c vgtool/commands/top_options.h \
	vgtool/commands/top_reader.c vgtool/commands/top_reader.h \
	vgtool/commands/top_run.c vgtool/commands/top_run.h \
	vgtool/commands/top_view.c vgtool/commands/top_view.h \
	vgtool/commands/view.c vgtool/commands/view.h \
	vgtool/commands/view_page.h \
	vgtool/output/base64.c vgtool/output/base64.h \
	vgtool/output/bounded.c vgtool/output/bounded.h \
	vgtool/output/gzip.c vgtool/output/gzip.h \
	vgtool/output/json.c vgtool/output/json.h \
	vgtool/output/output.c vgtool/output/output.h \
	vgtool/output/progress.c vgtool/output/progress.h \
	vgtool/output/screen.c vgtool/output/screen.h \
	vgtool/output/terminal.c vgtool/output/terminal.h \
	vgtool/output/text.c vgtool/output/text.h \
	vgtool/page/page.h \
	vgtool/resolve/address_list.c vgtool/resolve/address_list.h \
	vgtool/resolve/live_symbols.c vgtool/resolve/live_symbols.h \
	vgtool/resolve/profile_copy.c vgtool/resolve/profile_copy.h \
	vgtool/resolve/resolve.c vgtool/resolve/resolve.h \
	vgtool/resolve/resolve_emit.c vgtool/resolve/resolve_emit.h \
	vgtool/resolve/resolve_into.c \
	vgtool/resolve/resolve_write.c \
	vgtool/resolve/symbol_finder.c vgtool/resolve/symbol_finder.h \
	vgtool/run/broker.c vgtool/run/broker.h \
	vgtool/run/broker_places.c vgtool/run/broker_places.h \
	vgtool/run/browser.c vgtool/run/browser.h \
	vgtool/run/child.c vgtool/run/child.h \
	vgtool/run/confine.c vgtool/run/confine.h \
	vgtool/run/descendants.c vgtool/run/descendants.h \
	vgtool/run/download.c vgtool/run/download.h \
	vgtool/run/download_file.c vgtool/run/download_file.h \
	vgtool/run/fetcher.c vgtool/run/fetcher.h \
	vgtool/run/indexer.c vgtool/run/indexer.h \
	vgtool/run/landlock.h \
	vgtool/run/mapped_files.c vgtool/run/mapped_files.h \
	vgtool/run/mappings.c vgtool/run/mappings.h \
	vgtool/run/objdump.c vgtool/run/objdump.h \
	vgtool/run/pager.c vgtool/run/pager.h \
	vgtool/run/program_open.c vgtool/run/program_open.h \
	vgtool/run/server_path.c vgtool/run/server_path.h \
	vgtool/run/servers.c vgtool/run/servers.h \
	vgtool/run/vignetted_run.c vgtool/run/vignetted_run.h \
	vgtool/run/workers.c vgtool/run/workers.h \
	vgtool/views/annotate.c vgtool/views/annotate.h \
	vgtool/views/annotate_asm.c vgtool/views/annotate_asm.h \
	vgtool/views/chrome.c vgtool/views/chrome.h \
	vgtool/views/chrome_event.c vgtool/views/chrome_event.h \
	vgtool/views/chrome_events.c vgtool/views/chrome_events.h \
	vgtool/views/chrome_nodes.c vgtool/views/chrome_nodes.h \
	vgtool/views/chrome_samples.c vgtool/views/chrome_samples.h \
	vgtool/views/chrome_stacks.c vgtool/views/chrome_stacks.h \
	vgtool/views/chrome_trace.h \
	vgtool/views/chrome_tracks.c vgtool/views/chrome_tracks.h \
	vgtool/views/cut.c vgtool/views/cut.h \
	vgtool/views/firefox.c vgtool/views/firefox.h \
	vgtool/views/firefox_columns.c vgtool/views/firefox_columns.h \
	vgtool/views/firefox_counters.c vgtool/views/firefox_counters.h \
	vgtool/views/firefox_ids.h \
	vgtool/views/firefox_markers.c vgtool/views/firefox_markers.h \
	vgtool/views/firefox_profile.h \
	vgtool/views/firefox_tables.c vgtool/views/firefox_tables.h \
	vgtool/views/firefox_threads.c vgtool/views/firefox_threads.h \
	vgtool/views/flamegraph.c vgtool/views/flamegraph.h \
	vgtool/views/folded.c vgtool/views/folded.h \
	vgtool/views/pprof.c vgtool/views/pprof.h \
	vgtool/views/pprof_file.c vgtool/views/pprof_file.h \
	vgtool/views/pprof_labels.c vgtool/views/pprof_labels.h \
	vgtool/views/pprof_stacks.c vgtool/views/pprof_stacks.h \
	vgtool/views/pprof_tables.c vgtool/views/pprof_tables.h \
	vgtool/views/repeats.c vgtool/views/repeats.h \
	vgtool/views/report.c vgtool/views/report.h \
	vgtool/views/report_functions.c vgtool/views/report_functions.h \
	vgtool/views/report_intervals.c vgtool/views/report_intervals.h \
	vgtool/views/report_threads.c vgtool/views/report_threads.h \
	vgtool/views/report_tree.c vgtool/views/report_tree.h \
	vgtool/views/source_file.c vgtool/views/source_file.h \
	vgtool/views/source_text.c vgtool/views/source_text.h \
	vgtool/views/speedscope.c vgtool/views/speedscope.h \
	vgtool/views/speedscope_intervals.c vgtool/views/speedscope_intervals.h \
	vgtool/views/trimmed_stack.c vgtool/views/trimmed_stack.h \
	vgtool/views/view_intervals.c vgtool/views/view_intervals.h \
	vgtool/views/view_nodes.c vgtool/views/view_nodes.h \
	vgtool/views/view_page.c vgtool/views/view_page.h \
	vgtool/views/view_sources.c vgtool/views/view_sources.h \
	vgtool/views/view_tracks.c vgtool/views/view_tracks.h

# The page of `vgtool view` as one text (vgtool/page/page.h).
nodist_vgtool_libvgtool_a_SOURCES = vgtool/page/page_text.c
page_parts = vgtool/page/page.html vgtool/page/page.css $(page_scripts)
page_scripts = vgtool/page/text.js vgtool/page/model.js vgtool/page/tree.js vgtool/page/timeline.js \
	vgtool/page/colours.js vgtool/page/functions.js vgtool/page/search.js vgtool/page/state.js vgtool/page/draw.js \
	vgtool/page/details.js vgtool/page/table.js vgtool/page/controls.js vgtool/page/input.js vgtool/page/page.js
vgtool/page/page_text.c: vgtool/page/page_text.sh $(page_parts)
	$(AM_V_GEN)$(MKDIR_P) $(@D) && cd $(srcdir) && LC_ALL=C $(SHELL) vgtool/page/page_text.sh $(page_parts) \
		>$(abs_builddir)/$@.part && mv $(abs_builddir)/$@.part $(abs_builddir)/$@
EXTRA_DIST += vgtool/page/page_text.sh $(page_parts)
CLEANFILES += vgtool/page/page_text.c
# The messages of pprof's format.  The header is made before the objects that need it.
pprof_generated = vgtool/views/pprof.pb-c.c vgtool/views/pprof.pb-c.h
nodist_vgtool_libvgtool_a_SOURCES += $(pprof_generated)
vgtool/views/pprof.pb-c.h: vgtool/views/pprof.proto
	$(AM_V_GEN)$(MKDIR_P) $(@D) && $(PROTOC_C) --c_out=. -I$(srcdir) $(srcdir)/vgtool/views/pprof.proto
vgtool/views/pprof.pb-c.c: vgtool/views/pprof.pb-c.h
vgtool/views/pprof.o vgtool/views/pprof_file.o vgtool/views/pprof_labels.o vgtool/views/pprof_stacks.o \
	vgtool/views/pprof_tables.o tests/unit/runner-check_pprof.o: vgtool/views/pprof.pb-c.h
CLEANFILES += $(pprof_generated)
EXTRA_DIST += vgtool/views/pprof.proto
