# libhone: the part of Hone in the traced program. It uses no other room.

HONE_OBJS := $(patsubst %.c,$O/%.o,$(addprefix instrument/,hone.c ids.c carrier.c policy_shm.c context_lttng.c tracepoints_lttng.c))
# For programs in $O/bin; others use `pkg-config --libs hone`.
HONE_LINK  = -L$O/lib -lhone -Wl,-rpath,'$$ORIGIN/../lib' -Wl,-rpath,$(abspath $O/lib)

instrument: $O/lib/libhone.so $O/bin/hone-example $O/bin/hone-example-cc

$O/lib/libhone.so: $(HONE_OBJS) instrument/libhone.map
	@mkdir -p $(@D)
	$(CC) -shared -o $@.0 $(HONE_OBJS) -Wl,-soname,libhone.so.0 -Wl,--version-script=instrument/libhone.map \
		$(LDFLAGS_ALL) -llttng-ust
	ln -sf libhone.so.0 $@

$O/bin/hone-example: $O/instrument/example.o $O/lib/libhone.so
	@mkdir -p $(@D) && $(CC) -o $@ $< $(LDFLAGS_ALL) $(HONE_LINK) -llttng-ust
$O/bin/hone-example-cc: instrument/example.cc instrument/hone.h $O/lib/libhone.so
	@mkdir -p $(@D) && $(CXX) -std=c++11 -Wall -Wextra -pedantic -I. $(SAN:%=-fsanitize=%) -o $@ $< $(LDFLAGS_ALL) $(HONE_LINK)

# Tests of internal functions link the objects, since the library hides these functions.
$O/tests/unit/instrument/%_test: $O/tests/unit/instrument/%_test.o $(HONE_OBJS)
	$(CC) -o $@ $^ $(LDFLAGS_ALL) -llttng-ust -lcmocka
$O/tests/fuzz/instrument_%: $O/tests/fuzz/instrument_%.o $O/instrument/carrier.o $O/instrument/policy_shm.o
	$(CC) -fsanitize=fuzzer -o $@ $^ $(LDFLAGS_ALL)
UNIT_TESTS += $(patsubst %.c,$O/%,$(wildcard tests/unit/instrument/*_test.c))

# A program that does not link libhone, and one that writes the agent's table.
$O/tests/scenario/instrument_plain: $O/tests/scenario/instrument_plain.o
	$(CC) -o $@ $^ $(LDFLAGS_ALL) -llttng-ust
$O/tests/scenario/instrument_policy: $O/tests/scenario/instrument_policy.o
	$(CC) -o $@ $^ $(LDFLAGS_ALL)
instrument-scenario: instrument $O/tests/scenario/instrument_plain $O/tests/scenario/instrument_policy

$O/bench/instrument_cost: $O/bench/instrument_cost.o
	$(CC) -o $@ $^ $(LDFLAGS_ALL) -llttng-ust
instrument-bench: instrument $O/bench/instrument_cost $O/tests/scenario/instrument_policy

install-instrument: instrument
	install -Dm644 instrument/hone.h $(DESTDIR)$(PREFIX)/include/hone.h
	install -Dm755 $O/lib/libhone.so.0 $(DESTDIR)$(LIBDIR)/libhone.so.0
	ln -sf libhone.so.0 $(DESTDIR)$(LIBDIR)/libhone.so
	mkdir -p $(DESTDIR)$(LIBDIR)/pkgconfig
	sed 's|@PREFIX@|$(PREFIX)|; s|@LIBDIR@|$(LIBDIR)|; s|@VERSION@|$(VERSION)|' instrument/hone.pc.in > \
		$(DESTDIR)$(LIBDIR)/pkgconfig/hone.pc
	install -Dm644 instrument/libhone.3 $(DESTDIR)$(PREFIX)/share/man/man3/libhone.3
	$(if $(DESTDIR),,$(if $(filter 0,$(shell id -u)),ldconfig))

.PHONY: instrument install-instrument instrument-scenario instrument-bench
