/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a test makes in /tmp, removed also if the test fails: an assertion that fails leaves the test at once, and only its
 * teardown function is still called. Include cmocka.h before this header; it needs _GNU_SOURCE.
 */
#ifndef TESTS_UNIT_LEFTOVERS_H
#define TESTS_UNIT_LEFTOVERS_H

#include <ftw.h>
#include <stdio.h>
#include <string.h>

enum { LEFTOVERS_MAX = 32 };

static char leftovers[LEFTOVERS_MAX][128]; /* of the current test */
static int nleftovers;

/* remove_leftovers() removes this file or folder, if it still exists then. */
static inline void
leftover(const char *path)
{
	for (int i = 0; i < nleftovers; i++)
		if (strcmp(leftovers[i], path) == 0)
			return;
	assert_true(nleftovers < LEFTOVERS_MAX);
	snprintf(leftovers[nleftovers++], sizeof leftovers[0], "%s", path);
}

static inline int
remove_leftover(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	remove(path);
	return 0;
}

/* The teardown function. */
static inline int
remove_leftovers(void **state)
{
	(void)state;
	while (nleftovers > 0)
		nftw(leftovers[--nleftovers], remove_leftover, 8, FTW_DEPTH | FTW_PHYS);
	return 0;
}

#endif
