# Examples, the demo, the gallery.  An example is compiled as an application would be: with vgctl.h only.
noinst_PROGRAMS = examples/life examples/sample_once examples/stall
examples_life_SOURCES = examples/life.c
examples_life_CPPFLAGS = -D_GNU_SOURCE -I$(srcdir)/libvgctl
examples_life_LDADD = $(libvgctl_so)
examples_sample_once_SOURCES = examples/sample_once.c
examples_sample_once_CPPFLAGS = -D_GNU_SOURCE -I$(srcdir)/libvgctl
examples_sample_once_LDADD = $(libvgctl_so)
examples_stall_SOURCES = examples/stall.c
examples_stall_CPPFLAGS = -D_GNU_SOURCE -I$(srcdir)/libvgctl
examples_stall_LDADD = $(libvgctl_so)
examplesdir = $(docdir)/examples
dist_examples_DATA = \
	examples/life.c \
	examples/meson.build \
	examples/primes.cc \
	examples/primes.go \
	examples/primes.py \
	examples/primes.rs \
	examples/sample_once.c \
	examples/simulation.c \
	examples/simulation.cc \
	examples/simulation.rs \
	examples/stall.c
EXTRA_DIST += examples/demo.sh examples/gallery.sh

demo: all
	@$(AM_TESTS_ENVIRONMENT) unset VIGNETTED; CFLAGS='-O2 -g $(SANITIZE_CFLAGS)' \
		$(SHELL) $(srcdir)/examples/demo.sh $(abs_builddir)/demo
.PHONY: demo

gallery: all
	@$(AM_TESTS_ENVIRONMENT) $(SHELL) $(srcdir)/examples/gallery.sh $(abs_builddir)/gallery
.PHONY: gallery

# Makes the pictures of the documents anew: doc/gallery/ (README.md shows doc/gallery/c.png), and the one of the
# tutorial.  Needs the packages of ./bootstrap check, and a font with emoji for Speedscope's buttons, such as Debian's
# fonts-symbola.
picture: gallery
	@$(AM_TESTS_ENVIRONMENT) PICTURE=$(abs_srcdir)/doc/speedscope.png $(SHELL) $(srcdir)/tests/views/tutorial.sh
	cp gallery/*.png $(srcdir)/doc/gallery/
.PHONY: picture
