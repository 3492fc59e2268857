/* SPDX-License-Identifier: GPL-3.0-or-later */
/* This honed's connection to Kafka: the topics, its name and run, and what it has to say about trouble. */
#ifndef CONTROLPLANE_HONED_KAFKA_LINK_H
#define CONTROLPLANE_HONED_KAFKA_LINK_H

#include "base/buf.h"
#include "controlplane/honed/honed_config.h"
#include "controlplane/honed/kafka.h"
#include "controlplane/honed/limited_log.h"
#include "controlplane/relay/numbers.h"

enum kafka_topic {
	TOPIC_RECORDS,
	TOPIC_ROWS,
	TOPIC_EVENTS,
	TOPIC_ORDERS,
	TOPIC_FOREST, /* of deciders only */
	TOPICS
};

struct kafka_link {
	const struct kafka_calls *calls;
	void *connection;
	char topics[TOPICS][256];
	char name[RELAY_SOURCE_MAX + 1];
	uint64_t epoch;      /* of this run */
	uint32_t partitions; /* of records */
	int64_t
	    shift_ns; /* CLOCK_MONOTONIC + this is the time base of the log; fixed when the link opens */
	uint64_t dropped; /* messages that could not be put */
	struct limited_log log;
};

/* Loads the door, connects, and looks whether the topics are there. group: for reading a topic with others; NULL: none. ERR_SYSTEM: no
 * librdkafka; ERR_PEER: no broker answers within 10 s; ERR_MISSING: a topic; ERR_INPUT. */
int kafka_link_open(struct kafka_link *l, const struct config *c, const char *group, struct err *e);
void kafka_link_close(struct kafka_link *l);

/* Reads these topics from now on, and that of the forest from its oldest message. */
int kafka_link_follow(
    struct kafka_link *l, const enum kafka_topic *topics, uint32_t n, struct err *e);
bool kafka_link_is(const struct kafka_link *l, enum kafka_topic t, const struct kafka_message *m);
/* What came; trouble is logged. */
enum kafka_news kafka_link_next(struct kafka_link *l, int timeout_ms, struct kafka_message *ret);
/* False: it was not put, which is logged and counted; the reader sees a gap. */
bool kafka_link_put(struct kafka_link *l, enum kafka_topic t, uint32_t partition,
    const struct buf *b, uint64_t token);

#endif
