/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a reading of recordings counted, and what is wrong in them. */
#ifndef KERNEL_FILES_KERNEL_COUNTS_H
#define KERNEL_FILES_KERNEL_COUNTS_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/event.h"

enum kernel_oddity { /* described in oddities.tbl.h */
#define ODDITY(name, word, text) ODDITY_##name,
#include "kernel/files/oddities.tbl.h"
#undef ODDITY
	KERNEL_ODDITIES
};

const char *kernel_oddity_word(enum kernel_oddity o);
const char *kernel_oddity_text(enum kernel_oddity o);

struct kernel_first { /* how often, and where first */
	uint64_t count;
	char file[256];  /* of the first case; "": not known */
	bool placed;     /* `offset` is known */
	uint64_t offset; /* of the first case, in decompressed bytes */
	char why[160];   /* of the first case */
};

enum { KERNEL_UNUSED_NAMES = 64, KERNEL_UNUSED_NAME_MAX = 63 };

struct kernel_unused { /* events that no kind stands for */
	char name[KERNEL_UNUSED_NAME_MAX + 1];
	uint64_t count;
};

struct kernel_files_counts {
	uint64_t events;              /* read, of all names */
	uint64_t used;                /* of these, events that gave one kernel event or more */
	uint64_t given[KERNEL_KINDS]; /* kernel events that take() was given, by kind */
	uint64_t given_new;           /* of WAKING: is_new */
	uint64_t unused;              /* of events: no kind stands for them */
	uint32_t nnames;              /* names of these; further ones count in unused only */
	struct kernel_unused names[KERNEL_UNUSED_NAMES];
	uint64_t lost; /* events that the tracers report as lost, where they say how many */
	uint32_t hosts, cpus, threads; /* seen; cpus and threads of all hosts */
	int64_t first_ns, last_ns;     /* of the events that were given; 0, 0: none */
	int64_t
	    wall_offset_ns; /* of the clock of the recording that ended first, to the time since the epoch; 0: it has none */
	struct kernel_first odd[KERNEL_ODDITIES];
};

#endif
