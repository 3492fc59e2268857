# hone_redis.so: the module that Redis loads. Its build needs no file of Redis.

REDIS_OBJS := $(patsubst %.c,$O/%.o,$(wildcard instrument/redis/*.c))

# redis-server exports all its functions. Hidden symbols keep calls inside of the module from being bound to a function
# of the server that has the same name.
$(REDIS_OBJS): CFLAGS_ALL += -fvisibility=hidden

redis: $O/lib/hone/hone_redis.so
all: redis

$O/lib/hone/hone_redis.so: $(REDIS_OBJS) $O/lib/libhone.so
	@mkdir -p $(@D)
	$(CC) -shared -o $@ $(REDIS_OBJS) $(LDFLAGS_ALL) $(if $(SAN),,-Wl,-z,defs) -Wl,-z,nodelete -L$O/lib -lhone \
		-Wl,-rpath,'$$ORIGIN/..' -llttng-ust

install: install-redis
install-redis: redis
	install -Dm755 $O/lib/hone/hone_redis.so $(DESTDIR)$(PREFIX)/lib/hone/hone_redis.so

.PHONY: redis install-redis

$O/tests/unit/redis/redis_names_test: $O/tests/unit/redis/redis_names_test.o $O/instrument/redis/redis_names.o
	$(CC) -o $@ $^ $(LDFLAGS_ALL) -lcmocka
UNIT_TESTS += $O/tests/unit/redis/redis_names_test
