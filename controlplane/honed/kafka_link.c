/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/honed/kafka_link.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"

enum { OPEN_MS = 10000 };

static int
find_topics(struct kafka_link *l, const char *prefix, int topics, struct err *e)
{
	static const char *const names[TOPICS] = { "records", "rows", "events", "orders",
		"forest" };
	uint32_t n;
	int rc;

	for (int i = 0; i < topics; i++) {
		snprintf(l->topics[i], sizeof l->topics[i], "%s%s", prefix, names[i]);
		if ((rc = l->calls->partitions(l->connection, l->topics[i], OPEN_MS, &n, e)) != 0)
			return rc;
		if (i == TOPIC_RECORDS)
			l->partitions = n;
	}
	return 0;
}

int
kafka_link_open(struct kafka_link *l, const struct config *c, const char *group, struct err *e)
{
	struct kafka_options o = { .brokers = c->kafka_brokers,
		.name = l->name,
		.more = c->kafka_options,
		.group = group };
	int64_t now_ns = clock_mono().ns;
	int rc;

	*l = (struct kafka_link){ .shift_ns = clock_wall().ns - now_ns };
	limited_log_init(&l->log, clock_mono());
	if (c->kafka_name[0] != '\0')
		snprintf(l->name, sizeof l->name, "%s", c->kafka_name);
	else if (gethostname(l->name, sizeof l->name - 1) != 0 || l->name[0] == '\0')
		return err_set(e, ERR_INPUT, "kafka.name: this host has no name; give one");
	l->epoch = hash_u64((uint64_t)clock_wall().ns ^ hash_u64((uint64_t)getpid()));
	if ((rc = kafka_load(&l->calls, e)) != 0 ||
	    (rc = l->calls->open(&l->connection, &o, e)) != 0 ||
	    (rc = find_topics(l, c->kafka_prefix,
		 config_role(c) == ROLE_DECIDER ? TOPICS : TOPIC_FOREST, e)) != 0)
		kafka_link_close(l);
	return rc;
}

void
kafka_link_close(struct kafka_link *l)
{
	if (l->connection != NULL)
		l->calls->close(l->connection);
	l->connection = NULL;
}

int
kafka_link_follow(struct kafka_link *l, const enum kafka_topic *topics, uint32_t n, struct err *e)
{
	const char *names[TOPICS];
	uint32_t one[TOPICS];
	bool oldest[TOPICS];

	for (uint32_t i = 0; i < n; i++) {
		names[i] = l->topics[topics[i]];
		one[i] = 1;
		oldest[i] = topics[i] == TOPIC_FOREST;
	}
	return l->calls->follow(l->connection, names, one, oldest, n, OPEN_MS, e);
}

bool
kafka_link_is(const struct kafka_link *l, enum kafka_topic t, const struct kafka_message *m)
{
	return m->topic != NULL && strcmp(m->topic, l->topics[t]) == 0;
}

enum kafka_news
kafka_link_next(struct kafka_link *l, int timeout_ms, struct kafka_message *ret)
{
	struct err e;
	enum kafka_news n = l->calls->next(l->connection, timeout_ms, ret, &e);

	if (e.code != 0)
		limited_log(&l->log, clock_mono(), LOG_WARN, "%s", e.text);
	return n;
}

bool
kafka_link_put(struct kafka_link *l, enum kafka_topic t, uint32_t partition, const struct buf *b,
    uint64_t token)
{
	struct err e;

	if (l->calls->put(l->connection, l->topics[t], partition, b->data, b->len, token, &e) == 0)
		return true;
	l->dropped++;
	limited_log(&l->log, clock_mono(), LOG_ERROR, "a message is not sent: %s", e.text);
	return false;
}
