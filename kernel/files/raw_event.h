/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An event as a tracer recorded it: what it means, and the values of the fields that matter. All readers make these, so that
 * one place knows the names that tracers have for events and fields (meanings.tbl.h):
 *
 *	babeltrace2's fields ---.
 *	text of ftrace ---------+---> struct raw_event ----> raw_translate() ----> struct kernel_event
 *	text of MiSeRTrace -----'
 */
#ifndef KERNEL_FILES_RAW_EVENT_H
#define KERNEL_FILES_RAW_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/event.h"

enum meaning_kind {
#define MEANING(name, names, slots) MEANING_##name,
#include "kernel/files/meanings.tbl.h"
#undef MEANING
	MEANINGS
};

enum { RAW_SLOTS = 12, RAW_TEXT_MAX = 4096 };

/* What events of a name mean, and the names of the fields that tell it. */
struct meaning {
	enum meaning_kind kind;
	/* In the order of slots; each has one name or more, "a|b"; "a[0]" is an item of an array; ">a" is looked for inside of
	 * structures, too; "*" is the first field. NULL after the last. */
	const char *slots[RAW_SLOTS + 1];
};

enum raw_type { RAW_ABSENT, RAW_NUMBER, RAW_TEXT };

struct field_said {
	enum raw_type type;
	int64_t number;   /* RAW_NUMBER, also for unsigned ones; of an enumeration its value */
	const char *text; /* RAW_TEXT; not terminated */
	size_t len;
};

struct raw_event {
	const struct event_name *name;
	int64_t time_ns;
	uint32_t order; /* of Hone's own: among events of equal times */
	uint16_t cpu, host;
	bool has_tid, has_pid, has_procname;
	uint32_t tid, pid; /* as the recording says of this event */
	const char *procname;
	size_t procname_len;
	struct field_said values[RAW_SLOTS];
};

/* What the name of an event says. Readers make one for each name, not for each event. */
struct event_name {
	const char *text; /* as the recording has it, without "sched:"; the caller's */
	const struct meaning
	    *meaning;        /* NULL: no kind stands for it. Lives as long as the program. */
	const char *call;    /* of a system call its name, without prefixes, as x86-64 has it; "" */
	int32_t call_number; /* SYSCALL_UNKNOWN */
};

/* Of tracers other than Hone; of Hone's own recordings. The text must outlive *ret. O(number of names). */
void event_name_set(struct event_name *ret, const char *text, bool is_own);
/* Makes it one that is counted by its name: MEANING_COUNTED. */
void event_name_count(struct event_name *n);

/* Whether a field's name is one of a slot's, and which: 0 the first, -1 none. O(length). */
int slot_has(const char *slot, const char *name, size_t len);

#endif
