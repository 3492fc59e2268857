/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Injected faults: a VFS in front of SQLite's own, which counts the operations that change files
 * (write, sync, truncate, delete, in SQLite's order) and at the n-th kills the process or reports a
 * full disk. Linked into tests only. All of it may be called while other threads use databases.
 */
#ifndef TESTS_UNIT_FOREST_FAULTS_H
#define TESTS_UNIT_FOREST_FAULTS_H

#include <stdint.h>

enum fault {
	FAULT_NONE,
	FAULT_KILL,      /* SIGKILL to the own process before any part of the operation is done */
	FAULT_TORN,      /* the same, after half of the data was written */
	FAULT_FULL,      /* no space left: for this operation only */
	FAULT_FULL_FROM, /* for this operation and all further writes */
};

/* Counts from now on; the next operation is number 1. The first call makes it the VFS of all
 * databases opened after it. */
void faults_at(uint64_t n, enum fault what);

/* What SQLite does to a file; `name` is valid during the call only. */
enum change_kind { CHANGE_WRITE, CHANGE_TRUNCATE, CHANGE_SYNC, CHANGE_DELETE };

struct file_change {
	enum change_kind kind;
	const char *name;
	const void *data; /* of WRITE */
	int64_t
	    len; /* of WRITE; the new size of TRUNCATE; of DELETE whether the folder is synced */
	int64_t offset;
};

/* Calls see() for each operation that is not refused, before it is done; NULL: no longer. When
 * it returns, no call of the former see() is under way. */
void faults_watch(void (*see)(void *ctx, const struct file_change *c), void *ctx);
uint64_t faults_count(void); /* number of operations since then */
int faults_happened(void);   /* number of operations that were refused since then */

#endif
