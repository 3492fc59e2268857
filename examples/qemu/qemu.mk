# QEMU's storage daemon, a program from Debian that has its own LTTng-UST tracepoints and does not use Hone (docs/qemu.md).
# Not part of the target all: its source is downloaded, and it takes minutes to build.
qemu:
	@tools/setup.sh qemu
	@O=$(abspath $O) examples/qemu/qemu.sh get
	@O=$(abspath $O) examples/qemu/qemu.sh build

install: install-qemu-map
install-qemu-map:
	install -d $(DESTDIR)$(PREFIX)/share/hone/maps
	install -m644 examples/qemu/qemu.map $(DESTDIR)$(PREFIX)/share/hone/maps

.PHONY: qemu install-qemu-map
