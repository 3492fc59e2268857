/* SPDX-License-Identifier: MIT */
/*
 * The table in shared memory through which a node's agent tells libhone how
 * many requests of each type to sample and to probe, and until when; and the one
 * thing that libhone has to say to the agent.
 *
 * One file, /dev/shm/hone-policy (HONE_POLICY overrides the path), written by
 * the agent alone, mapped read-only by every program. It is made once and kept
 * when an agent restarts, so that old mappings stay true. Entries are only ever
 * added; an entry's numbers are single aligned words, stored and loaded
 * atomically, so no reader ever waits.
 *
 * A rate is a share of 2^32 ("32-bit fixed point": 0 never; 0xffffffff always).
 * Past its lease a rate counts as 0, whoever died: the added tracepoints fall
 * silent by themselves. Past sample_until_ns nothing is sampled, whatever the type.
 *
 * Both rates are compared with the same hash of the trace id, so who decides
 * twice decides the same, and a request is probed only if it is sampled: of two
 * rates the smaller one holds for probes.
 *
 * The agent stores an entry's rates before its lease, and request_type of a new
 * entry last of all (release); `magic` last of all when it makes the table. The
 * file belongs to root or to the programs' own user and others cannot write it:
 * libhone maps no other (who can shorten a mapped file can kill its readers),
 * unless HONE_POLICY named it.
 *
 * Programs map the table and never read() it. So that is how they knock: a byte of it is read by
 * who has sampled a request and sees that nobody records it. LTTng lets a program go on untraced
 * when its session daemon took too long to take it in, and one that ends soon after leaves no trace
 * anywhere; the agent, which is told of each access to the file, then knows that records are
 * missing, though not of whom. A knock stands for HONE_POLICY_KNOCK_NS after it: no program does it
 * more than twice in that time.
 */
#ifndef HONE_POLICY_H
#define HONE_POLICY_H

#include <stdint.h>

#define HONE_POLICY_PATH "/dev/shm/hone-policy"
#define HONE_POLICY_MAGIC UINT64_C(0x31796c706e6f68) /* "honply1" */

#define HONE_POLICY_KNOCK_NS INT64_C(20000000)

enum { HONE_POLICY_VERSION = 1, HONE_POLICY_TYPES = 512 };

struct hone_policy_entry {       /* 64-bit words first: no padding */
	uint64_t probe_until_ns; /* CLOCK_MONOTONIC of this machine */
	uint32_t request_type;   /* hone_request_type(); 0: a free slot */
	uint32_t sample_rate;
	uint32_t probe_rate;
	uint32_t reserved;
};

struct hone_policy {
	uint64_t magic;
	uint32_t version;
	uint32_t ntypes;          /* HONE_POLICY_TYPES */
	uint64_t sample_until_ns; /* the agent's own lease, for sampling */
	uint32_t sample_rate;     /* types without an entry */
	uint32_t reserved;
	struct hone_policy_entry
	    types[HONE_POLICY_TYPES]; /* open addressing from request_type % ntypes */
};

/* The number that stands for a request type, never 0: FNV-1a of its first 63 bytes, folded to 31
 * bits. What libhone computes and what the agent computes must be the same, so this is the one
 * place. */
static inline uint32_t
hone_policy_type(const char *type)
{
	uint32_t h = UINT32_C(2166136261);

	for (int i = 0; type != 0 && i < 63 && type[i] != '\0'; i++)
		h = (h ^ (unsigned char)type[i]) * UINT32_C(16777619);
	h = (h >> 31) ^ (h & INT32_MAX);
	return h != 0 ? h : 1;
}

#endif
