/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as hone-agent.conf and as an assignment on the command line: refused with a message, or
 * the printed configuration reads back to the same. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/main/agent_config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void
must(int ok)
{
	if (!ok)
		abort();
}

static int
read_config(struct agent_config *c, const void *data, size_t len, char *const *assignments, int n,
    struct err *e)
{
	static char path[64];
	static int fd = -1;

	if (fd < 0) {
		fd = memfd_create("hone-agent.conf", 0);
		snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	}
	must(ftruncate(fd, 0) == 0 && pwrite(fd, data, len, 0) == (ssize_t)len);
	return agent_config_load(c, path, assignments, n, e);
}

static char *
printed(const struct agent_config *c, size_t *len)
{
	char *text = NULL;
	FILE *f = open_memstream(&text, len);

	agent_config_print(c, f);
	fclose(f);
	return text;
}

static void
try(const void *data, size_t len, char *const *assignments, int n)
{
	struct agent_config c, again;
	struct err e = { 0 };
	size_t once_len, twice_len;
	int rc = read_config(&c, data, len, assignments, n, &e);

	must(rc == 0 || (rc == e.code && e.text[0] != '\0'));
	if (rc == 0) {
		char *once = printed(&c, &once_len);

		must(read_config(&again, once, once_len, NULL, 0, &e) == 0);
		char *twice = printed(&again, &twice_len);

		must(once_len == twice_len && memcmp(once, twice, once_len) == 0);
		free(once);
		free(twice);
		agent_config_release(&again);
	}
	agent_config_release(&c);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	char *line = strndup((const char *)data, len);

	try(data, len, NULL, 0);
	try("", 0, &line, 1);
	free(line);
	return 0;
}
