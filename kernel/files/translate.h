/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Makes kernel events of an event as it was recorded, without a memory of earlier ones: what the record itself says. What
 * it leaves open is marked in the member `reserved`, for thread_table.h, which fills it in.
 */
#ifndef KERNEL_FILES_TRANSLATE_H
#define KERNEL_FILES_TRANSLATE_H

#include "kernel/files/account.h"
#include "kernel/files/raw_event.h"

enum raw_mark {               /* in kernel_event.reserved, on the way to take() */
	MARK_TID = 1,         /* tid is known */
	MARK_PID = 2,         /* so is pid: of WAKING, FORK and NAME that of the other thread */
	MARK_OWN = 4,         /* of Hone's own recording: all is known */
	MARK_DEAD = 8,        /* SWITCH: asleep, or ended if it has exited before */
	MARK_RUNS = 16,       /* NAME: the CPU runs this thread */
	MARK_OF_CURRENT = 32, /* NAME: of the process of the thread that the CPU runs */
	MARK_BORN = 64,       /* NAME: the thread is new */
	MARK_NAME = 128,      /* NAME: context.. the name is known */
	MARK_RANK =
	    256, /* WAKING: 256 wakeup, 512 waking, 768 ttwu; of these the highest one counts */
	MARK_RANK_MASK = 768,
	/* SYSCALL_IN, SYSCALL_OUT: of raw_syscalls, which are there for all calls; of an event for this call only */
	MARK_CALL_RAW = 1024,
	MARK_CALL_NAMED = 2048
};

enum { TRANSLATED_MAX = 4, NAME_CACHE = 4096 };

struct translator { /* one for each recording: threads of several hosts have the same numbers */
	struct kernel_names *names;
	struct account *account;
	const char *counted; /* patterns, with commas between; or NULL */
	size_t *texts_left;  /* bytes of texts until "(other)" stands for further ones */
	struct {
		uint32_t tid, name;
	} last_names
	    [NAME_CACHE]; /* what the thread was called last, by the low bits of its number */
};

/* Whether events of this name are to be counted. */
bool translator_counts(const struct translator *t, const char *name);

/* The number of a text in the names; over the bound that of "(other)". UINT32_MAX: out of memory. */
uint32_t translator_text(struct translator *t, const char *text, size_t len);

/*
 * Writes the kernel events that the record stands for, in their order, and returns their number, 0 to TRANSLATED_MAX;
 * ERR_MEMORY. A record that lacks what its kind needs is counted (ODDITY_FIELDS) and gives none. O(1) expected.
 */
int raw_translate(struct translator *t, const struct raw_event *r,
    struct kernel_event ret[TRANSLATED_MAX], struct err *e);

#endif
