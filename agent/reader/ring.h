/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The head of an LTTng-UST ring buffer, mapped from the file that a session with
 * lttng_set_session_shm_path() has of it. Its layout is the one that lttng-crash(1) reads ("crash
 * ABI" 0.0), which LTTng keeps stable.
 */
#ifndef AGENT_READER_RING_H
#define AGENT_READER_RING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct ring { /* all zeroes: not mapped */
	const uint8_t *head;
	uint32_t produced_at, consumed_at; /* offsets in the head */
	uint64_t bytes, packet_bytes;      /* size of the ring, and of one sub-buffer */
	bool no_lost; /* set by the caller: the counter of ring_lost() is none */
};

/* Maps the head of the file `name` in the folder `dir`. 0; ERR_MISSING: the file exists, but is not
 * initialised yet: try again; ERR_VERSION: another layout; ERR_SYSTEM. The mapping survives the
 * removal of the file. If a process shortens the file, the words of the ring read as 0. The first call
 * sets a handler for SIGBUS, which must not be blocked, and reserves 256 MiB of addresses. */
int ring_map(struct ring *r, int dir, const char *name, struct err *e);
void ring_unmap(struct ring *r);

/* Of a ring in either mode, without mapping it: how many bytes tracepoints have reserved in it since it was created, and its size. Three
 * system calls. False: there is no such ring, or it is not initialised yet. */
bool ring_peek(int dir, const char *name, uint64_t *produced, uint64_t *bytes);

/* False: the file was shortened, or its beginning overwritten; what the functions below return is of no
 * use. One load. */
bool ring_intact(const struct ring *r);

/* Bytes since the ring was created: reserved by tracepoints before the call, and read out by the
 * consumer daemon, which takes steps of packet_bytes. The ring must be mapped. One load. */
uint64_t ring_produced(const struct ring *r);
const uint64_t *ring_produced_word(const struct ring *r); /* its address; valid while mapped */
uint64_t ring_consumed(const struct ring *r);

/* Records that found the ring full since it was created. The offset is not part of the ABI, but that
 * of liblttng-ust 2.13. False: the value cannot be such a counter, or no_lost is set, which the caller
 * does when packets report fewer or more. */
bool ring_lost(const struct ring *r, uint64_t *ret);

#endif
