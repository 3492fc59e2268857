/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The door to Kafka. kafka_rdkafka.c is a shared object, lib/hone/kafka.so, loaded when kafka.brokers is set, so that a honed alone needs no
 * librdkafka. One thread at a time.
 *
 * Messages are written in their order, acknowledged by all replicas in sync, without a limit of attempts; so one may be there twice, and
 * controlplane/relay/numbers.h recognises it. No transactions, no idempotent producer: their state may be lost with the broker's.
 */
#ifndef CONTROLPLANE_HONED_KAFKA_H
#define CONTROLPLANE_HONED_KAFKA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum { KAFKA_MESSAGE_MAX = 2 << 20 }; /* max.message.bytes of the topics */

struct kafka_options {
	const char *brokers, *name;
	const char *more;  /* further settings of librdkafka: "key=value key=value" */
	const char *group; /* of kafka_calls.share; NULL: none */
};

enum kafka_news {
	KAFKA_NOTHING,
	KAFKA_MESSAGE,
	KAFKA_TAKEN,   /* of a shared topic: `partition` is ours from here on */
	KAFKA_GIVEN_UP /* ... and is not any more: forget what is held of it */
};

struct kafka_message {
	const char *topic; /* valid as long as the connection */
	uint32_t partition;
	int64_t offset;
	const uint8_t *data; /* of MESSAGE, until release() */
	size_t len;
	void *inside;
};

struct kafka_delivery {
	uint64_t token;
	bool failed; /* for good, as for a message that is too large: *why */
	const char *why;
};

struct kafka_calls {
	/* ERR_INPUT: a setting is not understood; ERR_MEMORY. It connects later, and again and again. */
	int (*open)(void **ret, const struct kafka_options *o, struct err *e);
	/* Waits at most 2 s for what was put. NULL is fine. */
	void (*close)(void *k);
	/* How many partitions the topic has. ERR_MISSING: there is no such topic; ERR_PEER: no broker answers in time. */
	int (*partitions)(void *k, const char *topic, int timeout_ms, uint32_t *ret, struct err *e);
	/* Reads all partitions of these topics from their present ends: what is put after this call comes; of those whose `oldest` is set, from
	 * the oldest message that is there. ERR_PEER. */
	int (*follow)(void *k, const char *const *topics, const uint32_t *partitions,
	    const bool *oldest, uint32_t n, int timeout_ms, struct err *e);
	/* Shares the partitions of the topic with the others of the group. Each is read from where it was committed, or its oldest. */
	int (*share)(void *k, const char *topic, struct err *e);
	/* What came, waiting at most timeout_ms. Trouble of the connection is in *e once each time it changes (code 0: none). */
	enum kafka_news (*next)(void *k, int timeout_ms, struct kafka_message *ret, struct err *e);
	void (*release)(struct kafka_message *m);
	/* Copies the message. A delivery with the token follows, unless it is 0. ERR_FULL: too much waits; wait for deliveries. ERR_INPUT:
	 * too large. */
	int (*put)(void *k, const char *topic, uint32_t partition, const void *data, size_t len,
	    uint64_t token, struct err *e);
	/* The next delivery, waiting at most timeout_ms. */
	bool (*delivered)(void *k, int timeout_ms, struct kafka_delivery *ret);
	/* Notes where a successor begins to read the partition; without waiting. */
	void (*commit)(void *k, const char *topic, uint32_t partition, int64_t offset);
	/* The offset that the next message of the partition gets. ERR_PEER: no broker answers in time. */
	int (*end)(void *k, const char *topic, uint32_t partition, int timeout_ms, int64_t *ret,
	    struct err *e);
};

extern const struct kafka_calls kafka_calls; /* of kafka_rdkafka.c */

/* Loads lib/hone/kafka.so, once. ERR_SYSTEM: it, or librdkafka, is not installed. */
int kafka_load(const struct kafka_calls **ret, struct err *e);

#endif
