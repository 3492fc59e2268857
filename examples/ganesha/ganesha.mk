# nfs-ganesha, a program from Debian that has its own LTTng-UST tracepoints and does not use Hone (docs/ganesha.md).
# Not part of the target all: its source is downloaded, and it takes minutes to build.

# Only this program needs libnfs.
$O/examples/ganesha/ganesha-load: $O/examples/ganesha/nfs_load.o
	$(CC) -o $@ $^ $(LDFLAGS_ALL) -lnfs
$O/examples/ganesha/ganesha-lease: $O/examples/ganesha/lease.o
	$(CC) -o $@ $^ $(LDFLAGS_ALL)

ganesha:
	@tools/setup.sh ganesha
	@$(MAKE) --no-print-directory $O/examples/ganesha/ganesha-load $O/examples/ganesha/ganesha-lease
	@O=$(abspath $O) examples/ganesha/ganesha.sh get
	@O=$(abspath $O) examples/ganesha/ganesha.sh build

install: install-maps
install-maps:
	install -d $(DESTDIR)$(PREFIX)/share/hone/maps
	install -m644 $(wildcard examples/ganesha/*.map) $(DESTDIR)$(PREFIX)/share/hone/maps

.PHONY: ganesha install-maps
