/* SPDX-License-Identifier: MIT */
/*
 * The table in shared memory with which a node's agent sets the rates of sampled and probed requests of each
 * type, and their leases; and the one signal from libhone to the agent.
 *
 * One file, /dev/shm/hone-policy (HONE_POLICY overrides the path), written by the agent alone, mapped
 * read-only by every program. It is created once and kept when an agent restarts, so that existing
 * mappings stay valid. Entries are added, never removed; numbers are aligned words, stored and loaded
 * atomically, so readers do not wait.
 *
 * A rate is a share of 2^32 (32-bit fixed point; 0: never, 0xffffffff: always). After its lease a rate counts as 0, so
 * added tracepoints emit no records once the agent or the controller is gone. After sample_until_ns no
 * request is sampled.
 *
 * Both rates are compared with the same random number, which the program draws when the request begins. So a
 * request is probed only if it is sampled: the smaller of the two rates is that of probed requests. The
 * number is not made from the trace id, since a client may choose that: it would choose whether its requests
 * are sampled. Nor is it kept in this table, which every local user can read. Other processes
 * learn of the decision from the carrier and draw no number.
 *
 * Where the operator says that no client reaches the programs of a node (`callers_known`), the number of a request that came with
 * the trace id of a caller is made of that id, by hone_policy_draw(), as hone-otel and its gates do. So of requests that begin in a
 * program with OpenTelemetry both parts are sampled, or none, if the rates of their types are equal; else the requests of the smaller
 * rate are among those of the larger one.
 *
 * The agent stores an entry's rates before its lease, the request_type of a new entry last (release),
 * and `magic` last of all when it creates the table. libhone maps the file only if it belongs to root or to
 * the program's user and others cannot write it, since whoever can shorten a mapped file can kill
 * its readers (SIGBUS); a file in HONE_POLICY is trusted.
 *
 * The signal ("knock"): a program that has sampled a request and finds that no record is written connects to
 * the agent's socket beside the file, and closes the connection. LTTng lets a program run untraced if its
 * registration with the session daemon takes too long, and such a program may end without any trace; the
 * agent learns from the kernel which process and user connected, also if the process has ended, decides whether it
 * believes them, and counts a loss. A knock covers the HONE_POLICY_KNOCK_NS after it; a program knocks at
 * most twice in that time. If the agent's queue of connections is full, it tries again with the next record.
 */
#ifndef HONE_POLICY_H
#define HONE_POLICY_H

#include <stdint.h>

#define HONE_POLICY_PATH "/dev/shm/hone-policy"
#define HONE_POLICY_MAGIC UINT64_C(0x31796c706e6f68) /* "honply1" */

#define HONE_POLICY_KNOCK ".knock" /* the socket's path: the table's, and this */
#define HONE_POLICY_KNOCK_NS INT64_C(20000000)

enum { HONE_POLICY_VERSION = 2, HONE_POLICY_TYPES = 512 };

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
	uint32_t callers_known;   /* 0: anybody may be a caller */
	struct hone_policy_entry
	    types[HONE_POLICY_TYPES]; /* open addressing from request_type % ntypes */
};

/* The number of a request type, never 0: FNV-1a of its first 63 bytes, folded to 31 bits. libhone and the
 * agent both use this function. */
static inline uint32_t
hone_policy_type(const char *type)
{
	uint32_t h = UINT32_C(2166136261);

	for (int i = 0; type != 0 && i < 63 && type[i] != '\0'; i++)
		h = (h ^ (unsigned char)type[i]) * UINT32_C(16777619);
	h = (h >> 31) ^ (h & INT32_MAX);
	return h != 0 ? h : 1;
}

/* MurmurHash3's 32-bit finalizer (Appleby, 2011). */
static inline uint32_t
hone_policy_mix(uint32_t h)
{
	h = (h ^ h >> 16) * UINT32_C(0x85ebca6b);
	h = (h ^ h >> 13) * UINT32_C(0xc2b2ae35);
	return h ^ h >> 16;
}

/* The number that a trace's id makes, by its low half: of ids at random it is uniform. libhone, hone-otel and the package hone-otel-gate
 * (npm/hone-otel-gate/gate.js) all use this function. */
static inline uint32_t
hone_policy_draw(uint64_t trace_id)
{
	uint32_t low = (uint32_t)trace_id, high = (uint32_t)(trace_id >> 32);

	return hone_policy_mix(hone_policy_mix(low ^ UINT32_C(0x6f74656c)) ^ high);
}

#endif
