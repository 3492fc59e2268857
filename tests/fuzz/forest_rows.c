/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Any bytes as rows of a forest that come from a log: refused, or written into a database whose tables take them. The first byte is the writer's
 * schema. Half of the inputs are rows of their own making: a table and values, so that more than the lengths is tried.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "forest/store_copy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static char path[64];
static struct store *store;

static void
must(int ok)
{
	if (!ok)
		abort();
}

static void
forget(void)
{
	static const char *const endings[] = { "", "-wal", "-shm", ".lock", ".before-log",
		".before-log.new" };
	char name[96];

	store_close(store);
	for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
		snprintf(name, sizeof name, "%s%s", path, endings[i]);
		unlink(name);
	}
}

static void
begin(void)
{
	struct err e;

	snprintf(path, sizeof path, "%s/hone-rows-%ld.db",
	    access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp", (long)getpid());
	must(store_open(&store, path, &e) == 0 && store_relax(store, &e) == 0);
	atexit(forget);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct buf rows = { 0 };
	struct err e = { 0 };
	uint64_t n;
	int rc;

	if (store == NULL)
		begin();
	if (len < 2)
		return 0;
	if (data[0] & 128) {
		buf_u8(&rows, data[1] % 7);
		buf_text(&rows, (const char *)data + 2, len - 2);
	} else
		buf_bytes(&rows, data + 1, len - 1);
	must(rows_fitting(rows.data, rows.len, 100, &n) <= rows.len);
	must(store_replace_begin(store, &e) == 0);
	rc = store_replace_rows(store, rows.data, rows.len, data[0] % 9, &e);
	must(rc == 0 || (rc == e.code && e.text[0] != '\0'));
	store_replace_undo(store);
	buf_release(&rows);
	return 0;
}
