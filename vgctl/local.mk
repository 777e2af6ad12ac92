# vgctl: remote recordings of a process whose helper listens.
vgctl_vgctl_SOURCES = \
	vgctl/arguments.c vgctl/arguments.h \
	vgctl/commands.c vgctl/commands.h \
	vgctl/helpers.c vgctl/helpers.h \
	vgctl/main.c
vgctl_vgctl_LDADD = libvgctl/libwire.a base/libbase.a
