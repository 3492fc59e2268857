/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the decider writes to hone.forest (controlplane/relay/forest_entries.h): the rows of each commit, after it; full states, a piece in each step so
 * that nothing waits for them; and the files beside the forest, when they have changed.
 *
 * A state is due when the term begins, each day, when one that stands by asks, and when Kafka has not taken an entry; not within 5 s of the last.
 * States that were asked for begin 60 s after each other, and ten times as long after the last one as that took.
 * One that Kafka takes nothing of for 60 s ends, and begins anew when Kafka does.
 *
 * An entry that was put is in librdkafka's queue, and lost if this decider ends before Kafka has taken it. So what a commit says is acted on, and told to
 * operators, when all in-sync replicas have its entries: forest_feed_has_decisions() and forest_feed_has().
 */
#ifndef CONTROLPLANE_HONED_FOREST_FEED_H
#define CONTROLPLANE_HONED_FOREST_FEED_H

#include "base/clock.h"
#include "controlplane/honed/kafka_link.h"
#include "controlplane/relay/forest_entries.h"
#include "forest/store_copy.h"

struct forest_feed;

/* Entry 1 of the term, BEGIN, before there is a feed. False: it could not be put. */
bool forest_feed_begin(struct kafka_link *k, uint64_t term);
/* Behind that. from: the place in the log up to which this decider's database has everything; zeroes: it lacks something. The first state begins
 * here, before any rows: copies that have more than that know by its first entry that nothing is on top of them. The link and *c are borrowed.
 * ERR_MEMORY. */
int forest_feed_open(struct forest_feed **ret, struct kafka_link *k, const struct config *c,
    uint64_t term, const struct forest_place *from, struct err *e);
void forest_feed_close(struct forest_feed *f); /* NULL is fine */

/* The rows that are about to be committed; *at: their place, to be noted with them. ERR_MEMORY. O(rows). */
int forest_feed_changes(
    struct forest_feed *f, const struct forest_changes *c, struct store_place *at, struct err *e);
/* They are committed: puts them. After a commit that failed, call forest_feed_changes() again. */
void forest_feed_committed(struct forest_feed *f);
/* How many entries were put so far; and whether Kafka has that many. After one that it has not taken, it has none before a full state is complete
 * there. O(1). */
uint64_t forest_feed_put(const struct forest_feed *f);
bool forest_feed_has(const struct forest_feed *f, uint64_t put);
/* So, of the last commit that has runs, switches or audit rows: what further tracepoints are enabled for. Commits that have only what a search has
 * measured come all the time, and are not awaited. O(1). */
bool forest_feed_has_decisions(const struct forest_feed *f);
/* One that stands by has not got everything. */
void forest_feed_asked(struct forest_feed *f);
/* Goes on with states and files, some ms at most; to be called in each step. */
void forest_feed_step(struct forest_feed *f, struct mono now);

struct forest_feed_counts {
	uint64_t entries, states; /* put, complete */
	uint64_t lost;            /* entries that Kafka has not taken */
};
void forest_feed_counts(const struct forest_feed *f, struct forest_feed_counts *ret);

#endif
