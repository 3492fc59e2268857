/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The door of kafka.h: librdkafka. A producer, and a consumer if something is read. */
#include "controlplane/honed/kafka.h"

#include <librdkafka/rdkafka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	QUEUE_KBYTES = 65536, /* of messages that are not delivered */
	FETCH_KBYTES = 65536, /* of messages that were fetched ahead */
	CLOSE_MS = 2000,
	TOPICS_MAX = 8,
	DELIVERIES_MAX = 65536,
	NEWS_MAX = 1024
};

struct news {
	enum kafka_news kind;
	uint32_t partition;
};

struct kafka {
	rd_kafka_t *producer, *consumer;
	rd_kafka_conf_t *reading; /* until the consumer is made */
	char *topics[TOPICS_MAX];
	uint32_t ntopics;
	/* Deliveries that were not asked for yet: as many as messages wait at most, so it grows to that. */
	struct kafka_delivery *deliveries;
	size_t delivered_at, ndelivered, deliveries_cap;
	struct news news[NEWS_MAX]; /* partitions taken and given up, in order */
	uint32_t news_at, nnews;
	rd_kafka_message_t *held; /* came with the call that brought news */
	char trouble[300];
	bool told;
};

/* ---- opening ---- */

static int
set(rd_kafka_conf_t *c, const char *key, const char *value, struct err *e)
{
	char why[256];

	if (rd_kafka_conf_set(c, key, value, why, sizeof why) == RD_KAFKA_CONF_OK)
		return 0;
	return err_set(e, ERR_INPUT, "kafka: %s", why);
}

/* "key=value key=value". */
static int
set_more(rd_kafka_conf_t *c, const char *more, struct err *e)
{
	char *all = strdup(more), *rest = all, *one, *value;
	int rc = all != NULL ? 0 : err_set(e, ERR_MEMORY, "kafka: out of memory");

	while (rc == 0 && (one = strsep(&rest, " \t\n")) != NULL) {
		if (one[0] == '\0')
			continue;
		if ((value = strchr(one, '=')) == NULL)
			rc = err_set(e, ERR_INPUT, "kafka.options: %s: must be key=value", one);
		else {
			*value++ = '\0';
			if ((rc = set(c, one, value, e)) != 0)
				err_prefix(e, "kafka.options");
		}
	}
	free(all);
	return rc;
}

static void
on_delivery(rd_kafka_t *rk, const rd_kafka_message_t *m, void *opaque)
{
	struct kafka *k = opaque;
	struct kafka_delivery *more;

	(void)rk;
	if (m->_private == NULL)
		return;
	if (k->ndelivered == k->deliveries_cap) {
		size_t cap = k->deliveries_cap == 0 ? 256 : 2 * k->deliveries_cap;

		if ((more = realloc(k->deliveries, cap * sizeof *more)) == NULL)
			return; /* it counts as not delivered: nothing is acknowledged */
		k->deliveries = more;
		k->deliveries_cap = cap;
	}
	k->deliveries[k->ndelivered++] = (struct kafka_delivery){
		.token = (uint64_t)(uintptr_t)m->_private,
		.failed = m->err != RD_KAFKA_RESP_ERR_NO_ERROR,
		.why = rd_kafka_err2str(m->err)
	};
}

static void
trouble(struct kafka *k, const char *text)
{
	if (strcmp(k->trouble, text) == 0)
		return;
	snprintf(k->trouble, sizeof k->trouble, "%s", text);
	k->told = false;
}

static void
on_error(rd_kafka_t *rk, int code, const char *reason, void *opaque)
{
	(void)rk;
	(void)code;
	trouble(opaque, reason);
}

/* librdkafka's own lines say what on_error() says, and more often. */
static void
on_log(const rd_kafka_t *rk, int level, const char *facility, const char *text)
{
	(void)rk;
	(void)level;
	(void)facility;
	(void)text;
}

static void
add_news(struct kafka *k, enum kafka_news kind, const rd_kafka_topic_partition_list_t *l)
{
	for (int i = 0; i < l->cnt; i++)
		if (k->nnews < NEWS_MAX)
			k->news[k->nnews++] = (struct news){ kind,
				(uint32_t)l->elems[i].partition };
}

static void
on_rebalance(
    rd_kafka_t *rk, rd_kafka_resp_err_t why, rd_kafka_topic_partition_list_t *l, void *opaque)
{
	struct kafka *k = opaque;

	if (why == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS) {
		add_news(k, KAFKA_TAKEN, l);
		rd_kafka_assign(rk, l);
	} else {
		add_news(k, KAFKA_GIVEN_UP, l);
		rd_kafka_assign(rk, NULL);
	}
}

static int
configure(rd_kafka_conf_t *c, struct kafka *k, const struct kafka_options *o, struct err *e)
{
	int rc;

	rd_kafka_conf_set_opaque(c, k);
	rd_kafka_conf_set_error_cb(c, on_error);
	rd_kafka_conf_set_log_cb(c, on_log);
	if ((rc = set(c, "bootstrap.servers", o->brokers, e)) != 0 ||
	    (rc = set(c, "client.id", o->name, e)) != 0 ||
	    (rc = set(c, "reconnect.backoff.max.ms", "1000", e)) != 0 ||
	    (rc = set(c, "topic.metadata.refresh.interval.ms", "10000", e)) != 0)
		return rc;
	return set_more(c, o->more, e);
}

static int
producer_open(struct kafka *k, const struct kafka_options *o, struct err *e)
{
	rd_kafka_conf_t *c = rd_kafka_conf_new();
	char size[16], most[16], why[256];
	int rc;

	snprintf(size, sizeof size, "%d", QUEUE_KBYTES);
	snprintf(most, sizeof most, "%d", KAFKA_MESSAGE_MAX + 4096);
	rd_kafka_conf_set_dr_msg_cb(c, on_delivery);
	if ((rc = set(c, "acks", "all", e)) != 0 ||
	    (rc = set(c, "max.in.flight.requests.per.connection", "1", e)) != 0 ||
	    (rc = set(c, "message.timeout.ms", "0", e)) != 0 ||
	    (rc = set(c, "linger.ms", "5", e)) != 0 ||
	    (rc = set(c, "retry.backoff.ms", "100", e)) != 0 ||
	    (rc = set(c, "message.max.bytes", most, e)) != 0 ||
	    (rc = set(c, "queue.buffering.max.kbytes", size, e)) != 0 ||
	    (rc = set(c, "queue.buffering.max.messages", "0", e)) != 0 || /* bytes count */
	    (rc = configure(c, k, o, e)) != 0) {
		rd_kafka_conf_destroy(c);
		return rc;
	}
	if ((k->producer = rd_kafka_new(RD_KAFKA_PRODUCER, c, why, sizeof why)) == NULL) {
		rd_kafka_conf_destroy(c);
		return err_set(e, ERR_INPUT, "kafka: %s", why);
	}
	return 0;
}

static int
reading_conf(struct kafka *k, const struct kafka_options *o, struct err *e)
{
	rd_kafka_conf_t *c = rd_kafka_conf_new();
	char size[16];
	int rc;

	snprintf(size, sizeof size, "%d", FETCH_KBYTES);
	rd_kafka_conf_set_rebalance_cb(c, on_rebalance);
	if ((rc = set(c, "group.id", o->group != NULL ? o->group : o->name, e)) != 0 ||
	    (rc = set(c, "enable.auto.commit", "false", e)) != 0 ||
	    (rc = set(c, "enable.auto.offset.store", "false", e)) != 0 ||
	    (rc = set(c, "auto.offset.reset", "earliest", e)) != 0 ||
	    (rc = set(c, "fetch.wait.max.ms", "50", e)) != 0 ||
	    (rc = set(c, "session.timeout.ms", "6000", e)) != 0 ||
	    (rc = set(c, "max.poll.interval.ms", "30000", e)) != 0 ||
	    (rc = set(c, "heartbeat.interval.ms", "1000", e)) != 0 ||
	    (rc = set(c, "queued.max.messages.kbytes", size, e)) != 0 ||
	    (rc = configure(c, k, o, e)) != 0) {
		rd_kafka_conf_destroy(c);
		return rc;
	}
	k->reading = c;
	return 0;
}

static void
kafka_close(void *connection)
{
	struct kafka *k = connection;

	if (k == NULL)
		return;
	if (k->producer != NULL) {
		rd_kafka_flush(k->producer, CLOSE_MS);
		rd_kafka_purge(k->producer, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
		rd_kafka_destroy(k->producer);
	}
	if (k->held != NULL)
		rd_kafka_message_destroy(k->held);
	if (k->consumer != NULL) {
		rd_kafka_consumer_close(k->consumer);
		rd_kafka_destroy(k->consumer);
	}
	if (k->reading != NULL)
		rd_kafka_conf_destroy(k->reading);
	for (uint32_t i = 0; i < k->ntopics; i++)
		free(k->topics[i]);
	free(k->deliveries);
	free(k);
}

static int
kafka_open(void **ret, const struct kafka_options *o, struct err *e)
{
	struct kafka *k = calloc(1, sizeof *k);
	int rc;

	if (k == NULL)
		return err_set(e, ERR_MEMORY, "kafka: out of memory");
	if ((rc = producer_open(k, o, e)) != 0 || (rc = reading_conf(k, o, e)) != 0) {
		kafka_close(k);
		return rc;
	}
	*ret = k;
	return 0;
}

/* ---- reading ---- */

static int
kafka_partitions(void *connection, const char *topic, int timeout_ms, uint32_t *ret, struct err *e)
{
	struct kafka *k = connection;
	rd_kafka_topic_t *t = rd_kafka_topic_new(k->producer, topic, NULL);
	const struct rd_kafka_metadata *m;
	rd_kafka_resp_err_t why;

	if (t == NULL)
		return err_set(e, ERR_MEMORY, "kafka: out of memory");
	why = rd_kafka_metadata(k->producer, 0, t, &m, timeout_ms);
	rd_kafka_topic_destroy(t);
	if (why != RD_KAFKA_RESP_ERR_NO_ERROR)
		return err_set(e, ERR_PEER, "kafka: topic %s: %s", topic, rd_kafka_err2str(why));
	if (m->topic_cnt != 1 || m->topics[0].err != RD_KAFKA_RESP_ERR_NO_ERROR ||
	    m->topics[0].partition_cnt <= 0) {
		err_set(e, ERR_MISSING, "kafka: topic %s: %s", topic,
		    m->topic_cnt == 1 ? rd_kafka_err2str(m->topics[0].err) : "there is none");
		rd_kafka_metadata_destroy(m);
		return ERR_MISSING;
	}
	*ret = (uint32_t)m->topics[0].partition_cnt;
	rd_kafka_metadata_destroy(m);
	return 0;
}

static int
kafka_end(void *connection, const char *topic, uint32_t partition, int timeout_ms, int64_t *ret,
    struct err *e)
{
	struct kafka *k = connection;
	int64_t low;
	rd_kafka_resp_err_t why = rd_kafka_query_watermark_offsets(
	    k->producer, topic, (int32_t)partition, &low, ret, timeout_ms);

	return why == RD_KAFKA_RESP_ERR_NO_ERROR
	           ? 0
	           : err_set(e, ERR_PEER, "kafka: topic %s: %s", topic, rd_kafka_err2str(why));
}

static int
consumer_open(struct kafka *k, struct err *e)
{
	char why[256];

	k->consumer = rd_kafka_new(RD_KAFKA_CONSUMER, k->reading, why, sizeof why);
	if (k->consumer == NULL)
		return err_set(e, ERR_INPUT, "kafka: %s", why);
	k->reading = NULL;
	rd_kafka_poll_set_consumer(k->consumer);
	return 0;
}

/* The name that stays with the connection. */
static const char *
topic_name(struct kafka *k, const char *name)
{
	for (uint32_t i = 0; i < k->ntopics; i++)
		if (strcmp(k->topics[i], name) == 0)
			return k->topics[i];
	if (k->ntopics == TOPICS_MAX || (k->topics[k->ntopics] = strdup(name)) == NULL)
		return NULL;
	return k->topics[k->ntopics++];
}

static int
kafka_follow(void *connection, const char *const *topics, const uint32_t *partitions,
    const bool *oldest, uint32_t n, int timeout_ms, struct err *e)
{
	struct kafka *k = connection;
	rd_kafka_topic_partition_list_t *l;
	int rc = consumer_open(k, e);

	if (rc != 0)
		return rc;
	l = rd_kafka_topic_partition_list_new(8);
	for (uint32_t i = 0; i < n && rc == 0; i++)
		for (uint32_t p = 0; p < partitions[i] && rc == 0; p++) {
			int64_t low, high;
			rd_kafka_resp_err_t why = rd_kafka_query_watermark_offsets(
			    k->consumer, topics[i], (int32_t)p, &low, &high, timeout_ms);

			if (why != RD_KAFKA_RESP_ERR_NO_ERROR)
				rc = err_set(e, ERR_PEER, "kafka: topic %s: %s", topics[i],
				    rd_kafka_err2str(why));
			else
				rd_kafka_topic_partition_list_add(l, topics[i], (int32_t)p)
				    ->offset = oldest[i] ? low : high;
		}
	if (rc == 0)
		rd_kafka_assign(k->consumer, l);
	rd_kafka_topic_partition_list_destroy(l);
	return rc;
}

static int
kafka_share(void *connection, const char *topic, struct err *e)
{
	struct kafka *k = connection;
	rd_kafka_topic_partition_list_t *l;
	rd_kafka_resp_err_t why;
	int rc = consumer_open(k, e);

	if (rc != 0)
		return rc;
	l = rd_kafka_topic_partition_list_new(1);
	rd_kafka_topic_partition_list_add(l, topic, RD_KAFKA_PARTITION_UA);
	why = rd_kafka_subscribe(k->consumer, l);
	rd_kafka_topic_partition_list_destroy(l);
	return why == RD_KAFKA_RESP_ERR_NO_ERROR
	           ? 0
	           : err_set(e, ERR_PEER, "kafka: topic %s: %s", topic, rd_kafka_err2str(why));
}

static enum kafka_news
next_news(struct kafka *k, struct kafka_message *ret)
{
	struct news n = k->news[k->news_at++];

	if (k->news_at == k->nnews)
		k->news_at = k->nnews = 0;
	*ret = (struct kafka_message){ .partition = n.partition };
	return n.kind;
}

static enum kafka_news
kafka_next(void *connection, int timeout_ms, struct kafka_message *ret, struct err *e)
{
	struct kafka *k = connection;
	rd_kafka_message_t *m;

	e->code = 0;
	rd_kafka_poll(k->producer, 0);
	if (k->nnews > 0)
		return next_news(k, ret);
	m = k->held != NULL ? k->held : rd_kafka_consumer_poll(k->consumer, timeout_ms);
	k->held = NULL;
	if (m != NULL && m->err != RD_KAFKA_RESP_ERR_NO_ERROR) {
		if (m->err != RD_KAFKA_RESP_ERR__PARTITION_EOF)
			trouble(k, rd_kafka_message_errstr(m));
		rd_kafka_message_destroy(m);
		m = NULL;
	}
	if (!k->told && k->trouble[0] != '\0') {
		err_set(e, ERR_PEER, "kafka: %s", k->trouble);
		k->told = true;
	}
	if (k->nnews > 0) { /* that partitions were taken came first */
		k->held = m;
		return next_news(k, ret);
	}
	if (m == NULL)
		return KAFKA_NOTHING;
	*ret = (struct kafka_message){ .topic = topic_name(k, rd_kafka_topic_name(m->rkt)),
		.partition = (uint32_t)m->partition,
		.offset = m->offset,
		.data = m->payload,
		.len = m->len,
		.inside = m };
	return KAFKA_MESSAGE;
}

static void
kafka_release(struct kafka_message *m)
{
	rd_kafka_message_destroy(m->inside);
}

static void
kafka_commit(void *connection, const char *topic, uint32_t partition, int64_t offset)
{
	struct kafka *k = connection;
	rd_kafka_topic_partition_list_t *l = rd_kafka_topic_partition_list_new(1);

	rd_kafka_topic_partition_list_add(l, topic, (int32_t)partition)->offset = offset;
	rd_kafka_commit(k->consumer, l, 1);
	rd_kafka_topic_partition_list_destroy(l);
}

/* ---- writing ---- */

static int
kafka_put(void *connection, const char *topic, uint32_t partition, const void *data, size_t len,
    uint64_t token, struct err *e)
{
	struct kafka *k = connection;
	rd_kafka_resp_err_t why = rd_kafka_producev(k->producer, RD_KAFKA_V_TOPIC(topic),
	    RD_KAFKA_V_PARTITION((int32_t)partition),
	    RD_KAFKA_V_VALUE((void *)(uintptr_t)data, len),
	    RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_OPAQUE((void *)(uintptr_t)token),
	    RD_KAFKA_V_END);

	if (why == RD_KAFKA_RESP_ERR_NO_ERROR)
		return 0;
	return err_set(e, why == RD_KAFKA_RESP_ERR__QUEUE_FULL ? ERR_FULL : ERR_INPUT,
	    "kafka: topic %s: %s", topic, rd_kafka_err2str(why));
}

static bool
kafka_delivered(void *connection, int timeout_ms, struct kafka_delivery *ret)
{
	struct kafka *k = connection;

	if (k->delivered_at == k->ndelivered) {
		k->delivered_at = k->ndelivered = 0;
		rd_kafka_poll(k->producer, timeout_ms);
	}
	if (k->delivered_at == k->ndelivered)
		return false;
	*ret = k->deliveries[k->delivered_at++];
	return true;
}

const struct kafka_calls kafka_calls = { kafka_open, kafka_close, kafka_partitions, kafka_follow,
	kafka_share, kafka_next, kafka_release, kafka_put, kafka_delivered, kafka_commit,
	kafka_end };
