/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The way in which threads are watched here: BPF programs (observe.h), else looks at /proc (looks.h). */
#ifndef BELOW_MAIN_BELOW_WATCH_H
#define BELOW_MAIN_BELOW_WATCH_H

#include <stdbool.h>

#include "base/clock.h"
#include "below/main/looks.h"
#include "below/main/observe.h"

enum {
	WATCH_WITHOUT_BPF = 1 << 30
}; /* of observer_options.without: as if BPF were not permitted */

struct below_watch { /* one of them is not NULL, or nothing is possible */
	struct observer *observer;
	struct looks *looks;
};

/* As observer_open(), else looks_open(). */
int watch_open(struct below_watch *ret, const struct observer_options *o, struct err *e);
void watch_close(struct below_watch *w);

bool watch_is_open(const struct below_watch *w);
struct below_can watch_can(const struct below_watch *w); /* its text is valid until the next call */

/* As observer_follow(), looks_follow(). */
int watch_follow(struct below_watch *w, pid_t pid, const struct below_follow *f, struct err *e);
void watch_unfollow(struct below_watch *w, pid_t pid);

/* As observer_probe(), observer_list(), observer_apply(); looks have no probes. */
int watch_probe(struct below_watch *w, const struct below_probe *probe, struct err *e);
void watch_list(struct below_watch *w, pid_t pid, below_take *take, void *of);
void watch_apply(struct below_watch *w, below_take *take, void *of);

/* How long the caller may wait before watch_turn(), at most most_ms. */
int64_t watch_wait_ns(const struct below_watch *w, int64_t most_ns);

/* Looks at threads, if that is how. */
void watch_turn(struct below_watch *w, below_take *take, void *of);

/* Hands on what there is, if `last` also of what goes on; then a MARK. */
void watch_read(struct below_watch *w, bool last, below_take *take, void *of);

uint64_t watch_reader_cpu_ns(const struct below_watch *w); /* as observer_reader_cpu_ns() */

#endif
