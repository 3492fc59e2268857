/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Any bytes as the table that libhone maps into a program: libhone decides in bounded time, never
 * probes what is not sampled, and never beyond a lease.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "instrument/inside.h"
#include "instrument/policy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static char path[64];
static struct hone_policy table;

static void
must(int ok)
{
	if (!ok)
		abort();
}

static void
forget(void)
{
	unlink(path);
}

/* Unmaps the tables that libhone has mapped. It keeps them on purpose: in a program another thread may be
 * reading. */
static void
unmap_tables(void)
{
	unsigned long long from, to;
	char line[512];
	FILE *maps = fopen("/proc/self/maps", "re");

	must(maps != NULL);
	while (fgets(line, sizeof line, maps) != NULL)
		if (strstr(line, path) != NULL && sscanf(line, "%llx-%llx", &from, &to) == 2)
			must(munmap((void *)(uintptr_t)from, to - from) == 0);
	fclose(maps);
}

static void
decide(uint64_t now_ns, uint32_t type, uint32_t draw)
{
	struct hone_carrier c = { .trace_id = 1, .request_type = type, .probed = 1, .sampled = 1 };

	policy_decide(&c, now_ns, draw & 1, draw);
	must(c.probed <= c.sampled && c.sampled <= 1);
	must(now_ns < table.sample_until_ns || !c.sampled);
	if (c.probed) {
		bool leased = false;

		for (int i = 0; i < HONE_POLICY_TYPES; i++)
			leased = leased || (table.types[i].request_type == type &&
					       now_ns < table.types[i].probe_until_ns);
		must(leased);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	uint8_t *bytes = (uint8_t *)&table;
	int fd;

	if (path[0] == '\0') {
		snprintf(path, sizeof path, "/dev/shm/hone-fuzz-policy-%ld", (long)getpid());
		atexit(forget);
	}
	memset(&table, 0, sizeof table);
	table.magic = HONE_POLICY_MAGIC;
	table.version = HONE_POLICY_VERSION;
	table.ntypes = HONE_POLICY_TYPES;
	table.sample_until_ns = 1000000;
	size_t size = len % 5 == 0 ? len : sizeof table;

	for (const uint8_t *at = data; (size_t)(data + len - at) >= 10; at += 10)
		memcpy(bytes + ((size_t)at[0] << 8 | at[1]) % (sizeof table - 8), at + 2, 8);
	/* Each input gets its own file: libhone keeps a mapped file and maps again only when the
	 * name refers to another file. */
	unlink(path);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
	must(fd >= 0 && write(fd, bytes, size < sizeof table ? size : sizeof table) >= 0);
	close(fd);
	policy_init(path, len % 2 == 0, false);
	for (uint64_t i = 1; i < 20; i++)
		decide(i * 70000,
		    i % 3 == 0 ? hone_policy_type("GET_HOME") : table.types[i * 25].request_type,
		    (uint32_t)(i * 0x9e3779b9));
	decide(UINT64_MAX, 1, 1);
	unmap_tables();
	return 0;
}
