/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Any bytes as a file that a program has mapped with code: stacks in it are unwound and named, its functions and probes looked up. What libdw does
 * with the file may end the process that reads it, and nothing else: each answer comes, is within its bounds, and comes in time.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "below/stacks/stacks.h"

enum { SAMPLES = 4, STACK_BYTES = 1024, SAMPLE_MS = 300, FILES_MAX = 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static double
now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* A new file each time: one that did harm is not read again. */
static void *
map_file(const uint8_t *data, size_t len, char path[64])
{
	static unsigned number;
	void *code;
	int fd;

	snprintf(path, 64, "/tmp/hone-fuzz-%d-%u", (int)getpid(), number++);
	if ((fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600)) < 0 ||
	    write(fd, data, len) != (ssize_t)len)
		abort();
	code = mmap(NULL, len, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	close(fd);
	if (code == MAP_FAILED)
		abort();
	return code;
}

static void
sample_at(struct stacks *s, uint64_t code, size_t len, uint64_t *x)
{
	static uint8_t bytes[STACK_BYTES];
	struct stack_sample sample = { .pid = getpid(),
		.time_ns = (uint64_t)(now_s() * 1e9),
		.bytes = bytes,
		.nbytes = sizeof bytes };
	struct code_place p;
	double began = now_s();

	*x = *x * UINT64_C(6364136223846793005) + 1442695040888963407;
	sample.registers[STACK_RIP] = code + (*x >> 33) % len;
	sample.registers[STACK_RSP] = UINT64_C(0x7f0000000000);
	for (size_t i = 0; i + 8 <= sizeof bytes; i += 8) {
		uint64_t address = code + (*x >> 20) % len + i;

		memcpy(bytes + i, &address, sizeof address);
	}
	stacks_place(s, &sample, &p);
	if (p.end > STACK_GIVEN_UP || strnlen(p.folded, sizeof p.folded) > PLACE_FOLDED_MAX ||
	    now_s() - began > 20 * SAMPLE_MS / 1e3)
		abort();
}

/* Ours is not the only file with code. */
static void
look_up(struct stacks *s)
{
	static struct file_functions functions;
	static struct file_probes probes;
	struct file_identity identity;
	int fd;

	for (uint32_t i = 0;
	     i < FILES_MAX && stacks_functions(s, getpid(), i, "main", &identity, &functions, &fd);
	     i++)
		if (fd >= 0)
			close(fd);
	for (uint32_t i = 0;
	     i < FILES_MAX && stacks_probes(s, getpid(), i, 0, &identity, &probes, &fd); i++)
		if (fd >= 0)
			close(fd);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const struct stacks_limits LIMITS = { .maps_every_ms = 1, .sample_ms = SAMPLE_MS };
	static struct stacks *s;
	uint64_t x = len;
	char path[64];
	struct err e;
	void *code;

	if (len < 64)
		return 0;
	if (s == NULL && stacks_open(&s, &LIMITS, &e) != 0)
		abort();
	code = map_file(data, len, path);
	usleep(1100); /* longer than maps_every_ms */
	for (int i = 0; i < SAMPLES; i++)
		sample_at(s, (uint64_t)(uintptr_t)code, len, &x);
	if (len % 8 == 0)
		look_up(s);
	munmap(code, len);
	unlink(path);
	return 0;
}
