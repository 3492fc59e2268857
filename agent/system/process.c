/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE
#include "agent/system/process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/hash.h"

#define LIST_EVERY_NS INT64_C(5000000000)

/* Reads the beginning of a file, up to size - 1 bytes, and terminates it. Returns the length, or
 * -1.
 */
static ssize_t
read_head(const char *path, char *out, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -1;
	n = read(fd, out, size - 1);
	close(fd);
	out[n > 0 ? n : 0] = '\0';
	return n;
}

static uint64_t
file_hash(uint64_t seed, const struct stat *st)
{
	uint64_t id[4] = { st->st_dev, st->st_ino, (uint64_t)st->st_size,
		(uint64_t)st->st_mtim.tv_sec * 1000000000u + (uint64_t)st->st_mtim.tv_nsec };

	return hash_bytes(seed, id, sizeof id) | 1;
}

/* From the file that argv[0] names, that name, and the user of the process. */
static uint64_t
program_of_argv0(pid_t pid)
{
	char path[64], name[PATH_MAX];
	struct stat owner, file;

	snprintf(path, sizeof path, "/proc/%ld/cmdline", (long)pid);
	if (read_head(path, name, sizeof name) <= 0 || name[0] != '/' || stat(name, &file) != 0 ||
	    !S_ISREG(file.st_mode))
		return 0;
	snprintf(path, sizeof path, "/proc/%ld", (long)pid);
	if (stat(path, &owner) != 0)
		return 0;
	return file_hash(hash_bytes(owner.st_uid, name, strlen(name)), &file);
}

/* A hash of LD_PRELOAD, since preloaded libraries bring tracepoints of their own. 0: it is not set,
 * or its environment cannot be read. */
static uint64_t
preload_hash(pid_t pid)
{
	static const char name[] = "LD_PRELOAD=";
	char path[64], all[16384];
	ssize_t n;

	snprintf(path, sizeof path, "/proc/%ld/environ", (long)pid);
	n = read_head(path, all, sizeof all);
	for (const char *at = all; n > 0 && at < all + n; at += strlen(at) + 1)
		if (strncmp(at, name, sizeof name - 1) == 0 && at[sizeof name - 1] != '\0')
			return hash_bytes(0, at, strlen(at));
	return 0;
}

uint64_t
process_program(pid_t pid)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof path, "/proc/%ld/exe", (long)pid);
	if (stat(path, &st) == 0)
		return file_hash(preload_hash(pid), &st);
	return errno == EACCES || errno == EPERM ? program_of_argv0(pid) : 0;
}

bool
process_look(pid_t pid, struct process_look *ret)
{
	char path[64], text[1024], *comm, *after;
	unsigned long long ticks, bytes;

	snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
	if (read_head(path, text, sizeof text) <= 0 || (comm = strchr(text, '(')) == NULL ||
	    (after = strrchr(text, ')')) == NULL)
		return false;
	*after++ = '\0';
	if (sscanf(after,
		" %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d "
		"%*d %*d %*d %llu %llu",
		&ret->state, &ticks, &bytes) != 3)
		return false;
	snprintf(ret->comm, sizeof ret->comm, "%s", comm + 1);
	ret->began_ns = (int64_t)(ticks * (UINT64_C(1000000000) / (uint64_t)sysconf(_SC_CLK_TCK)));
	ret->has_memory = bytes > 0;
	return ret->state != 'Z' && ret->state != 'X';
}

bool
process_is(pid_t pid, const char *comm)
{
	struct process_look look;

	return process_look(pid, &look) && strcmp(look.comm, comm) == 0;
}

/* Its id in the innermost pid namespace that it is in; 0: it is in none of its own, or has ended. */
static pid_t
innermost_id(pid_t pid)
{
	char path[64], text[8192];
	const char *at;
	int ids = 0, len;
	pid_t id = 0;

	snprintf(path, sizeof path, "/proc/%ld/status", (long)pid);
	if (read_head(path, text, sizeof text) <= 0 || (at = strstr(text, "\nNSpid:")) == NULL)
		return 0;
	for (at += strlen("\nNSpid:"); *at != '\n' && sscanf(at, "%d%n", &id, &len) == 1; at += len)
		ids++;
	return ids > 1 ? id : 0;
}

int
process_file(pid_t pid, const char *file)
{
	char path[PATH_MAX + 32];
	struct stat st;
	int fd;

	snprintf(path, sizeof path, "/proc/%d/root%s", (int)pid, file);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 && (errno == EACCES || errno == EPERM))
		fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return -1;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		return fd;
	close(fd);
	return -1;
}

uint32_t
process_find(
    bool (*wants)(void *of, const char *comm), void *of, struct process_found *ret, uint32_t max)
{
	DIR *d = opendir("/proc");
	struct dirent *entry;
	uint32_t n = 0;

	while (d != NULL && n < max && (entry = readdir(d)) != NULL) {
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
		char path[64], comm[sizeof ret->comm + 1];
		ssize_t len;

		if (pid <= 0)
			continue;
		snprintf(path, sizeof path, "/proc/%ld/comm", (long)pid);
		if ((len = read_head(path, comm, sizeof comm)) <= 1)
			continue;
		comm[len - 1] = '\0'; /* the end of the line */
		if (!wants(of, comm) || process_cpu_us(pid) == 0)
			continue;
		ret[n].pid = pid;
		memcpy(ret[n++].comm, comm, (size_t)len);
	}
	if (d != NULL)
		closedir(d);
	return n;
}

uint32_t
process_inside(pid_t inner, const char *comm, pid_t *ret, uint32_t max)
{
	DIR *d = opendir("/proc");
	struct dirent *entry;
	uint32_t n = 0;

	while (d != NULL && n < max && (entry = readdir(d)) != NULL) {
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (pid > 0 && process_is(pid, comm) && innermost_id(pid) == inner)
			ret[n++] = pid;
	}
	if (d != NULL)
		closedir(d);
	return n;
}

bool
process_user(pid_t pid, const char *comm, uint32_t *ret)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof path, "/proc/%ld", (long)pid);
	if (!process_is(pid, comm) || stat(path, &st) != 0)
		return false;
	*ret = st.st_uid;
	return true;
}

bool
process_real_user(pid_t pid, uint32_t *ret)
{
	char path[64], text[8192];
	struct process_look look;
	const char *at;

	snprintf(path, sizeof path, "/proc/%ld/status", (long)pid);
	return process_look(pid, &look) && read_head(path, text, sizeof text) > 0 &&
	       (at = strstr(text, "\nUid:")) != NULL && sscanf(at, "\nUid: %u", ret) == 1;
}

int64_t
process_cpu_us(pid_t pid)
{
	struct timespec t;
	clockid_t clock;

	if (pid <= 0 || clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &t) != 0)
		return 0;
	return t.tv_sec * INT64_C(1000000) + t.tv_nsec / 1000;
}

int64_t
process_memory_bytes(void)
{
	char text[128];
	long pages;

	if (read_head("/proc/self/statm", text, sizeof text) <= 0 ||
	    sscanf(text, "%*d %ld", &pages) != 1)
		return 0;
	return (int64_t)pages * sysconf(_SC_PAGESIZE);
}

/* The kernel lists children by the thread that made them. */
static void
family_list(struct family *f, pid_t pid, struct mono now)
{
	char path[300], text[1024], *at;
	struct dirent *entry;
	DIR *tasks;

	*f = (struct family){ .pids = { pid }, .n = 1, .listed = now };
	snprintf(path, sizeof path, "/proc/%ld/task", (long)pid);
	if ((tasks = opendir(path)) == NULL)
		return;
	while ((entry = readdir(tasks)) != NULL) {
		snprintf(path, sizeof path, "/proc/%ld/task/%s/children", (long)pid, entry->d_name);
		if (entry->d_name[0] == '.' || read_head(path, text, sizeof text) <= 0)
			continue;
		for (at = text; *at >= '0' && *at <= '9' && f->n < FAMILY_MAX; at += *at == ' ')
			f->pids[f->n++] = (pid_t)strtol(at, &at, 10);
	}
	closedir(tasks);
}

int64_t
family_cpu_us(struct family *f, pid_t pid, struct mono now)
{
	int64_t sum_us = 0;
	bool ended = false;

	if (f->n == 0 || f->pids[0] != pid || mono_since_ns(now, f->listed) > LIST_EVERY_NS)
		family_list(f, pid, now);
	for (int i = 0; i < f->n; i++) {
		int64_t us = process_cpu_us(f->pids[i]);

		ended |= us == 0;
		sum_us += us;
	}
	if (ended)
		f->n = 0;
	return sum_us;
}

static int64_t
demand_before(const struct family_demand *d, pid_t tid)
{
	for (uint32_t i = 0; i < d->n; i++)
		if (d->threads[i].tid == tid)
			return d->threads[i].ns;
	return INT64_MAX; /* it is new */
}

/* Of the threads of one process. Returns the largest demand since `before`. */
static int64_t
process_demand(struct family_demand *next, const struct family_demand *before, pid_t pid)
{
	char path[300], text[128];
	struct dirent *entry;
	int64_t most_ns = 0;
	DIR *tasks;

	snprintf(path, sizeof path, "/proc/%ld/task", (long)pid);
	if ((tasks = opendir(path)) == NULL)
		return 0;
	while (next->n < FAMILY_THREADS_MAX && (entry = readdir(tasks)) != NULL) {
		long long ran_ns, ready_ns;
		pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);
		int64_t since_ns;

		snprintf(
		    path, sizeof path, "/proc/%ld/task/%s/schedstat", (long)pid, entry->d_name);
		if (tid <= 0 || read_head(path, text, sizeof text) <= 0 ||
		    sscanf(text, "%lld %lld", &ran_ns, &ready_ns) != 2)
			continue;
		next->threads[next->n].tid = tid;
		next->threads[next->n++].ns = ran_ns + ready_ns;
		since_ns = ran_ns + ready_ns - demand_before(before, tid);
		if (since_ns > most_ns)
			most_ns = since_ns;
	}
	closedir(tasks);
	return most_ns;
}

double
family_demand(struct family_demand *d, const struct family *f, struct mono now)
{
	struct family_demand next = { .at = now };
	int64_t most_ns = 0, since_ns = d->at.ns != 0 ? mono_since_ns(now, d->at) : 0;

	for (int i = 0; i < f->n; i++) {
		int64_t its_ns = process_demand(&next, d, f->pids[i]);

		most_ns = its_ns > most_ns ? its_ns : most_ns;
	}
	*d = next;
	return since_ns <= 0 ? 0 : most_ns < since_ns ? (double)most_ns / (double)since_ns : 1;
}

pid_t
socket_owner(const char *path)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	struct ucred who = { 0 };
	socklen_t len = sizeof who;
	int fd;

	if (strlen(path) >= sizeof to.sun_path ||
	    (fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)) < 0)
		return 0;
	memcpy(to.sun_path, path, strlen(path) + 1);
	if (connect(fd, (const struct sockaddr *)&to, sizeof to) != 0 ||
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) != 0)
		who.pid = 0;
	close(fd);
	return who.pid;
}
