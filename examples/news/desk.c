/* SPDX-License-Identifier: GPL-3.0-or-later */
/* news-desk: makes pages of articles and takes new ones. Its workers serve a queue (pool.c). */
#define LTTNG_UST_TRACEPOINT_DEFINE
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#include "desk_trace.h"

#include <stdio.h>
#include <string.h>
#include "pool.h"
#include "switches.h"
#include "work.h"

enum { WORKERS = 8, ATTEMPTS_MAX = 8, BACKOFF_MS = 12, BLOCK = 200, STEP_MS = 12 };

static const char *dir;
static int kv[WORKERS], ads[WORKERS]; /* the connections of each worker */

static int
rights(int user, int rounds)
{
	int allowed;

	span_begin(rights, user);
	allowed = work_hash(&user, sizeof user, rounds) != 0;
	span_end(rights, allowed);
	return allowed;
}

/* ---- reading ------------------------------------------------------------------------- */

static int
attempt(int worker, int article, int number, struct message *m)
{
	struct hone_carrier c;
	int failed;

	span_begin(attempt, number);
	m->op = OP_GET;
	m->number = article;
	m->length = 1;
	m->text[0] = (char)('0' + number);
	hone_fork("kv.get", &c);
	m->carrier = c;
	failed = message_ask(kv[worker], m);
	hone_join(&c, "kv.get");
	if (failed)
		m->op = STATUS_BUSY;
	span_end(attempt, m->op);
	return m->op == STATUS_BUSY;
}

/* A busy store is asked again, after a pause that grows. */
static void
fetch(int worker, int article, struct message *m)
{
	int number = 1;

	span_begin(fetch, article);
	while (attempt(worker, article, number, m) && number < ATTEMPTS_MAX) {
		span_begin(backoff, number);
		work_wait(number * BACKOFF_MS);
		span_end(backoff, (int64_t)number * BACKOFF_MS);
		number++;
	}
	span_end(fetch, number);
}

/* Articles are kept decoded; those that are not are decoded when they are read. */
static int
decoded(int article, const struct message *m)
{
	int hit, blocks = (int)(m->length / BLOCK) + 1;

	span_begin(cache_lookup, article);
	hit = !switch_degree(SWITCH_cache) || article % 10 > 2;
	span_end(cache_lookup, hit);
	if (hit)
		return blocks;
	span_begin(cache_fill, article);
	span_begin(decode, m->length);
	work_wait(18.0 * switch_degree(SWITCH_cache));
	work_hash(m->text, m->length, 20);
	span_end(decode, blocks);
	span_end(cache_fill, blocks);
	return blocks;
}

static void
advertise(int worker, int article)
{
	struct message m = { .op = OP_ADS, .number = article, .length = 20 };
	int count = 0, chosen;

	span_begin(advertise, article);
	span_begin(ads_ask, article);
	message_send(ads[worker], &m);
	span_end(ads_ask, m.length);
	span_begin(ads_wait, m.length);
	if (message_receive(ads[worker], &m) == 1)
		count = m.number;
	span_end(ads_wait, count);
	span_begin(ads_choose, count);
	chosen = (int)(work_hash(&article, sizeof article, 30) % 3);
	span_end(ads_choose, chosen);
	span_end(advertise, count);
}

static void
layout(const struct message *m, int blocks)
{
	span_begin(layout, blocks);
	for (int i = 0; i < blocks; i++) {
		span_begin(block, i);
		work_hash(m->text, BLOCK, 40);
		span_end(block, BLOCK);
	}
	span_end(layout, (int64_t)blocks * BLOCK);
}

static void
read_article(struct message *m, int worker, int queued)
{
	int article = m->number, blocks;
	uint32_t id = m->id;

	span_begin(read, queued);
	rights(article, 30);
	fetch(worker, article, m);
	if (m->op == STATUS_OK) {
		blocks = decoded(article, m);
		advertise(worker, article);
		layout(m, blocks);
		span_begin(related, article);
		work_hash(&article, sizeof article, 200);
		span_end(related, 3);
	}
	m->id = id;
	span_end(read, m->length);
}

/* ---- publishing ---------------------------------------------------------------------- */

/* Five steps in a row, one of them in news-kv, each with a queue: together they are unpredictable, and none stands out. */

static void
publish_article(struct message *m, int worker, int queued)
{
	int article = m->number, problems, terms;
	uint32_t id = m->id;
	struct hone_carrier c;

	span_begin(publish, queued);
	rights(article, 60);
	m->length = 600;
	memset(m->text, 'p', m->length);
	span_begin(validate, m->length);
	work_queue(0, STEP_MS);
	problems = (int)(work_hash(m->text, m->length, 10) % 3);
	span_end(validate, problems);
	span_begin(index_terms, m->length);
	work_queue(1, STEP_MS);
	terms = (int)(work_hash(m->text, m->length, 20) % 50);
	span_end(index_terms, terms);
	span_begin(store, article);
	hone_fork("kv.put", &c);
	m->carrier = c;
	m->op = OP_PUT;
	if (message_ask(kv[worker], m) != 0)
		m->op = STATUS_BUSY;
	hone_join(&c, "kv.put");
	span_end(store, m->op);
	span_begin(announce, article);
	work_queue(2, STEP_MS);
	span_end(announce, (int64_t)(article % 90));
	span_begin(archive, article);
	work_queue(3, STEP_MS);
	span_end(archive, 1);
	m->id = id;
	span_end(publish, m->op);
}

/* ---- the program --------------------------------------------------------------------- */

static const char *
unit_name(uint32_t op)
{
	return op == OP_PUBLISH ? "desk.publish" : "desk.read";
}

static void
answer(struct message *m, int worker, int queued)
{
	if (m->op == OP_PUBLISH)
		publish_article(m, worker, queued);
	else
		read_article(m, worker, queued);
}

int
main(int argc, char **argv)
{
	struct pool_service s = {
		.name = "desk", .workers = WORKERS, .unit_name = unit_name, .answer = answer
	};

	if (argc != 2) {
		fprintf(stderr, "usage: news-desk DIR\n");
		return 2;
	}
	s.dir = dir = argv[1];
	if (switches_open(dir) != 0)
		return 1;
	for (int i = 0; i < WORKERS; i++)
		if ((kv[i] = message_connect(dir, "kv")) < 0 ||
		    (ads[i] = message_connect(dir, "ads")) < 0)
			return 1;
	return pool_serve(&s);
}
