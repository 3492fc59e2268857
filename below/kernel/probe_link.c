/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "below/kernel/probe_link.h"

#include <errno.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

struct link_attributes { /* the part of union bpf_attr for BPF_LINK_CREATE, as Linux 6.6 has it */
	uint32_t program, target, type, flags;
	uint64_t path, offsets, semaphores, cookies;
	uint32_t n, probe_flags, pid;
	uint32_t pad;
};

struct event_link_attributes { /* the same for a perf event, Linux 5.15 */
	uint32_t program, target, type, flags;
	uint64_t cookie;
};

enum { SEMAPHORE_SHIFT = 32 }; /* in the event's config: format/ref_ctr_offset of the source */

static int
create(const void *attributes, size_t size)
{
	return (int)syscall(SYS_bpf, BPF_LINK_CREATE, attributes, size);
}

static int
link_to_many(int program, const char *path, const struct probe_link_places *p)
{
	const struct link_attributes a = { .program = (uint32_t)program,
		.type = PROBE_LINK_TYPE,
		.path = (uintptr_t)path,
		.offsets = (uintptr_t)p->offsets,
		.semaphores = (uintptr_t)p->semaphores,
		.cookies = (uintptr_t)p->cookies,
		.n = p->n };

	return create(&a, sizeof a);
}

int
probe_link_open(
    struct probe_link *ret, int program, const char *path, const struct probe_link_places *p)
{
	int fd = link_to_many(program, path, p);

	*ret = (struct probe_link){ { fd }, fd >= 0 };
	return fd >= 0 ? 0 : -1;
}

/* A folder is no file to probe: a kernel that has such links says so (EBADF), another one does not know the type. */
bool
probe_link_is_possible(int program)
{
	const uint64_t offset = 0, none = 0;
	const struct probe_link_places places = { &offset, &none, &none, 1 };
	int fd = link_to_many(program, "/", &places), error = errno;

	if (fd >= 0)
		close(fd);
	return fd < 0 && error == EBADF;
}

/* ---- one by one ---- */

/* The number that the kernel gave its source of events "uprobe"; -1: it has none. */
static int
source_of_places(void)
{
	FILE *f = fopen("/sys/bus/event_source/devices/uprobe/type", "re");
	int type = -1;

	if (f == NULL || fscanf(f, "%d", &type) != 1)
		type = -1;
	if (f != NULL)
		fclose(f);
	return type;
}

static int
open_event(int source, const char *path, uint64_t offset, uint64_t semaphore)
{
	struct perf_event_attr a = { .type = (uint32_t)source,
		.size = sizeof a,
		.config = semaphore << SEMAPHORE_SHIFT,
		.uprobe_path = (uintptr_t)path,
		.probe_offset = offset };

	return (int)syscall(SYS_perf_event_open, &a, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
}

/* The link keeps the event. */
static int
link_to_one(
    int program, int source, const char *path, const struct probe_link_places *p, uint32_t i)
{
	int event = open_event(source, path, p->offsets[i], p->semaphores[i]), link = -1, error;

	if (event >= 0) {
		const struct event_link_attributes a = { (uint32_t)program, (uint32_t)event,
			BPF_PERF_EVENT, 0, p->cookies[i] };

		link = create(&a, sizeof a);
		error = errno;
		close(event);
		errno = error;
	}
	return link;
}

int
probe_link_open_few(
    struct probe_link *ret, int program, const char *path, const struct probe_link_places *p)
{
	int source = source_of_places(), error = 0;

	*ret = (struct probe_link){ 0 };
	if (source < 0 || p->n > PROBE_LINK_FEW) {
		errno = source < 0 ? ENOSYS : E2BIG;
		return -1;
	}
	for (; ret->n < p->n && error == 0; ret->n += error == 0)
		if ((ret->fds[ret->n] = link_to_one(program, source, path, p, ret->n)) < 0)
			error = errno;
	if (error != 0) {
		probe_link_close(ret);
		errno = error;
		return -1;
	}
	return 0;
}

void
probe_link_close(struct probe_link *l)
{
	for (uint32_t i = 0; i < l->n; i++)
		close(l->fds[i]);
	l->n = 0;
}

/* A folder is no file to probe: a kernel that has such events says so (EINVAL), and before that whether it permits them. */
bool
probe_link_few_are_possible(void)
{
	int source = source_of_places(), fd = source >= 0 ? open_event(source, "/", 0, 0) : -1;
	int error = errno;

	if (fd >= 0)
		close(fd);
	return source >= 0 && (fd >= 0 || (error != EACCES && error != EPERM && error != ENOENT));
}
