/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Faults on purpose: a VFS in front of SQLite's own, which counts what changes
 * files (write, sync, truncate, delete, in the order in which SQLite does them) and at
 * the n-th lets the process die, or the disk be full. Linked into tests only.
 */
#ifndef TESTS_UNIT_FOREST_FAULTS_H
#define TESTS_UNIT_FOREST_FAULTS_H

#include <stdint.h>

enum fault {
	FAULT_NONE,
	FAULT_KILL,      /* SIGKILL to ourselves, before anything of it is done */
	FAULT_TORN,      /* the same, after half of what was to be written is */
	FAULT_FULL,      /* no space left: this once */
	FAULT_FULL_FROM, /* this one, and all further writes */
};

/* From now on; the next operation is number 1. The first call makes it the VFS of all databases
 * opened after it. */
void faults_at(uint64_t n, enum fault what);
uint64_t faults_count(void); /* operations since then */
int faults_happened(void);   /* how often something was refused since then */

#endif
