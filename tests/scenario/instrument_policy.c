/* SPDX-License-Identifier: MIT */
/*
 * instrument_policy type sample_rate probe_rate sample_s probe_s
 *
 * Acts as the agent: creates the policy table if there is none, and sets rates (in hex) and leases
 * (seconds from now) of one request type.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "instrument/policy.h"

static uint64_t
in_seconds(const char *s)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec +
	       (uint64_t)(strtod(s, NULL) * 1e9);
}

/* As hone_request_type() has it; this program is not linked with libhone. */
static uint32_t
request_type(const char *s)
{
	uint32_t h = 2166136261;

	for (; *s != '\0'; s++)
		h = (h ^ (unsigned char)*s) * 16777619;
	h = (h >> 31) ^ (h & INT32_MAX);
	return h != 0 ? h : 1;
}

static struct hone_policy *
table_open(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT, 0644);
	struct hone_policy *t;

	if (fd < 0 || ftruncate(fd, sizeof *t) != 0)
		return MAP_FAILED;
	t = mmap(NULL, sizeof *t, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return t;
}

int
main(int argc, char **argv)
{
	const char *path = getenv("HONE_POLICY");
	struct hone_policy *t = table_open(path != NULL ? path : HONE_POLICY_PATH);
	struct hone_policy_entry *e;
	uint32_t type;

	if (argc != 6 || t == MAP_FAILED) {
		fprintf(
		    stderr, "usage: %s type sample_rate probe_rate sample_s probe_s\n", argv[0]);
		return 2;
	}
	type = request_type(argv[1]);
	e = &t->types[type % HONE_POLICY_TYPES];
	if (e->request_type != 0 && e->request_type != type)
		return 1; /* a collision: take another name */
	e->sample_rate = (uint32_t)strtoul(argv[2], NULL, 16);
	e->probe_rate = (uint32_t)strtoul(argv[3], NULL, 16);
	__atomic_store_n(&e->probe_until_ns, in_seconds(argv[5]), __ATOMIC_RELEASE);
	__atomic_store_n(&e->request_type, type, __ATOMIC_RELEASE);
	t->version = HONE_POLICY_VERSION;
	t->ntypes = HONE_POLICY_TYPES;
	t->sample_rate = 0;
	__atomic_store_n(&t->sample_until_ns, in_seconds(argv[4]), __ATOMIC_RELEASE);
	__atomic_store_n(&t->magic, HONE_POLICY_MAGIC, __ATOMIC_RELEASE);
	return 0;
}
