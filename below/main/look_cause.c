/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "below/main/look_cause.h"

#include <stdio.h>
#include <string.h>

#include "kernel/off_cpu.h"

enum { CALL_FUTEX = 202, FUTEX_TIMEOUT = 3 };

bool
look_call_parse(struct look_call *ret, const char *text)
{
	unsigned long long a[6], sp, pc;
	int number;

	*ret = (struct look_call){ .number = LOOK_ON_CPU };
	if (strncmp(text, "running", 7) == 0)
		return true;
	if (sscanf(text, "%d 0x%llx 0x%llx 0x%llx 0x%llx 0x%llx 0x%llx 0x%llx 0x%llx", &number,
		&a[0], &a[1], &a[2], &a[3], &a[4], &a[5], &sp, &pc) == 9 &&
	    number >= 0) {
		for (int i = 0; i < 6; i++)
			ret->arguments[i] = a[i];
	} else if (sscanf(text, "%d 0x%llx 0x%llx", &number, &sp, &pc) != 3 ||
		   number != LOOK_NO_CALL) {
		return false;
	}
	ret->number = number;
	ret->sp = sp;
	ret->pc = pc;
	return true;
}

/* Functions of the kernel in which a thread waits for storage. */
static bool
waits_for_storage(const char *place)
{
	static const char *const PLACES[] = { "io_schedule", "folio_wait", "wait_on_page",
		"wait_on_buffer", "__wait_on_buffer", "blk_", "rq_qos_wait", "jbd2_",
		"submit_bio_wait", "bio_await", "blkdev_", "iomap_", "__iomap_dio_rw", "xfs_log",
		"xlog_", "btrfs_wait" };

	for (size_t i = 0; i < sizeof PLACES / sizeof *PLACES; i++)
		if (strncmp(place, PLACES[i], strlen(PLACES[i])) == 0)
			return true;
	return false;
}

static bool
syncs(int number)
{
	switch (number) {
	case 26:  /* msync */
	case 74:  /* fsync */
	case 75:  /* fdatasync */
	case 162: /* sync */
	case 277: /* sync_file_range */
	case 306: /* syncfs */
		return true;
	}
	return false;
}

enum below_state
look_cause(const struct look_sleep *s)
{
	const struct look_call *c = &s->call;

	/* 1 */
	if (c->number == CALL_FUTEX && futex_is_lock(c->arguments[1])) {
		if (s->owner != 0)
			return BELOW_LOCK;
		return c->arguments[FUTEX_TIMEOUT] == 0 ? BELOW_THREAD : BELOW_UNKNOWN;
	}
	switch (c->number) { /* 2 */
	case 35:             /* nanosleep */
	case 230:            /* clock_nanosleep */
		return BELOW_TIMER;
	case 61:  /* wait4 */
	case 247: /* waitid */
		return BELOW_THREAD;
	}
	/* 3 */
	if (s->uninterruptible && c->number == LOOK_NO_CALL)
		return BELOW_FAULT;
	if (s->uninterruptible && (syncs(c->number) || waits_for_storage(s->kernel_place)))
		return BELOW_DISK;
	return BELOW_UNKNOWN; /* 4 */
}
