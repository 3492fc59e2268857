/* SPDX-License-Identifier: MIT */
/*
 * Reading the agent's table. Both rates are compared with the same random number, so that probed requests are always
 * sampled ones.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "instrument/inside.h"
#include "instrument/policy.h"

#define LOOK_EVERY_NS UINT64_C(1000000000)

#define load(p) __atomic_load_n(p, __ATOMIC_RELAXED)
#define load_first(p) __atomic_load_n(p, __ATOMIC_ACQUIRE)
#define store(p, v) __atomic_store_n(p, v, __ATOMIC_RELEASE)

static struct {
	const struct hone_policy *table;
	uint64_t look_after_ns, knock_after_ns;
	uint64_t file_device, file_number; /* of what is mapped */
	bool trusted, sample_without;
	char path[256];
} policy;

void
policy_init(const char *path, bool trusted, bool sample_without)
{
	size_t len = path != NULL ? strlen(path) : 0;

	memset(&policy, 0, sizeof policy);
	if (len < sizeof policy.path)
		memcpy(policy.path, path != NULL ? path : "", len);
	policy.trusted = trusted;
	policy.sample_without = sample_without;
}

/*
 * Every user may create files in /dev/shm, and the owner of a file can shorten it, which kills a program that
 * has mapped it (SIGBUS). So the file must belong to root or to this user, unless its path was configured.
 */
static bool
file_fits(const struct stat *st)
{
	if (!S_ISREG(st->st_mode) || st->st_size < (off_t)sizeof(struct hone_policy))
		return false;
	return policy.trusted ||
	       ((st->st_uid == 0 || st->st_uid == geteuid()) && (st->st_mode & S_IWOTH) == 0);
}

static const struct hone_policy *
table_map(int fd)
{
	const struct hone_policy *t = mmap(NULL, sizeof *t, PROT_READ, MAP_SHARED, fd, 0);

	if (t == MAP_FAILED)
		return NULL;
	if (load_first(&t->magic) == HONE_POLICY_MAGIC && t->version == HONE_POLICY_VERSION &&
	    t->ntypes == HONE_POLICY_TYPES)
		return t;
	munmap((void *)t, sizeof *t);
	return NULL;
}

static int
table_open(struct stat *st)
{
	int fd = open(policy.path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd >= 0 && fstat(fd, st) == 0 && file_fits(st))
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

/* A replaced table stays mapped, since another thread may be reading it. Tables are replaced only if the file in
 * /dev/shm was deleted, which is rare. */
static __attribute__((noinline, cold)) const struct hone_policy *
table_look(const struct hone_policy *had)
{
	const struct hone_policy *t = NULL;
	struct stat st;
	int fd = table_open(&st);

	if (fd < 0)
		return had;
	if (!(had != NULL && load(&policy.file_device) == st.st_dev &&
		load(&policy.file_number) == st.st_ino))
		t = table_map(fd);
	close(fd);
	if (t == NULL)
		return had;
	store(&policy.file_device, st.st_dev);
	store(&policy.file_number, st.st_ino);
	store(&policy.table, t);
	return t;
}

/* The table, or NULL. Without a table, or after its lease, one thread a second tries to open a new one. */
static const struct hone_policy *
table_now(uint64_t now_ns)
{
	const struct hone_policy *t = load_first(&policy.table);
	uint64_t after_ns = load(&policy.look_after_ns);

	if (t != NULL && now_ns < load(&t->sample_until_ns))
		return t;
	if (now_ns < after_ns ||
	    !__atomic_compare_exchange_n(&policy.look_after_ns, &after_ns, now_ns + LOOK_EVERY_NS,
		false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return t;
	return table_look(t);
}

static const struct hone_policy_entry *
entry_find(const struct hone_policy *t, uint32_t request_type)
{
	for (uint32_t i = 0; i < HONE_POLICY_TYPES; i++) {
		const struct hone_policy_entry
		    *e = &t->types[(request_type + i) % HONE_POLICY_TYPES];
		uint32_t type = load_first(&e->request_type);

		if (type == request_type)
			return e;
		if (type == 0)
			break;
	}
	return NULL;
}

static inline bool
within(uint32_t draw, uint32_t rate)
{
	return draw < rate || rate == UINT32_MAX;
}

void
policy_decide(struct hone_carrier *c, uint64_t now_ns, bool called, uint32_t draw)
{
	const struct hone_policy *t = table_now(now_ns);
	const struct hone_policy_entry *e;

	c->sampled = t == NULL && policy.sample_without;
	c->probed = 0;
	if (t == NULL || now_ns >= load(&t->sample_until_ns))
		return;
	if (called && load(&t->callers_known) != 0)
		draw = hone_policy_draw(c->trace_id);
	e = entry_find(t, c->request_type);
	c->sampled = within(draw, load(e != NULL ? &e->sample_rate : &t->sample_rate));
	if (c->sampled && e != NULL && now_ns < load_first(&e->probe_until_ns))
		c->probed = within(draw, load(&e->probe_rate));
}

/* The socket may be another user's, who then learns that this program samples. EAGAIN: the agent's queue is full. */
static int
knock(void)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	size_t len = strlen(policy.path);
	int fd, failed;

	if (len + sizeof HONE_POLICY_KNOCK > sizeof at.sun_path)
		return ENAMETOOLONG;
	memcpy(at.sun_path, policy.path, len);
	memcpy(at.sun_path + len, HONE_POLICY_KNOCK, sizeof HONE_POLICY_KNOCK);
	if ((fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) < 0)
		return errno;
	failed = connect(fd, (const struct sockaddr *)&at, sizeof at) != 0 ? errno : 0;
	close(fd);
	return failed;
}

/* Several threads may knock at the same time, so that one that is delayed half-way does not suppress the others. The
 * clock has steps of up to 10 ms, so the pause is half of HONE_POLICY_KNOCK_NS. */
__attribute__((cold)) void
policy_unwritten(uint64_t now_ns)
{
	int was = errno;

	if (now_ns < load(&policy.knock_after_ns))
		return;
	if (knock() != EAGAIN)
		store(&policy.knock_after_ns, now_ns + HONE_POLICY_KNOCK_NS / 2);
	errno = was;
}
