/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The database of a decider that stands by, or begins: a copy of the leader's, by hone.forest (controlplane/relay/forest_entries.h). It is storage.database
 * itself, and the files beside it, so that who takes over opens them as usual.
 */
#ifndef CONTROLPLANE_HONED_FOREST_COPY_H
#define CONTROLPLANE_HONED_FOREST_COPY_H

#include "controlplane/honed/kafka_link.h"
#include "controlplane/relay/forest_entries.h"
#include "forest/forest.h"

struct forest_copy {
	const struct config *config; /* borrowed */
	struct kafka_link *kafka;    /* borrowed */
	struct store *store; /* NULL: another controller has the database; there is no copy */
	char *files[FOREST_FILES];
	struct forest_follow follow;
	struct leader led; /* the last term that a decider with this database had, and its run */
	bool of_log;       /* when it was opened, the database had rows of a log */
	bool led_before;   /* set by the caller: deciders have written to hone.orders before */
	struct mono came;  /* when the last entry came */
	struct mono lost;  /* when the copy was whole for the last time, or opened */
	struct mono asked; /* for a full state, */
	int64_t pause_ns;  /* and how long it waits until it asks again */
	uint64_t states;   /* that were told, */
	uint64_t gaps;     /* and gaps */
	bool told;         /* of a gap, since the last state */
	bool own_begin;    /* the entry with which our term begins has come */
	bool whole_before; /* and before it the copy was whole, */
	bool gone_before;  /* or the log was gone */
};

/* Opens the database, for which it needs what folders_check() checks. Errors of store_open(), but for ERR_BUSY. *c is to be closed in any case. */
int forest_copy_open(
    struct forest_copy *c, const struct config *config, struct kafka_link *k, struct err *e);
/* Closes the database: what is not complete is undone. */
void forest_copy_close(struct forest_copy *c);
/* A message of hone.forest; what went wrong is logged, once. term: ours, or 0. */
void forest_copy_take(
    struct forest_copy *c, const struct kafka_message *m, uint64_t term, struct mono now);
/* The log has no entry, though it must have had some: deciders have led, or the database has rows of a log. It was emptied or made anew, and
 * nobody can say whether the database has all that it said. */
bool forest_copy_log_is_gone(const struct forest_copy *c);
/* Whether it has all that the log has said, which is nothing where no decider has led; also if another controller has its database, which is then
 * the leader's. */
bool forest_copy_whole(const struct forest_copy *c);
/* Entries that have come, also those that were dropped: for seeing whether more come. */
uint64_t forest_copy_entries(const struct forest_copy *c);
/* This decider has the term: notes it in PATH.led, as its own files are newer from here on than those that the log has of this term and before. */
void forest_copy_lead(const struct forest_copy *c, uint64_t term);
/* Asks the leader for a full state, if one is needed (also since the last entries could not be read) and none comes: when no entry has come for 2 s, or 30 s after the copy was whole, or after it was opened if its log is gone; again
 * after 10 s, and after twice as long for each state that began and could not be taken, up to 1 h. */
void forest_copy_ask(struct forest_copy *c, struct mono now);

#endif
