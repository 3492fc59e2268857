# PostgreSQL: hone_postgres.so, which the server loads, and libhone_postgres_waits.so, which is preloaded.
# Built for the server of pg_config (PG_CONFIG). A server without sanitizers cannot load a library that has them.

PG_CONFIG ?= pg_config
PG_INCLUDE := $(shell $(PG_CONFIG) --includedir-server 2>/dev/null)
PG_HEADERS := $(wildcard $(PG_INCLUDE)/postgres.h)

PG_OBJS := $(patsubst %,$O/instrument/postgres/%.o,postgres_hooks postgres_spans postgres_statement postgres_parallel postgres_comment postgres_tracepoints)
PG_WAITS_OBJS := $(patsubst %,$O/instrument/postgres/%.o,postgres_waits postgres_waits_tracepoints)
PG_MADE := $O/lib/hone/hone_postgres.so $O/lib/hone/libhone_postgres_waits.so

$(PG_OBJS): CFLAGS_ALL += $(PG_INCLUDE:%=-isystem %)

$O/lib/hone/hone_postgres.so: $(PG_OBJS) $O/lib/libhone.so
	@mkdir -p $(@D) && $(CC) -shared -o $@ $(PG_OBJS) $(LDFLAGS_ALL) -Wl,-z,now -L$O/lib -lhone \
		-Wl,-rpath,'$$ORIGIN/..' -llttng-ust
$O/lib/hone/libhone_postgres_waits.so: $(PG_WAITS_OBJS)
	@mkdir -p $(@D) && $(CC) -shared -o $@ $^ $(LDFLAGS_ALL) -Wl,-z,now -llttng-ust -ldl

ifeq ($(PG_HEADERS),)
postgres:
	@echo "postgres: modules not built: no server headers found (Debian: postgresql-server-dev-all; or PG_CONFIG=...)"
else ifneq ($(SAN),)
postgres:
else
postgres: $(PG_MADE)
install-postgres: postgres
	install -d $(DESTDIR)$(PREFIX)/lib/hone
	install -m755 $(PG_MADE) $(DESTDIR)$(PREFIX)/lib/hone
install: install-postgres
bench: postgres-bench
endif
all: postgres

$O/tests/unit/instrument/postgres_comment_test $O/tests/fuzz/instrument_postgres_comment: $O/instrument/postgres/postgres_comment.o

$O/bench/postgres_pairs: $O/bench/postgres_pairs.o
	$(CC) -o $@ $^ $(LDFLAGS_ALL) -lpq
$O/bench/postgres_pairs.o: CFLAGS_ALL += $(shell pkg-config --cflags libpq 2>/dev/null)
$O/bench/postgres_waits: $O/bench/postgres_waits.o
	$(CC) -o $@ $^ $(LDFLAGS_ALL) -rdynamic
postgres-bench: postgres $O/bench/postgres_pairs $O/bench/postgres_waits

.PHONY: postgres postgres-bench install-postgres
