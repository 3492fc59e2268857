/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE
#include "controlplane/honed/forest_copy.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "controlplane/honed/file_replace.h"
#include "controlplane/honed/folders.h"
#include "controlplane/honed/forest_files.h"
#include "forest/store_copy.h"

#define CALM_NS INT64_C(2000000000)
#define LOST_NS INT64_C(30000000000)
#define ASK_EACH_NS INT64_C(10000000000)
#define ASK_EACH_MAX_NS INT64_C(3600000000000)

/* ---- the calls ---- */

static int
needs_store(const struct forest_copy *c, struct err *e)
{
	return c->store != NULL
	           ? 0
	           : err_set(e, ERR_BUSY, "%s: another controller has it", c->config->database);
}

static struct store_place
place_of(const struct forest_place *p)
{
	return (struct store_place){ p->term, p->run, p->number };
}

static int
put_rows(void *ctx, const void *rows, size_t len, uint32_t schema, const struct forest_place *at,
    struct err *e)
{
	struct forest_copy *c = ctx;
	struct store_place p = place_of(at);
	int rc = needs_store(c, e);

	return rc == 0 ? store_put_rows(c->store, rows, len, (int)schema, &p, e) : rc;
}

static int
state_begin(void *ctx, struct err *e)
{
	struct forest_copy *c = ctx;
	int rc = needs_store(c, e);

	return rc == 0 ? store_replace_begin(c->store, e) : rc;
}

static int
state_rows(void *ctx, const void *rows, size_t len, uint32_t schema, struct err *e)
{
	return store_replace_rows(((struct forest_copy *)ctx)->store, rows, len, (int)schema, e);
}

static int
state_end(void *ctx, const struct forest_place *at, struct err *e)
{
	struct forest_copy *c = ctx;
	struct store_place p = place_of(at);
	int rc = store_replace_end(c->store, &p, e);

	if (rc == 0)
		c->pause_ns = ASK_EACH_NS;
	return rc;
}

static void
state_undo(void *ctx)
{
	struct forest_copy *c = ctx;

	if (c->store != NULL)
		store_replace_undo(c->store);
	/* It may fail each time, as with a full disk, and each one is the leader's whole database. */
	c->pause_ns = c->pause_ns < ASK_EACH_MAX_NS / 2 ? 2 * c->pause_ns : ASK_EACH_MAX_NS;
}

/* What the log has of files is as old as its last entry of them, and all of it was read before this decider led. */
static bool
own_is_newer(const struct forest_copy *c, uint32_t which)
{
	const struct forest_place *at = &c->follow.seen;

	return (at->term < c->led.term || (at->term == c->led.term && at->run == c->led.epoch)) &&
	       access(c->files[which], F_OK) == 0;
}

static int
put_file(void *ctx, uint32_t which, const void *data, size_t len, struct err *e)
{
	struct forest_copy *c = ctx;
	int rc = needs_store(c, e);

	if (rc == 0 && own_is_newer(c, which))
		return 0;
	if (rc == 0 && (rc = forest_file_write(c->files[which], which, data, len, e)) != 0)
		limited_log(&c->kafka->log, clock_mono(), LOG_ERROR,
		    "%s; the copy has an older one", e->text);
	return rc;
}

/* ---- the copy ---- */

/* "TERM RUN"; zeroes: it has not led yet, or nobody knows. */
static void
read_led(struct forest_copy *c)
{
	char text[48] = "", *path, *end;
	FILE *f;

	if (asprintf(&path, "%s.led", c->config->database) < 0)
		return;
	if ((f = fopen(path, "re")) != NULL) {
		if (fgets(text, sizeof text, f) != NULL) {
			c->led.term = strtoull(text, &end, 10);
			c->led.epoch = strtoull(end, NULL, 10);
		}
		fclose(f);
	}
	free(path);
}

void
forest_copy_lead(const struct forest_copy *c, uint64_t term)
{
	struct err e = { 0 };
	char text[48], *path;
	int n = snprintf(text, sizeof text, "%" PRIu64 " %" PRIu64 "\n", term, c->kafka->epoch);

	if (asprintf(&path, "%s.led", c->config->database) < 0)
		return;
	if (file_replace(path, text, (size_t)n, NULL, NULL, &e) != 0)
		log_line(LOG_WARN,
		    "%s; when this decider is started anew, its files are those of hone.forest",
		    e.text);
	free(path);
}

int
forest_copy_open(
    struct forest_copy *c, const struct config *config, struct kafka_link *k, struct err *e)
{
	const struct forest_calls calls = { c, put_rows, state_begin, state_rows, state_end,
		state_undo, put_file };
	struct store_place at = { 0 };
	int rc;

	*c = (struct forest_copy){ .config = config,
		.kafka = k,
		.came = clock_mono(),
		.lost = clock_mono(),
		.pause_ns = ASK_EACH_NS };
	for (uint32_t i = 0; i < FOREST_FILES; i++)
		if ((rc = forest_file_path(&c->files[i], config, i, e)) != 0)
			return rc;
	if ((rc = folders_check(config, e)) != 0)
		return rc;
	rc = store_open(&c->store, config->database, e);
	if (rc == ERR_BUSY) /* on one machine: it can still take over when that one has ended */
		log_line(LOG_WARN, "%s; this decider stands by without a copy", e->text);
	else if (rc != 0 || (rc = store_place(c->store, &at, e)) != 0 ||
		 (rc = store_relax(c->store, e)) != 0)
		return rc;
	c->of_log = at.term != 0;
	if (c->of_log) /* else the database is a new one, and the topic may be, too */
		read_led(c);
	forest_follow_init(
	    &c->follow, &calls, &(struct forest_place){ at.term, at.run, at.number });
	return 0;
}

void
forest_copy_close(struct forest_copy *c)
{
	if (c->follow.calls.ctx != NULL) {
		forest_follow_end(&c->follow);
		forest_follow_release(&c->follow);
	}
	store_close(c->store);
	c->store = NULL;
	for (uint32_t i = 0; i < FOREST_FILES; i++) {
		free(c->files[i]);
		c->files[i] = NULL;
	}
}

static void
tell(struct forest_copy *c, struct mono now)
{
	struct forest_follow *f = &c->follow;

	if (f->gaps != c->gaps && !c->told && f->missing == 0)
		log_line(LOG_WARN,
		    "hone.forest: the decider of term %" PRIu64
		    " goes on from something else than this copy has: it does not have all until a full state has come",
		    f->seen.term);
	else if (f->gaps != c->gaps &&
		 !c->told) /* once until a state has come, so it needs no limit */
		log_line(LOG_WARN,
		    "hone.forest: %" PRIu64 " entries before entry %" PRIu64 " of term %" PRIu64
		    " are missing: this copy of the forest does not have all until a full state has come",
		    f->missing, f->seen.number, f->seen.term);
	c->told = c->told || f->gaps != c->gaps;
	c->gaps = f->gaps;
	if (f->trouble.code != 0)
		limited_log(&c->kafka->log, now, LOG_ERROR,
		    "%s: this copy of the forest does not have all until a full state has come",
		    f->trouble.text);
	f->trouble.code = 0;
	if (f->states != c->states && f->whole)
		log_line(LOG_INFO, "%s: is a copy of the forest of term %" PRIu64,
		    c->config->database, f->seen.term);
	c->told = c->told && f->states == c->states;
	c->states = f->states;
}

bool
forest_copy_log_is_gone(const struct forest_copy *c)
{
	return c->store != NULL && forest_copy_entries(c) == 0 && !c->follow.unread &&
	       (c->led_before || c->of_log);
}

bool
forest_copy_whole(const struct forest_copy *c)
{
	return c->store == NULL || ((c->follow.whole || c->follow.entries == 0) &&
				       !c->follow.unread && !forest_copy_log_is_gone(c));
}

/* Another controller had this database. If it was the leader until now, the database has the last rows of the log. */
static bool
shared_is_whole(const struct forest_copy *c)
{
	const struct forest_place *rows = &c->follow.rows;
	struct store_place at = { 0 };
	struct store *s = NULL;
	struct err e;
	bool is = store_open(&s, c->config->database, &e) == 0 && store_place(s, &at, &e) == 0 &&
	          (at.term > rows->term ||
		      (at.term == rows->term && at.run == rows->run && at.number >= rows->number));

	store_close(s);
	return is;
}

uint64_t
forest_copy_entries(const struct forest_copy *c)
{
	return c->follow.entries + c->follow.older + c->follow.again;
}

void
forest_copy_take(
    struct forest_copy *c, const struct kafka_message *m, uint64_t term, struct mono now)
{
	struct forest_follow *f = &c->follow;
	bool was = forest_copy_whole(c), gone = forest_copy_log_is_gone(c);
	struct err e;

	if (c->own_begin) /* what follows is ours, or of nobody */
		return;
	if (forest_follow_take(f, m->data, m->len, &e) != 0)
		limited_log(&c->kafka->log, now, LOG_ERROR, "%s", e.text);
	c->came = now;
	if (f->whole)
		c->lost = now;
	if (term != 0 && f->seen.term == term && f->seen.run == c->kafka->epoch) {
		c->own_begin = true;
		c->gone_before = gone;
		c->whole_before = c->store != NULL ? was : shared_is_whole(c);
	}
	tell(c, now);
}

void
forest_copy_ask(struct forest_copy *c, struct mono now)
{
	struct relay_head h = { .kind = RELAY_FOREST, .number = 1, .epoch = c->kafka->epoch };
	const struct forest_entry x = { .kind = FOREST_ASK };
	struct buf b = { 0 };
	bool has_all = c->follow.whole && !c->follow.unread, gone = forest_copy_log_is_gone(c);

	if (c->store == NULL || (has_all && !gone) || c->follow.state_on ||
	    ((has_all || mono_since_ns(now, c->came) < CALM_NS) &&
		mono_since_ns(now, c->lost) < LOST_NS) ||
	    (c->asked.ns != 0 && mono_since_ns(now, c->asked) < c->pause_ns))
		return;
	c->asked = now;
	memcpy(h.source, c->kafka->name, sizeof h.source);
	forest_entry_encode(&h, &x, &b);
	if (!b.failed)
		kafka_link_put(c->kafka, TOPIC_FOREST, 0, &b, 0);
	buf_release(&b);
}
