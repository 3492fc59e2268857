/* SPDX-License-Identifier: MIT */
/*
 * Where a thread's context lies, for who reads it from outside of the program: a debugger, or a BPF
 * program at a context switch. libhone exports one object of this type, `hone_context_place_v1`.
 *
 *	thread pointer (x86-64: fs base) + offset -> context_bytes bytes, of the unit that the thread runs
 *
 * The offset is the same for all threads of a process, and the same in a child of fork(). All zeroes in the
 * context: the thread is outside of any request. While libhone's function changes it, a reader may see a part of the
 * former unit; one that runs on the thread itself, or at a point where it sleeps, sees a whole one.
 */
#ifndef HONE_CONTEXT_PLACE_H
#define HONE_CONTEXT_PLACE_H

#include <stdint.h>

#define HONE_CONTEXT_SYMBOL "hone_context_place_v1"
#define HONE_CONTEXT_MAGIC UINT64_C(0x31585443454e4f48) /* "HONECTX1", little endian */

struct hone_context_place {
	uint64_t magic;
	uint32_t size;          /* of this struct; later versions append members */
	uint32_t context_bytes; /* of the context of a thread */
	int64_t offset;         /* of the context from the thread pointer; 0: not known yet */
	/* Offsets of the members in the context: u64, u64, u64, u32, u8, u8 in the machine's byte order. */
	uint16_t trace_id_high, trace_id, unit_id, request_type, sampled, probed;
	uint16_t reserved[2]; /* 0 */
};

#endif
