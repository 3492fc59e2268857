/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as honed.conf: refused with a message, or the printed configuration reads back to the
 * same, and all values are in range. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/ini.h"
#include "controlplane/honed/honed_config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void
must(int ok)
{
	if (!ok)
		abort();
}

static int
read_config(struct config *c, const void *data, size_t len, struct err *e)
{
	static char path[64];
	static int fd = -1;

	if (fd < 0) {
		fd = memfd_create("honed.conf", 0);
		snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	}
	must(ftruncate(fd, 0) == 0 && pwrite(fd, data, len, 0) == (ssize_t)len);
	must(config_init(c, e) == 0);
	return config_read(c, path, e);
}

static char *
printed(const struct config *c, size_t *len)
{
	char *text = NULL;
	FILE *f = open_memstream(&text, len);

	ini_print(config_keys, config_nkeys, c, 0, f);
	fclose(f);
	return text;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct config c, again;
	struct err e = { 0 };
	size_t once_len, twice_len;
	int rc = read_config(&c, data, len, &e);

	must(rc == 0 || (rc == e.code && e.text[0] != '\0'));
	if (rc == 0 && (rc = config_check(&c, &e)) == 0) {
		char *once = printed(&c, &once_len);

		must(read_config(&again, once, once_len, &e) == 0 && config_check(&again, &e) == 0);
		char *twice = printed(&again, &twice_len);

		must(once_len == twice_len && memcmp(once, twice, once_len) == 0);
		must(config_server(&c).connections_max == c.connections_max &&
		     c.connections_max <= 10000);
		must(config_engine(&c).seed == (uint64_t)c.seed);
		free(once);
		free(twice);
		config_release(&again);
	}
	must(rc == 0 || e.text[0] != '\0');
	config_release(&c);
	return 0;
}
