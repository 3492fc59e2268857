/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parts of the bad peer: generation of messages (bad_peer_make.c) and sending (bad_peer.c). */
#ifndef BAD_PEER_H
#define BAD_PEER_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/rng.h"
#include "wire/frame.h"

/* Each appends a well-formed payload of its kind, whose values may be absurd. */
void make_hello(struct rng *dice, const char *node, struct buf *b);
void make_records(struct rng *dice, struct buf *b);
void make_status(struct rng *dice, struct buf *b);
void make_programs(struct rng *dice, struct buf *b);
void make_done(struct rng *dice, struct buf *b);
void make_want(struct rng *dice, uint64_t epoch, struct buf *b);
void make_question(struct rng *dice, const char *folder, struct buf *b);
/* Appends random bytes, at most `most`. */
void make_rubbish(struct rng *dice, size_t most, struct buf *b);

/* Changes, cuts or duplicates a few bytes of b. */
void mutate(struct rng *dice, struct buf *b);

#endif
