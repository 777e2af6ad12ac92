# Completions for bash, zsh and fish, from the programs' --help.
# They are made by running the programs, so a cross-compiled build has none.
if COMPLETIONS
bashcompletiondir = $(datadir)/bash-completion/completions
zshcompletiondir = $(datadir)/zsh/site-functions
fishcompletiondir = $(datadir)/fish/vendor_completions.d
completion_programs = $(notdir $(bin_PROGRAMS) $(libexec_PROGRAMS))
bashcompletion_DATA = $(completion_programs:%=completions/bash/%)
zshcompletion_DATA = $(completion_programs:%=completions/zsh/_%)
fishcompletion_DATA = $(completion_programs:%=completions/fish/%.fish)
completion_lists = $(completion_programs:%=completions/%.list)
completions/vgtool.list: vgtool/vgtool
completions/vgctl.list: vgctl/vgctl
completions/vignetted.list: vignetted/vignetted
$(completion_lists): completions/%.list: completions/listing.sh base/counters.c
	$(AM_V_GEN)$(MKDIR_P) completions/bash completions/zsh completions/fish
	$(AM_V_at)AWK='$(AWK)' $(SHELL) $(srcdir)/completions/listing.sh $*/$* $(srcdir)/base/counters.c >$@.part
	$(AM_V_at)mv $@.part $@
$(bashcompletion_DATA): completions/bash/%: completions/%.list completions/bash.awk completions/bash.in
	$(AM_V_GEN)$(AWK) -v program=$* -v template=$(srcdir)/completions/bash.in -f $(srcdir)/completions/bash.awk $< >$@
$(zshcompletion_DATA): completions/zsh/_%: completions/%.list completions/zsh.awk
	$(AM_V_GEN)$(AWK) -v program=$* -f $(srcdir)/completions/zsh.awk $< >$@
$(fishcompletion_DATA): completions/fish/%.fish: completions/%.list completions/fish.awk
	$(AM_V_GEN)$(AWK) -v program=$* -f $(srcdir)/completions/fish.awk $< >$@
CLEANFILES += $(completion_lists) $(bashcompletion_DATA) $(zshcompletion_DATA) $(fishcompletion_DATA)
endif
EXTRA_DIST += completions/listing.sh completions/bash.awk completions/bash.in completions/fish.awk completions/zsh.awk
