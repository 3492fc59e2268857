/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Answers of a decider that say that something was begun, changed or ended: each is held until that is in the database and Kafka has it in the log of
 * the forest. So whoever takes over knows of all in the forest that an operator was told, and who asks while a decider is killed is not told that it is
 * done. Files beside the forest (docs/scale.md) are in the log a second later, or more. A question that was refused is answered at once.
 *
 * What Kafka does not take within ANSWER_HELD_NS is not taken back: the asker is told that it is done here alone.
 */
#ifndef CONTROLPLANE_HONED_HELD_ANSWERS_H
#define CONTROLPLANE_HONED_HELD_ANSWERS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/err.h"

#define ANSWER_HELD_NS INT64_C(5000000000)

struct held_answer;

/* How an answer reaches who waits for it. give() takes the text, refuse() does not; one of them is called once for each answer. */
struct held_port {
	void *of;
	void (*give)(void *of, void *peer, char *text);
	void (*refuse)(void *of, void *peer, const char *why);
};

struct held_answers { /* all zeroes but `port`: none is held */
	struct held_port port;
	struct held_answer *first, *last;
};

/* Takes the text on success. Each asker has one question at a time, so their number is bounded by that of connections. ERR_MEMORY. */
int held_answers_add(
    struct held_answers *l, void *peer, char *text, struct mono now, struct err *e);
/* All that was held is committed: it is in the log when Kafka has `put` entries (forest_feed_put()). */
void held_answers_committed(struct held_answers *l, uint64_t put);
/* Gives, in their order, those that has(feed, put) says are in the log, and refuses those that are older than ANSWER_HELD_NS. O(answers). */
void held_answers_step(struct held_answers *l, bool (*has)(const void *feed, uint64_t put),
    const void *feed, struct mono now);
/* Refuses all. */
void held_answers_end(struct held_answers *l, const char *why);

#endif
