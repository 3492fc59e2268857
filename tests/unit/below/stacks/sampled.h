/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Takes registers and stack bytes of a thread by ptrace(2), as the kernel's part does it without. */
#ifndef TESTS_UNIT_BELOW_STACKS_SAMPLED_H
#define TESTS_UNIT_BELOW_STACKS_SAMPLED_H

#include <stdbool.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>

#include "below/stacks/stacks.h"

struct sampled {
	struct stack_sample sample;
	uint8_t bytes[STACK_BYTES_MAX];
};

static inline bool
sampled_take(struct sampled *ret, pid_t pid, pid_t tid, size_t max)
{
	struct user_regs_struct r;
	struct iovec from, to;
	struct timespec t;
	bool got;
	int status;

	memset(&ret->sample, 0, sizeof ret->sample);
	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) != 0)
		return false;
	got = ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) == 0 &&
	      waitpid(tid, &status, __WALL) == tid && WIFSTOPPED(status) &&
	      ptrace(PTRACE_GETREGS, tid, NULL, &r) == 0;
	if (got) {
		uint64_t *g = ret->sample.registers;

		g[STACK_RBX] = r.rbx, g[STACK_RBP] = r.rbp, g[STACK_RSP] = r.rsp,
		g[STACK_RIP] = r.rip;
		g[12] = r.r12, g[13] = r.r13, g[14] = r.r14, g[STACK_R15] = r.r15;
		ret->sample.bytes = ret->bytes;
		/* A page at a time, up to the end of the stack. */
		while (ret->sample.nbytes < max) {
			size_t left = 4096 - ((r.rsp + ret->sample.nbytes) & 4095);

			left = left < max - ret->sample.nbytes ? left : max - ret->sample.nbytes;
			to = (struct iovec){ ret->bytes + ret->sample.nbytes, left };
			from = (struct iovec){ (void *)(r.rsp + ret->sample.nbytes), left };
			if (process_vm_readv(tid, &to, 1, &from, 1, 0) != (ssize_t)left)
				break;
			ret->sample.nbytes += left;
		}
	}
	ptrace(PTRACE_DETACH, tid, NULL, NULL);
	clock_gettime(CLOCK_MONOTONIC, &t);
	ret->sample.time_ns = (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
	ret->sample.pid = pid;
	return got;
}

#endif
