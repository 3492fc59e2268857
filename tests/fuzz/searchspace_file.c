/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A space's file with bytes changed: three bytes of input are a position and a new value. Either it
 * loads, and can be saved and queried, or the reason is returned and nothing was added.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/trace.h"
#include "searchspace/space.h"
#include "tests/unit/searchspace/between.h"

enum { FILE_MAX_BYTES = 1 << 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static char path[64];
static uint8_t good[FILE_MAX_BYTES];
static size_t good_len;

static void
must(int ok)
{
	if (!ok)
		abort();
}

static void
write_file(const uint8_t *bytes, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	must(fd >= 0 && write(fd, bytes, len) == (ssize_t)len);
	close(fd);
}

static void
forget(void)
{
	unlink(path);
}

static void
make_good(void)
{
	static const char *const texts[] = { "s/hone:request_begin(A)", "s/p:x_begin", "s/p:a",
		"s/p:x_end", "s/p:b" };
	static const char *const fields[] = { "rows" };
	static const struct value seven = { .type = VALUE_INT, .i = 7 },
				  eu = { .type = VALUE_TEXT, .len = 2, .text = "eu" };
	struct labels *labels = labels_new();
	struct space *s = space_new(labels);
	struct event events[5];
	struct unit unit = { .count = 5 };
	struct trace t = { .nevents = 5, .nunits = 1, .events = events, .units = &unit };
	int fd;

	for (uint32_t i = 0; i < 5; i++)
		events[i] = (struct event){ .time_ns = i * 10,
			.label = labels_intern(labels, i == 0 ? RECORD_REQUEST_BEGIN : RECORD_POINT,
			    texts[i], strlen(texts[i]), fields, i > 0),
			.nvalues = i > 0,
			.values = i == 2 ? &seven : &eu };
	t.type = events[0].label;
	snprintf(path, sizeof path, "/dev/shm/hone-fuzz-%ld.db", (long)getpid());
	atexit(forget);
	must(space_learn(s, &t, NULL) == 0 && space_save(s, path, NULL) == 0);
	must(space_version_set(s, 1, "1.0", 100, NULL) == 0 && space_save(s, path, NULL) == 0);
	fd = open(path, O_RDONLY);
	good_len = (size_t)read(fd, good, sizeof good);
	close(fd);
	must(good_len > 4096 && good_len < sizeof good);
	space_free(s);
	labels_free(labels);
}

static void
use(struct space *s, const struct labels *labels)
{
	struct between found[16];
	struct space_export look;
	uint32_t type, n = labels_count(labels);

	unlink(path);
	must(space_save(s, path, NULL) == 0);
	for (uint32_t i = 0; (type = space_type(s, i)) != LABEL_NONE; i++)
		must(space_export(s, type, &look) && look.nplaces > 0);
	for (uint32_t i = 0; (type = space_type(s, i)) != LABEL_NONE; i++)
		for (uint32_t k = 0; k < n && n < 100; k++) {
			struct gap g = { type, k, type, type };

			must(space_between(s, type, &g, NULL, found, 16, NULL) >= 0);
		}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	uint8_t bytes[FILE_MAX_BYTES];
	struct labels *labels = labels_new();
	struct space *s = space_new(labels);
	struct err e = { 0 };

	if (good_len == 0)
		make_good();
	memcpy(bytes, good, good_len);
	for (; len >= 3; data += 3, len -= 3)
		bytes[(size_t)(data[0] << 8 | data[1]) % good_len] = data[2];
	write_file(bytes, good_len - len * (good_len / 3));
	if (space_load(s, labels, path, NULL, &e) == 0)
		use(s, labels);
	else
		must(e.text[0] != '\0' && e.code < 0 && space_type(s, 0) == LABEL_NONE);
	space_free(s);
	labels_free(labels);
	return 0;
}
