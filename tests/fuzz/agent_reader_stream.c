/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the tracer's daemons and the traced programs write, and the agent reads: a process' folders with ring, metadata,
 * packets and index, which four bytes of input at a time are damaged, grow, and go away, while the reader polls. Whatever they
 * hold, what comes out is in time order, the watermark never goes back, and losses are such.
 *
 *	first byte: what (below); the others: where and which value, or how long
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/ctf/ctf_trace.h"
#include "agent/reader/source_lttng.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

enum {
	PACKET = 4096,
	HEAD = 84,
	RING_PACKETS = 16,
	PRODUCED_AT = 128,
	CONSUMED_AT = 152,
	MAX_BYTES = 1 << 16
};
#define SHM "shm/ust/pid/program-1-20260101-000000"
#define OUT "out/ust/pid/program-1-20260101-000000"

static char top[64];
static uint8_t metadata[MAX_BYTES], packets[MAX_BYTES], idx[MAX_BYTES], ring[PACKET];
static size_t metadata_len, packets_len, index_len;

struct node {
	struct source source;
	int ring_fd, data_fd, index_fd, metadata_fd;
	int64_t now_ns, watermark_ns;
	unsigned next; /* number of the packet that the consumer daemon writes next */
};

static void
must(int ok)
{
	if (!ok)
		abort();
}

static int
remove_one(const char *path, const struct stat *st, int kind, struct FTW *f)
{
	(void)st;
	(void)kind;
	(void)f;
	remove(path);
	return 0;
}

static void
forget(const char *below)
{
	char path[128];

	snprintf(path, sizeof path, "%s/%s", top, below);
	nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void
forget_all(void)
{
	forget("");
}

static size_t
load(uint8_t *into, const char *path)
{
	FILE *f = fopen(path, "rb");
	size_t n;

	if (f == NULL) {
		fprintf(stderr, "%s: run this in the project's folder\n", path);
		exit(1);
	}
	n = fread(into, 1, MAX_BYTES, f);
	fclose(f);
	return n;
}

static void
put(uint32_t at, const void *data, size_t len)
{
	memcpy(ring + at, data, len);
}

static void
start(void)
{
	static const uint8_t magic[16] = { 0x17, 0x7b, 0xf1, 0x77, 0xbf, 0x17, 0x7b, 0xf1, 0x77,
		0xbf, 0x17, 0x7b, 0xf1, 0x77, 0xbf, 0x17 };
	const uint16_t abi[3] = { 0x1234, 0, 0 };
	const uint32_t at[2] = { PRODUCED_AT, CONSUMED_AT }, mode = 1;
	const uint64_t sizes[3] = { PACKET * RING_PACKETS, PACKET, RING_PACKETS }, produced = HEAD;

	snprintf(top, sizeof top, "/dev/shm/hone-fuzz-stream-%ld", (long)getpid());
	mkdir(top, 0700);
	atexit(forget_all);
	metadata_len = load(metadata, "tests/data/ctf-kinds.metadata");
	packets_len = load(packets, "tests/data/ctf-kinds.packets");
	index_len = load(idx, "tests/data/ctf-kinds.index");
	put(0, magic, sizeof magic);
	put(24, abi, sizeof abi);
	ring[30] = 8;
	put(32, at, sizeof at);
	ring[76] = ring[77] = 8;
	put(96, sizes, sizeof sizes);
	put(120, &mode, sizeof mode);
	put(PRODUCED_AT, &produced, sizeof produced);
}

static int
make(const char *what, const void *data, size_t len)
{
	char path[128];
	int fd;

	snprintf(path, sizeof path, "%s/%s", top, what);
	for (char *p = path + strlen(top) + 1; (p = strchr(p, '/')) != NULL; *p++ = '/') {
		*p = '\0';
		mkdir(path, 0700);
	}
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	must(fd >= 0 && write(fd, data, len) == (ssize_t)len);
	return fd;
}

static void
set(int fd, uint64_t at, const void *data, size_t len)
{
	must(pwrite(fd, data, len, (off_t)at) == (ssize_t)len);
}

/* Writes in the order of the consumer daemon: the packet, the ring's positions, the index entry. */
static void
consume(struct node *n)
{
	uint64_t consumed = (uint64_t)(n->next + 1) * PACKET, produced = consumed + HEAD;

	if ((n->next + 1) * PACKET > packets_len ||
	    CTF_INDEX_HEAD + (n->next + 1) * CTF_INDEX_ENTRY > index_len)
		return;
	set(n->data_fd, (uint64_t)n->next * PACKET, packets + n->next * PACKET, PACKET);
	set(n->ring_fd, PRODUCED_AT, &produced, 8);
	set(n->ring_fd, CONSUMED_AT, &consumed, 8);
	set(n->index_fd, CTF_INDEX_HEAD + (uint64_t)n->next * CTF_INDEX_ENTRY,
	    idx + CTF_INDEX_HEAD + n->next * CTF_INDEX_ENTRY, CTF_INDEX_ENTRY);
	n->next++;
}

static void
poll_once(struct node *n, int64_t later_ms)
{
	struct source_output t;
	struct source_stats look;
	struct err e = { 0 };
	uint32_t nlabels;

	n->now_ns += later_ms * 1000000;
	if (n->source.poll(n->source.state, (struct mono){ n->now_ns }, &t, &e) != 0)
		return;
	must(t.watermark_ns >= n->watermark_ns && t.nrecords <= 1000 + 1 && t.nlate <= t.nrecords);
	n->watermark_ns = t.watermark_ns;
	n->source.labels(n->source.state, &nlabels);
	for (uint32_t i = 0; i < t.nrecords; i++)
		must(t.records[i].label < nlabels &&
		     (i == 0 || i == t.nlate || t.records[i].time_ns >= t.records[i - 1].time_ns));
	for (uint32_t i = 0; i < t.nlosses; i++)
		must(t.losses[i].count > 0 && t.losses[i].from_ns <= t.losses[i].to_ns &&
		     t.losses[i].reason < LOSS_REASONS);
	n->source.stats(n->source.state, &look);
	must(look.fullest >= 0 && look.fullest <= 1);
}

static void
play(struct node *n, const uint8_t op[4])
{
	uint64_t at = (uint64_t)op[1] << 8 | op[2];

	switch (op[0] % 8) {
	case 0:
		set(n->ring_fd, at % 512, op + 3, 1);
		break; /* a file that is shortened while it is mapped kills the process that maps it: see ring.h */
	case 1:
		set(n->index_fd, at % 2048, op + 3, 1);
		break;
	case 2:
		set(n->data_fd, at % MAX_BYTES, op + 3, 1);
		break;
	case 3:
		set(n->metadata_fd, at % MAX_BYTES, op + 3, 1);
		break;
	case 4:
		consume(n);
		break;
	case 5:
		poll_once(n, op[3]);
		break;
	case 6:
		must(ftruncate(op[3] % 2 ? n->index_fd : n->data_fd, (off_t)at) == 0);
		break;
	case 7:
		forget(SHM);
		poll_once(n, op[3]);
		break;
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct source_options o = { .memory_bytes = 1 << 20,
		.records_max = 1000,
		.labels_max = 100,
		.packet_max_bytes = 1 << 20,
		.metadata_max_bytes = 1 << 20,
		.outside = true };
	struct node n = { .watermark_ns = INT64_MIN };
	char out[128], shm[128];
	struct err e;

	if (top[0] == '\0')
		start();
	snprintf(out, sizeof out, "%s/out", top);
	snprintf(shm, sizeof shm, "%s/shm", top);
	must(source_lttng_open(&n.source, out, shm, "hone", &o, &e) == 0);
	n.metadata_fd = make(SHM "/metadata", metadata, metadata_len);
	n.data_fd = make(OUT "/hone_0", "", 0);
	n.index_fd = make(OUT "/index/hone_0.idx", idx, CTF_INDEX_HEAD);
	n.ring_fd = make(SHM "/hone_0", ring, PACKET);
	must(ftruncate(n.ring_fd, PACKET * (RING_PACKETS + 1)) == 0);
	memcpy(&n.now_ns, "\0\0\0\0\0\1\0", 8);
	for (size_t turns = 0; len >= 4 && turns < 200; data += 4, len -= 4, turns++)
		play(&n, data);
	for (int i = 0; i < 3; i++)
		poll_once(&n, 3000);
	forget(SHM);
	for (int i = 0; i < 3; i++)
		poll_once(&n, 3000);
	n.source.close(n.source.state);
	close(n.metadata_fd);
	close(n.data_fd);
	close(n.index_fd);
	close(n.ring_fd);
	forget("out");
	forget("shm");
	return 0;
}
