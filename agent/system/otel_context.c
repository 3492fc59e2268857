/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agent/system/otel_context.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/system/process.h"

enum { MAPS_LINES_MAX = 65536 };

/* A line of /proc/PID/maps that maps the begin of a file: its path as the process sees it, and address. */
static bool
is_file_begin(char *line, const char **path, uint64_t *begin)
{
	unsigned long long from, to, offset;
	int name = 0;

	if (sscanf(line, "%llx-%llx %*s %llx %*s %*s %n", &from, &to, &offset, &name) != 3 ||
	    name == 0 || offset != 0 || line[name] != '/')
		return false;
	line[strcspn(line, "\n")] = '\0';
	*path = &line[name];
	*begin = from;
	return strlen(*path) < PATH_MAX;
}

bool
otel_context_find(pid_t pid, struct otel_context *ret)
{
	char maps[64], *line = NULL;
	bool found = false;
	size_t room = 0;
	FILE *f;

	snprintf(maps, sizeof maps, "/proc/%d/maps", (int)pid);
	if ((f = fopen(maps, "re")) == NULL)
		return false;
	for (int i = 0; !found && i < MAPS_LINES_MAX && getline(&line, &room, f) > 0; i++) {
		struct tls_symbol s;
		const char *path;
		uint64_t begin;
		int fd;

		if (!is_file_begin(line, &path, &begin) || (fd = process_file(pid, path)) < 0)
			continue;
		if ((found = symbol_file_tls(fd, OTEL_CONTEXT_SYMBOL, &s)))
			*ret = (struct otel_context){ s.model, s.offset,
				s.model != TLS_FIXED ? begin + s.from_start : 0 };
		close(fd);
	}
	free(line);
	fclose(f);
	return found;
}
