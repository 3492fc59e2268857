/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "below/kernel/probe_link.h"

#include <errno.h>
#include <linux/bpf.h>
#include <sys/syscall.h>
#include <unistd.h>

struct link_attributes { /* the part of union bpf_attr for BPF_LINK_CREATE, as Linux 6.6 has it */
	uint32_t program, target, type, flags;
	uint64_t path, offsets, semaphores, cookies;
	uint32_t n, probe_flags, pid;
	uint32_t pad;
};

static int
create(const struct link_attributes *a)
{
	return (int)syscall(SYS_bpf, BPF_LINK_CREATE, a, sizeof *a);
}

int
probe_link_open(int program, const char *path, const struct probe_link_places *p)
{
	const struct link_attributes a = { .program = (uint32_t)program,
		.type = PROBE_LINK_TYPE,
		.path = (uintptr_t)path,
		.offsets = (uintptr_t)p->offsets,
		.semaphores = (uintptr_t)p->semaphores,
		.cookies = (uintptr_t)p->cookies,
		.n = p->n };

	return create(&a);
}

/* A folder is no file to probe: a kernel that has such links says so (EBADF), another one does not know the type. */
bool
probe_link_is_possible(int program)
{
	const uint64_t offset = 0, none = 0;
	const struct probe_link_places places = { &offset, &none, &none, 1 };
	int fd = probe_link_open(program, "/", &places), error = errno;

	if (fd >= 0)
		close(fd);
	return fd < 0 && error == EBADF;
}
