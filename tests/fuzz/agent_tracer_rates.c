/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Any bytes as the table of rates that an earlier agent left or that was damaged: it is replaced,
 * or taken over with sampling disabled. The desired rates are then where libhone reads them, or the
 * agent reports that the table is full.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/tracer/rates.h"
#include "instrument/policy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static char path[64];

static void
must(int ok)
{
	if (!ok)
		abort();
}

static void
forget(void)
{
	char knock[sizeof path + sizeof HONE_POLICY_KNOCK];

	unlink(path);
	snprintf(knock, sizeof knock, "%s" HONE_POLICY_KNOCK, path);
	unlink(knock);
}

/* The input overwrites a part of a valid table, so that most inputs have our version. */
static void
write_table(const uint8_t *data, size_t len)
{
	static struct hone_policy t;
	uint8_t *bytes = (uint8_t *)&t;
	int fd;

	memset(&t, 0, sizeof t);
	t.magic = HONE_POLICY_MAGIC;
	t.version = HONE_POLICY_VERSION;
	t.ntypes = HONE_POLICY_TYPES;
	for (; len >= 10; data += 10, len -= 10) {
		size_t at = ((size_t)data[0] << 8 | data[1]) % (sizeof t - 8);

		memcpy(bytes + at, data + 2, 8);
	}
	unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	must(fd >= 0 && write(fd, bytes, len % 3 == 1 ? sizeof t / 2 : sizeof t) > 0);
	close(fd);
}

static void
read_table(struct hone_policy *t)
{
	int fd = open(path, O_RDONLY);

	must(fd >= 0 && read(fd, t, sizeof *t) == (ssize_t)sizeof *t);
	close(fd);
}

static bool
silent(const struct hone_policy *t)
{
	for (int i = 0; i < HONE_POLICY_TYPES; i++)
		if (t->types[i].probe_until_ns != 0 || t->types[i].probe_rate != 0)
			return false;
	return true;
}

static const struct hone_policy_entry *
find(const struct hone_policy *t, uint32_t type)
{
	for (uint32_t i = 0; i < HONE_POLICY_TYPES; i++) {
		const struct hone_policy_entry *e = &t->types[(type + i) % HONE_POLICY_TYPES];

		if (e->request_type == type)
			return e;
		if (e->request_type == 0)
			return NULL;
	}
	return NULL;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static struct hone_policy t;
	struct rate rates[] = { { "GET_HOME", 1, 0.5 }, { "", 0.5, 1 } };
	struct want w = { .epoch = 1, .sampled = 1, .nrates = 2, .rates = rates };
	struct rates *r;
	struct err e = { 0 };
	int rc;

	if (path[0] == '\0') {
		snprintf(path, sizeof path, "/dev/shm/hone-fuzz-rates-%ld", (long)getpid());
		atexit(forget);
	}
	write_table(data, len);
	int fd = open(path, O_RDWR);

	must(fd >= 0);
	rates_silence_fd(fd); /* acts as the guardian on any table */
	close(fd);
	must(rates_open(&r, path, &e) == 0);
	read_table(&t);
	must(t.magic == HONE_POLICY_MAGIC && t.sample_until_ns == 0 && silent(&t));
	rc = rates_apply(r, &w, (struct mono){ 77 }, &e);
	read_table(&t);
	for (int i = 0; i < 2; i++) {
		const struct hone_policy_entry *entry = find(
		    &t, hone_policy_type(rates[i].request_type));

		must((entry != NULL && entry->probe_until_ns == 77 && entry->probe_rate != 0) ||
		     rc == ERR_FULL);
	}
	w.nrates = 0;
	rates_apply(r, &w, (struct mono){ 88 }, &e);
	read_table(&t);
	must(silent(&t));
	rates_close(r, len % 2 == 0);
	return 0;
}
