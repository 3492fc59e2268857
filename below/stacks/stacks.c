/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The process that reads the files, seen from outside:
 *
 *	stacks_place() --- request: struct stack_request, stack bytes ---> reader_main() --- code_reader_place()
 *	               <-- reply: struct stack_reply ---------------------
 *	stacks_probes() --- request: struct stack_request --------------> reader_main() --- code_reader_probes()
 *	               <-- reply: struct probes_reply, the open file ------
 *
 * A reader that does not answer in time, or dies, is replaced, and the file that it was reading is given up. Its identity lies
 * in a page that both share.
 */
#define _GNU_SOURCE
#include "below/stacks/stacks.h"

#include <errno.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "below/stacks/code_reader.h"
#include "below/stacks/reader_filter.h"

#if defined __has_feature /* clang */
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED
#endif
#elif defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define SANITIZED
#endif

enum request_kind {
	REQUEST_PLACE,
	REQUEST_FOLLOW,
	REQUEST_FORGET,
	REQUEST_PROBES,
	REQUEST_FUNCTIONS
};

struct stack_request {
	uint32_t kind, nbytes;
	uint32_t file, from; /* REQUEST_PROBES, REQUEST_FUNCTIONS */
	int64_t pid;
	uint64_t time_ns, registers[STACK_REGISTERS];
};

struct stack_reply {
	struct code_place place;
	uint32_t new_names;
};

struct probes_reply {
	struct file_identity identity;
	uint32_t exists;
	uint32_t pad;
	struct file_probes probes;
};

struct functions_reply {
	struct file_identity identity;
	uint32_t exists;
	uint32_t pad;
	struct file_functions functions;
};

struct stacks {
	struct stacks_limits limits;
	struct stacks_counts counts;
	struct given_up given_up;
	struct file_identity *working; /* shared with the reader */
	pid_t reader;                  /* 0: none */
	int socket;                    /* to it; -1: none */
	uint64_t next_start_ns;        /* not before, after one that could not be started */
};

static uint64_t
now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* ---- in the process that reads the files ---- */

/* Keeps only the capabilities that open maps and files of other processes. */
static void
drop_capabilities(void)
{
	static const int kept[] = { CAP_DAC_READ_SEARCH, CAP_SYS_PTRACE, CAP_PERFMON,
		CAP_CHECKPOINT_RESTORE };
	struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct caps[2] = { 0 };
	uint32_t mask[2] = { 0 };

	if (syscall(SYS_capget, &head, caps) != 0)
		return;
	for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
		mask[kept[i] / 32] |= UINT32_C(1) << (kept[i] % 32);
	for (int i = 0; i < 2; i++) {
		caps[i].permitted &= mask[i];
		caps[i].effective = caps[i].permitted;
		caps[i].inheritable = 0;
	}
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	syscall(SYS_capset, &head, caps);
}

static void
confine(const struct stacks *s, pid_t parent)
{
	/* Files are mapped, so the address space must hold them beside what is allocated. */
	uint64_t space = s->limits.memory_bytes * 2 + (UINT64_C(4) << 30);
	struct rlimit limit = { space, space }, none = { 0, 0 };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(0);
	prctl(PR_SET_NAME, "hone-stacks");
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); /* also where the filter is not to be had */
#ifndef SANITIZED
	setrlimit(RLIMIT_AS, &limit);
#else
	(void)limit;
#endif
	setrlimit(RLIMIT_CORE, &none);
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max < 8192 ? limit.rlim_max : 8192;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
	unsetenv("DEBUGINFOD_URLS"); /* libdwfl would ask the network for debug files */
	drop_capabilities();
	for (int i = 1; i < NSIG; i++)
		signal(i, SIG_DFL);
	signal(SIGINT, SIG_IGN); /* of the terminal: ends the caller, and this with it */
#ifndef SANITIZED                /* their calls are many more */
	reader_filter_begin();   /* a kernel without such filters: all of the above is left */
#endif
}

/* fd: -1, or a file that goes with it. */
static bool
send_reply(int socket, void *reply, size_t size, int fd)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} given = { 0 };
	struct iovec part = { reply, size };
	struct msghdr m = { .msg_iov = &part, .msg_iovlen = 1 };

	if (fd >= 0) {
		m.msg_control = given.bytes;
		m.msg_controllen = sizeof given.bytes;
		given.head = (struct cmsghdr){ CMSG_LEN(sizeof fd), SOL_SOCKET, SCM_RIGHTS };
		memcpy(CMSG_DATA(&given.head), &fd, sizeof fd);
	}
	return sendmsg(socket, &m, MSG_NOSIGNAL) == (ssize_t)size;
}

/* With the file, if it has probes. */
static bool
reply_probes(struct code_reader *r, int socket, const struct stack_request *q)
{
	static struct probes_reply reply;
	bool sent;
	int fd;

	memset(&reply, 0, sizeof reply);
	reply.exists = code_reader_probes(
	    r, (pid_t)q->pid, q->file, q->from, now_ns(), &reply.identity, &reply.probes, &fd);
	sent = send_reply(socket, &reply, sizeof reply, reply.probes.total > 0 ? fd : -1);
	if (fd >= 0)
		close(fd);
	return sent;
}

static bool
reply_functions(struct code_reader *r, int socket, const struct stack_request *q, const char *name)
{
	static struct functions_reply reply;
	bool sent;
	int fd;

	memset(&reply, 0, sizeof reply);
	reply.exists = code_reader_functions(
	    r, (pid_t)q->pid, q->file, name, now_ns(), &reply.identity, &reply.functions, &fd);
	sent = send_reply(socket, &reply, sizeof reply, fd);
	if (fd >= 0)
		close(fd);
	return sent;
}

static void
reader_main(const struct stacks *s, int socket)
{
	static uint8_t bytes[STACK_BYTES_MAX] __attribute__((aligned(16)));
	struct code_reader *r = code_reader_new(&s->limits, &s->given_up, s->working);
	struct stack_request q;
	struct iovec parts[] = { { &q, sizeof q }, { bytes, sizeof bytes } };
	struct stack_reply reply;
	ssize_t n;

	while (r != NULL && (n = readv(socket, parts, 2)) >= (ssize_t)sizeof q) {
		struct stack_sample sample = { .pid = (pid_t)q.pid,
			.time_ns = q.time_ns,
			.bytes = bytes,
			.nbytes = (size_t)n - sizeof q };

		memcpy(sample.registers, q.registers, sizeof q.registers);
		if (q.kind == REQUEST_FOLLOW)
			code_reader_follow(r, sample.pid, now_ns());
		else if (q.kind == REQUEST_FORGET)
			code_reader_forget(r, sample.pid, q.time_ns);
		else if (q.kind == REQUEST_PROBES) {
			if (!reply_probes(r, socket, &q))
				break;
		} else if (q.kind == REQUEST_FUNCTIONS) {
			bytes[sample.nbytes < sizeof bytes ? sample.nbytes : sizeof bytes - 1] = 0;
			if (!reply_functions(r, socket, &q, (const char *)bytes))
				break;
		} else {
			memset(&reply, 0, sizeof reply);
			reply.new_names = code_reader_place(r, &sample, now_ns(), &reply.place);
			if (write(socket, &reply, sizeof reply) != (ssize_t)sizeof reply)
				break;
		}
	}
	_exit(0);
}

/* ---- in the caller's ---- */

static void
end_reader(struct stacks *s)
{
	if (s->socket >= 0)
		close(s->socket);
	s->socket = -1;
	if (s->reader > 0) {
		kill(s->reader, SIGKILL);
		while (waitpid(s->reader, NULL, 0) < 0 && errno == EINTR)
			;
	}
	s->reader = 0;
}

static int
start_reader(struct stacks *s, struct err *e)
{
	pid_t parent = getpid();
	int pair[2];

	*s->working = (struct file_identity){ 0 };
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
		return err_errno(e, "socketpair");
	s->reader = fork();
	if (s->reader < 0) {
		close(pair[0]);
		close(pair[1]);
		s->reader = 0;
		return err_errno(e, "fork");
	}
	if (s->reader == 0) {
		enum { ONLY = 3 };

		if (dup3(pair[1], ONLY, 0) < 0 && pair[1] != ONLY)
			_exit(1);
		syscall(SYS_close_range, ONLY + 1, ~0U, 0);
		confine(s, parent);
		reader_main(s, ONLY);
	}
	close(pair[1]);
	s->socket = pair[0];
	return 0;
}

int
stacks_open(struct stacks **ret, const struct stacks_limits *limits, struct err *e)
{
	struct stacks *s = calloc(1, sizeof *s);
	int rc;

	if (s == NULL)
		return err_set(e, ERR_MEMORY, "out of memory");
	s->socket = -1;
	s->limits = *limits;
#define USUAL(field, value)       \
	if (s->limits.field == 0) \
	s->limits.field = (value)
	USUAL(processes, 256);
	USUAL(modules, 512);
	USUAL(names, 65536);
	USUAL(file_bytes, UINT64_C(1) << 30);
	USUAL(memory_bytes, UINT64_C(512) << 20);
	USUAL(sample_ms, 2000);
	USUAL(maps_every_ms, 1000);
#undef USUAL
	s->working = mmap(
	    NULL, sizeof *s->working, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (s->working == MAP_FAILED) {
		s->working = NULL;
		rc = err_errno(e, "mmap");
		goto fail;
	}
	if ((rc = start_reader(s, e)) != 0)
		goto fail;
	*ret = s;
	return 0;
fail:
	stacks_close(s);
	return rc;
}

void
stacks_close(struct stacks *s)
{
	if (s == NULL)
		return;
	end_reader(s);
	if (s->working != NULL)
		munmap(s->working, sizeof *s->working);
	free(s);
}

/* Starts another reader, since this one is dead or hangs. If the file that it was reading is to blame, that is given up. */
static void
replace_reader(struct stacks *s, bool blame)
{
	struct file_identity file;

	end_reader(s);
	file = *s->working;
	if (blame && file.inode != 0) {
		s->given_up.files[s->given_up.count++ % GIVEN_UP_MAX] = file;
		s->counts.given_up_files++;
	}
	s->next_start_ns = start_reader(s, NULL) != 0 ? now_ns() + 1000000000 : 0;
}

uint64_t
stacks_cpu_ns(const struct stacks *s)
{
	struct timespec t;
	clockid_t clock;

	if (s->reader == 0 || clock_getcpuclockid(s->reader, &clock) != 0 ||
	    clock_gettime(clock, &t) != 0)
		return 0;
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static bool
ask(struct stacks *s, const struct stack_request *q, const uint8_t *bytes)
{
	struct iovec parts[] = { { (void *)q, sizeof *q }, { (void *)bytes, q->nbytes } };
	struct msghdr m = { .msg_iov = parts, .msg_iovlen = 2 };

	if (s->reader == 0 && now_ns() >= s->next_start_ns)
		replace_reader(s, false);
	if (s->socket < 0)
		return false;
	/* The reader answers before the next request, so the socket has room, but after many of the others. */
	for (int tries = 0; tries < 2; tries++) {
		struct pollfd p = { s->socket, POLLOUT, 0 };

		if (sendmsg(s->socket, &m, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0)
			return true;
		if (errno != EAGAIN || poll(&p, 1, (int)s->limits.sample_ms) <= 0)
			break;
	}
	replace_reader(s, true);
	return false;
}

/* The reply of this size that has come, and the file that came with it (-1: none). False: it is another one. */
static bool
take_reply(int socket, void *ret, size_t size, int *fd)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} given;
	struct iovec part = { ret, size };
	struct msghdr m = { .msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = given.bytes,
		.msg_controllen = sizeof given.bytes };
	ssize_t n = recvmsg(socket, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	struct cmsghdr *c = n >= 0 ? CMSG_FIRSTHDR(&m) : NULL;

	*fd = -1;
	if (c != NULL && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
	    c->cmsg_len == CMSG_LEN(sizeof *fd))
		memcpy(fd, CMSG_DATA(c), sizeof *fd);
	return n == (ssize_t)size;
}

/*
 * Waits for the reply. The budget is CPU time of the reader, as a loaded machine is no fault of a file; a reader that does
 * not run at all is replaced after WAITS times as long.
 */
static bool
answer(struct stacks *s, uint64_t cpu_before_ns, void *ret, size_t size, int *fd)
{
	enum { WAITS = 3 };
	uint64_t budget = s->limits.sample_ms * UINT64_C(1000000), began = now_ns();

	for (;;) {
		struct pollfd p = { s->socket, POLLIN, 0 };
		int n = poll(&p, 1, (int)s->limits.sample_ms);

		if (n < 0 && errno == EINTR)
			continue;
		if (n > 0) {
			if (take_reply(s->socket, ret, size, fd))
				return true;
			if (*fd >= 0)
				close(*fd);
			*fd = -1;
			replace_reader(s, true);
			return false;
		}
		if (stacks_cpu_ns(s) - cpu_before_ns >= budget) {
			replace_reader(s, true);
			return false;
		}
		if (now_ns() - began >= WAITS * budget) {
			replace_reader(s, false);
			return false;
		}
	}
}

void
stacks_follow(struct stacks *s, pid_t pid)
{
	struct stack_request q = { .kind = REQUEST_FOLLOW, .pid = pid };

	ask(s, &q, NULL);
}

void
stacks_forget(struct stacks *s, pid_t pid, uint64_t since_ns)
{
	struct stack_request q = { .kind = REQUEST_FORGET, .pid = pid, .time_ns = since_ns };

	ask(s, &q, NULL);
}

void
stacks_place(struct stacks *s, const struct stack_sample *sample, struct code_place *ret)
{
	struct stack_request q = { .kind = REQUEST_PLACE,
		.pid = sample->pid,
		.time_ns = sample->time_ns,
		.nbytes = (uint32_t)(sample->nbytes < STACK_BYTES_MAX ? sample->nbytes
								      : STACK_BYTES_MAX) };
	uint64_t cpu_ns = stacks_cpu_ns(s);
	struct stack_reply reply;
	int fd = -1;

	memcpy(q.registers, sample->registers, sizeof q.registers);
	if (ask(s, &q, sample->bytes) && answer(s, cpu_ns, &reply, sizeof reply, &fd)) {
		*ret = reply.place;
		ret->folded[PLACE_FOLDED_MAX] = ret->function[PLACE_FUNCTION_MAX] = '\0';
		ret->file[PLACE_FILE_MAX] = ret->call[PLACE_FUNCTION_MAX] = '\0';
		s->counts.names += reply.new_names;
	} else
		code_place_make(ret, NULL, 0, 0, STACK_GIVEN_UP);
	if (fd >= 0) /* only a reader that was taken over sends one here */
		close(fd);
	s->counts.samples++;
	s->counts.frames += ret->frames;
	s->counts.ends[ret->end <= STACK_GIVEN_UP ? ret->end : STACK_GIVEN_UP]++;
}

bool
stacks_probes(struct stacks *s, pid_t pid, uint32_t file, uint32_t from,
    struct file_identity *identity, struct file_probes *ret, int *fd)
{
	const struct stack_request q = {
		.kind = REQUEST_PROBES, .pid = pid, .file = file, .from = from
	};
	uint64_t cpu_ns = stacks_cpu_ns(s);
	static struct probes_reply reply;

	*fd = -1;
	memset(ret, 0, sizeof *ret);
	*identity = (struct file_identity){ 0 };
	if (!ask(s, &q, NULL) || !answer(s, cpu_ns, &reply, sizeof reply, fd))
		return s->socket >=
		       0; /* a file that ended the reader is left out; the next may be read */
	*identity = reply.identity;
	*ret = reply.probes;
	if (ret->count > FILE_PROBES_MAX || ret->total > USDT_PROBES_MAX)
		*ret = (struct file_probes){ 0 };
	for (uint32_t i = 0; i < ret->count; i++) {
		ret->list[i].name[FILE_PROBE_NAME_MAX] = '\0';
		if (ret->list[i].nvalues > FILE_PROBE_VALUES_MAX)
			ret->list[i].nvalues = 0;
	}
	return reply.exists;
}

bool
stacks_functions(struct stacks *s, pid_t pid, uint32_t file, const char *name,
    struct file_identity *identity, struct file_functions *ret, int *fd)
{
	const struct stack_request q = { .kind = REQUEST_FUNCTIONS,
		.pid = pid,
		.file = file,
		.nbytes = (uint32_t)strnlen(name, PLACE_FUNCTION_MAX) };
	uint64_t cpu_ns = stacks_cpu_ns(s);
	static struct functions_reply reply;

	*fd = -1;
	*identity = (struct file_identity){ 0 };
	*ret = (struct file_functions){ .lack = FUNCTION_MISSING };
	if (!ask(s, &q, (const uint8_t *)name) || !answer(s, cpu_ns, &reply, sizeof reply, fd))
		return s->socket >= 0;
	*identity = reply.identity;
	*ret = reply.functions;
	if (ret->count > FILE_FUNCTIONS_MAX || *fd < 0)
		ret->count = 0;
	if (ret->lack >= FUNCTION_LACKS || (ret->count == 0 && ret->lack == FUNCTION_IS_PROBED))
		ret->lack = FUNCTION_MISSING;
	for (uint32_t i = 0; i < ret->count; i++)
		if (ret->list[i].nexits > FUNCTION_EXITS_MAX)
			ret->list[i].nexits = 0;
	return reply.exists;
}

void
stacks_counts(const struct stacks *s, struct stacks_counts *ret)
{
	*ret = s->counts;
}
