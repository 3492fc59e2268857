/* SPDX-License-Identifier: MIT */
/*
 * libhone_postgres_waits.so, preloaded into a PostgreSQL server: the waits of a
 * backend as spans. For pg_stat_activity the server keeps a word that identifies
 * what this process waits for; the C library functions in which it waits are wrapped
 * here and read that word. While the tracepoint is disabled, a wrapper costs three
 * loads and a jump; in a program other than PostgreSQL, one load.
 *
 * The word is
 *
 *	31     24 23            16 15                     0
 *	| class  |       0        |  event in its class    |
 *
 * Classes have the same numbers in all versions of the server; events have not, so
 * events are identified by the name that the server returns for them.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/uio.h>
#include <unistd.h>

#include "instrument/postgres/postgres_waits_tracepoints.h"

/* Of the server; NULL in other programs. */
extern uint32_t *my_wait_event_info __attribute__((weak));
extern const char *pgstat_get_wait_event(uint32_t wait_event_info) __attribute__((weak));

enum kind {
	NOTHING,
#define KIND(name, words) WAIT_##name,
#include "instrument/postgres/postgres_waits.tbl.h"
#undef KIND
};

enum { CLASS_SHIFT = 24, CLASS_EXTENSION = 7, CLASS_IO = 10 };

/* Class 5 (activity), an idle process of the server itself, is left out: it is not a wait of a
 * statement. */
static const uint8_t class_kind[] = {
	[1] = WAIT_lwlock,
	[3] = WAIT_lock,
	[4] = WAIT_buffer_pin,
	[6] = WAIT_client,
	[CLASS_EXTENSION] = WAIT_extension,
	[8] = WAIT_ipc,
	[9] = WAIT_timeout,
	[CLASS_IO] = WAIT_io,
};

/* Compared ignoring case, which differs between versions. */
static const struct {
	const char *name;
	enum kind kind;
} io_names[] = {
	{ "DataFileRead", WAIT_data_read },
	{ "DataFilePrefetch", WAIT_data_read },
	{ "DataFileWrite", WAIT_data_write },
	{ "DataFileExtend", WAIT_data_write },
	{ "DataFileFlush", WAIT_data_write },
	{ "DataFileSync", WAIT_data_sync },
	{ "DataFileImmediateSync", WAIT_data_sync },
	{ "DataFileTruncate", WAIT_data_sync },
	{ "BufFileRead", WAIT_temp },
	{ "BufFileWrite", WAIT_temp },
	{ "BufFileTruncate", WAIT_temp },
	{ "WALWrite", WAIT_wal_write },
	{ "WALInitWrite", WAIT_wal_write },
	{ "WALSync", WAIT_wal_sync },
	{ "WALInitSync", WAIT_wal_sync },
	{ "WALSyncMethodAssign", WAIT_wal_sync },
};

static uint8_t io_kind[256]; /* by event; NOTHING: not in io_names */

/* The main thread of each process of the server; its id is the same after fork(). The tracer's threads
 * in the process wait, too, but are not recorded. */
static pthread_t worker;

/* Emitting a record may wait in a function that is wrapped here; that wait is not recorded. */
static __thread bool recording __attribute__((tls_model("initial-exec")));

__attribute__((constructor)) static void
waits_start(void)
{
	worker = pthread_self();
	if (&my_wait_event_info == NULL || pgstat_get_wait_event == NULL)
		return;
	for (uint32_t event = 0; event < sizeof io_kind; event++) {
		const char *name = pgstat_get_wait_event((uint32_t)CLASS_IO << CLASS_SHIFT | event);

		for (size_t i = 0; name != NULL && i < sizeof io_names / sizeof *io_names; i++) {
			if (strcasecmp(name, io_names[i].name) == 0)
				io_kind[event] = io_names[i].kind;
		}
	}
}

static inline enum kind
kind_of(uint32_t info)
{
	uint32_t class = info >> CLASS_SHIFT;

	if (class == CLASS_IO && (info & 0xffff) < sizeof io_kind &&
	    io_kind[info & 0xff] != NOTHING)
		return io_kind[info & 0xff];
	return class < sizeof class_kind ? class_kind[class] : NOTHING;
}

static inline bool
enabled(enum kind kind)
{
	switch (kind) {
#define KIND(name, words)                                                             \
	case WAIT_##name:                                                             \
		return lttng_ust_tracepoint_enabled(postgres, wait_##name##_begin) || \
		       lttng_ust_tracepoint_enabled(postgres, wait_##name##_end);
#include "instrument/postgres/postgres_waits.tbl.h"
#undef KIND
	case NOTHING:
		break;
	}
	return false;
}

/* The server's word if the wait that begins now is to be recorded; otherwise 0. */
static inline uint32_t
wait_now(void)
{
	uint32_t info = &my_wait_event_info != NULL ? *(volatile uint32_t *)my_wait_event_info : 0;

	if (__builtin_expect(info == 0, 1) || __builtin_expect(!enabled(kind_of(info)), 1))
		return 0;
	return !recording && pthread_equal(worker, pthread_self()) ? info : 0;
}

/* Names of extensions are not requested: later versions of the server take a lock for them. */
static const char *
event_name(uint32_t info)
{
	const char *name = NULL;

	if (info >> CLASS_SHIFT != CLASS_EXTENSION && pgstat_get_wait_event != NULL)
		name = pgstat_get_wait_event(info);
	return name != NULL ? name : "Extension";
}

static __attribute__((noinline)) void
wait_begins(uint32_t info)
{
	int before = errno;

	recording = true;
	switch (kind_of(info)) {
#define KIND(name, words)                                                              \
	case WAIT_##name:                                                              \
		lttng_ust_tracepoint(postgres, wait_##name##_begin, event_name(info)); \
		break;
#include "instrument/postgres/postgres_waits.tbl.h"
#undef KIND
	case NOTHING:
		break;
	}
	recording = false;
	errno = before;
}

static __attribute__((noinline)) void
wait_ends(uint32_t info)
{
	int before = errno;

	recording = true;
	switch (kind_of(info)) {
#define KIND(name, words)                                                            \
	case WAIT_##name:                                                            \
		lttng_ust_tracepoint(postgres, wait_##name##_end, event_name(info)); \
		break;
#include "instrument/postgres/postgres_waits.tbl.h"
#undef KIND
	case NOTHING:
		break;
	}
	recording = false;
	errno = before;
}

/* The next definition of a function. Concurrent calls find the same one. */
static __attribute__((noinline, cold)) void *
find(void **next, const char *name)
{
	void *found = dlsym(RTLD_NEXT, name);

	__atomic_store_n(next, found, __ATOMIC_RELEASE);
	return found;
}

#define WRAP(type, name, takes, hands)                                                     \
	__attribute__((visibility("default"))) type name takes;                            \
	type name takes                                                                    \
	{                                                                                  \
		static void *next;                                                         \
		void *at = __atomic_load_n(&next, __ATOMIC_ACQUIRE);                       \
		type(*call) takes = (type(*) takes)(at != NULL ? at : find(&next, #name)); \
		uint32_t info = wait_now();                                                \
		type result;                                                               \
                                                                                           \
		if (__builtin_expect(info == 0, 1))                                        \
			return call hands;                                                 \
		wait_begins(info);                                                         \
		result = call hands;                                                       \
		wait_ends(info);                                                           \
		return result;                                                             \
	}

WRAP(int, epoll_wait, (int fd, struct epoll_event *events, int max, int timeout),
    (fd, events, max, timeout))
WRAP(int, poll, (struct pollfd * fds, nfds_t n, int timeout), (fds, n, timeout))
WRAP(int, sem_wait, (sem_t * sem), (sem))
WRAP(ssize_t, pread, (int fd, void *to, size_t n, off_t at_byte), (fd, to, n, at_byte))
WRAP(ssize_t, pwrite, (int fd, const void *from, size_t n, off_t at_byte), (fd, from, n, at_byte))
WRAP(ssize_t, preadv, (int fd, const struct iovec *to, int n, off_t at_byte), (fd, to, n, at_byte))
WRAP(ssize_t, pwritev, (int fd, const struct iovec *from, int n, off_t at_byte),
    (fd, from, n, at_byte))
WRAP(int, fsync, (int fd), (fd))
WRAP(int, fdatasync, (int fd), (fd))
WRAP(int, sync_file_range, (int fd, off64_t at_byte, off64_t n, unsigned int flags),
    (fd, at_byte, n, flags))
WRAP(int, ftruncate, (int fd, off_t n), (fd, n))
WRAP(int, posix_fallocate, (int fd, off_t at_byte, off_t n), (fd, at_byte, n))
