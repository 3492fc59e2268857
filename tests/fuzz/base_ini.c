/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as a configuration file: refused with line and message, or the same after being printed
 * and read again. */
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/ini.h"
#include "tests/fuzz/common/fuzz.h"

struct config {
	char *path, *name;
	int64_t count, lease_ns, ring_bytes;
	double share;
	int on;
};

#define AT(field) offsetof(struct config, field)
static const struct ini_key keys[] = {
	{ "a", "path", INI_TEXT, AT(path), "/var/lib/hone", 0, 0, "A text." },
	{ "a", "name", INI_TEXT, AT(name), "", 0, 0, "Another." },
	{ "a", "count", INI_COUNT, AT(count), "30", 0, 0, "A number." },
	{ "b", "lease", INI_TIME, AT(lease_ns), "5s", 0, 0, "A time." },
	{ "b", "ring", INI_BYTES, AT(ring_bytes), "64MiB", 0, 1e30, "A size." },
	{ "b", "share", INI_SHARE, AT(share), "10%", 0, 1e300, "A share." },
	{ "b", "on", INI_BOOL, AT(on), "yes", 0, 0, "Yes or no." },
};
enum { NKEYS = sizeof keys / sizeof *keys };

static char path[64];

static int
read_bytes_as_file(struct config *c, const void *data, size_t len, struct err *e)
{
	static int fd = -1;

	if (fd < 0) {
		fd = memfd_create("ini", 0);
		snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	}
	check(ftruncate(fd, 0) == 0 && pwrite(fd, data, len, 0) == (ssize_t)len);
	return ini_read(keys, NKEYS, c, path, e);
}

static void
print_and_read_again(const struct config *c)
{
	struct config again;
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	ini_print(keys, NKEYS, c, 0, f);
	fclose(f);
	check(ini_defaults(keys, NKEYS, &again, NULL) == 0);
	check(read_bytes_as_file(&again, text, len, NULL) == 0);
	check(strcmp(again.path, c->path) == 0 && strcmp(again.name, c->name) == 0);
	check(again.count == c->count && again.lease_ns == c->lease_ns &&
	      again.ring_bytes == c->ring_bytes);
	check(again.share == c->share && again.on == c->on);
	ini_release(keys, NKEYS, &again);
	free(text);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct config c;
	struct err e = { 0 };

	check(ini_defaults(keys, NKEYS, &c, NULL) == 0);
	if (read_bytes_as_file(&c, data, len, &e) == 0)
		print_and_read_again(&c);
	else
		check(
		    strncmp(e.text, path, strlen(path)) == 0 && strlen(e.text) > strlen(path) + 3);
	ini_release(keys, NKEYS, &c);
	return 0;
}
