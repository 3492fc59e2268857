/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a reading counts, and where it is, for the first case of each oddity. */
#ifndef KERNEL_FILES_ACCOUNT_H
#define KERNEL_FILES_ACCOUNT_H

#include "kernel/files/kernel_counts.h"

struct account {
	struct kernel_files_counts *counts;
	const struct texts *hosts; /* names, for the texts; or NULL */
	const char *file;          /* that is read; NULL: not known */
	bool placed;
	uint64_t offset; /* in it */
};

/* Counts a case. Only the first one of each oddity keeps its place and text; `format` is printf's. */
void account_odd(struct account *a, enum kernel_oddity o, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The name of a host. */
const char *account_host(const struct account *a, uint16_t host);

/* Counts an event that no kind stands for. O(1) expected for the names that come most. */
void account_unused(struct account *a, const char *name, size_t len);

#endif
