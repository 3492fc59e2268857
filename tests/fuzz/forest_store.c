/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A forest's file with bytes changed: three bytes of input are a position and a new value. Either
 * it opens, loads and accepts a commit, or the reason is returned.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "forest/forest.h"

enum { FILE_MAX_BYTES = 1 << 17 };

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
forget(void)
{
	static const char *const endings[] = { "", "-wal", "-shm", "-journal", ".lock", "-saved",
		"-saved.lock" };
	char name[96];

	for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
		snprintf(name, sizeof name, "%s%s", path, endings[i]);
		unlink(name);
	}
}

static void
change(struct forest *f)
{
	struct switched w = { .tracepoint = "p:e", .reason = REASON_SPLITS_EDGE, .on = true };
	struct run *r = forest_run_new(f, "A");
	struct hypothesis *h = forest_hypothesis_new(f, r->id, 0);

	w.run = r->id;
	w.hypothesis = h->id;
	struct evidence v = { { 1, 2 }, r->id, h->id, 30, 4 };
	struct verdict u = { .run = r->id, .hypothesis = h->id, .cost_ns = 5 };

	must(forest_hypothesis_new(f, r->id, h->id) != NULL && forest_switched(f, &w, NULL) == 0);
	must(forest_evidence_add(f, &v, NULL) == 0 && forest_verdict_new(f, &u) != NULL);
}

static void
make_good(void)
{
	struct forest *f = forest_new();
	struct store *s;
	int fd;

	snprintf(path, sizeof path, "/dev/shm/hone-fuzz-%ld.db", (long)getpid());
	atexit(forget);
	change(f);
	must(store_open(&s, path, NULL) == 0 && store_commit(s, f, NULL) == 0);
	store_close(s);
	forest_free(f);
	fd = open(path, O_RDONLY);
	good_len = (size_t)read(fd, good, sizeof good);
	close(fd);
	must(good_len > 4096 && good_len < sizeof good);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static uint8_t bytes[FILE_MAX_BYTES];
	struct forest *f = forest_new();
	struct store *s = NULL;
	struct err e = { 0 };
	struct salvaged n;
	char saved[80];
	int fd, rc;

	if (good_len == 0)
		make_good();
	memcpy(bytes, good, good_len);
	for (; len >= 3; data += 3, len -= 3)
		bytes[(size_t)(data[0] << 8 | data[1]) % good_len] = data[2];
	forget();
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	must(fd >= 0 && write(fd, bytes, good_len) == (ssize_t)good_len);
	close(fd);
	if ((rc = store_open(&s, path, &e)) == 0 && (rc = store_load(s, f, 0, &e)) == 0) {
		change(f);
		rc = store_commit(s, f, &e);
	}
	must(rc == 0 || (rc < 0 && e.code == rc && e.text[0] != '\0'));
	store_close(s);
	forest_free(f);
	snprintf(saved, sizeof saved, "%s-saved", path);
	rc = store_salvage(path, saved, &n, &e); /* a forest that was saved opens and loads */
	must(rc == 0 || (rc < 0 && e.code == rc && e.text[0] != '\0'));
	if (rc == 0) {
		f = forest_new();
		s = NULL;
		must(store_open(&s, saved, &e) == 0 && store_load(s, f, 0, &e) == 0);
		store_close(s);
		forest_free(f);
	}
	return 0;
}
