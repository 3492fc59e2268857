/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Mappings from text, for tests: loads them by way of a file, like any other mapping. */
#ifndef TESTS_MAP_FILE_H
#define TESTS_MAP_FILE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mapping/map.h"

/* Returns the result of map_load() for a file with this text. */
static inline int
map_of_text(struct mapping **ret, const char *text, struct err *e)
{
	char path[] = "/tmp/map_test.XXXXXX";
	int fd = mkstemp(path), rc;

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		abort();
	close(fd);
	rc = map_load(ret, path, e);
	unlink(path);
	return rc;
}

#endif
