/* SPDX-License-Identifier: GPL-3.0-or-later */
/* news-shard: one third of the index of words. */
#define LTTNG_UST_TRACEPOINT_DEFINE
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#include "shard_trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "serve.h"
#include "switches.h"
#include "work.h"

enum { WORDS = 200, RARE = 100 };

static int number;

/* The places of a word in the index: how many there are depends on the word. Shard 2 has a fault with one word in RARE. */
static int
postings(int word)
{
	int block = word / 8, hits;

	span_begin(postings, word);
	span_begin(postings_read, block);
	work_wait(1 + work_chance());
	if (number == 2 && word % RARE == 7)
		work_wait(60.0 * switch_degree(SWITCH_shard));
	span_end(postings_read, 256 + word);
	span_begin(postings_decode, 256 + word);
	hits = 5 + (int)(work_hash(&word, sizeof word, 200) % 20);
	span_end(postings_decode, hits);
	span_end(postings, hits);
	return hits;
}

static void
search(struct message *m)
{
	int word, hits, best;

	span_begin(search, number);
	span_begin(term, m->length);
	word = (int)(work_hash(m->text, m->length, 1) % WORDS);
	span_end(term, word);
	span_begin(seek, word);
	work_hash(&word, sizeof word, 500);
	span_end(seek, (int64_t)(word / 8));
	hits = postings(word);
	span_begin(score, hits);
	best = (int)(work_hash(&hits, sizeof hits, 50 * hits) % 100);
	span_end(score, best);
	span_begin(top, hits);
	m->number = hits < 10 ? hits : 10;
	span_end(top, m->number);
	m->length = 0;
	m->op = STATUS_OK;
	span_end(search, m->number);
}

static void
answer(struct message *m)
{
	hone_unit_begin(&m->carrier, "shard.search");
	search(m);
	hone_unit_end();
}

int
main(int argc, char **argv)
{
	char name[16];

	if (argc != 3) {
		fprintf(stderr, "usage: news-shard DIR NUMBER\n");
		return 2;
	}
	number = atoi(argv[2]);
	snprintf(name, sizeof name, "shard-%d", number);
	return switches_open(argv[1]) != 0 ? 1 : serve(argv[1], name, answer);
}
