/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/honed/shard_role.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/systemd.h"
#include "controlplane/honed/kafka_link.h"
#include "controlplane/relay/partition_shard.h"

#define MS_NS INT64_C(1000000)
#define SILENT_NS INT64_C(5000000000) /* of a gate, by the time of the others */
#define HELLO_NS INT64_C(2500000000)  /* a calm agent speaks each second */

enum {
	WAIT_MS = 20,
	BURST_MS = 50,
	ROWS_MS = 50,
	COMMIT_MS = 1000,
	ROWS_BYTES = 256 << 10,
	WAITING_MAX = 128 /* messages of rows; more: none is made, and nothing is read */
};

struct owned {                         /* a partition */
	struct partition_shard *shard; /* NULL: another shard has it */
	uint64_t epoch; /* of its rows: each time that we take it is a run of its own */
	int64_t keep;   /* what may be committed when the rows before `keep_after` are delivered */
	uint64_t keep_after;
	uint64_t over; /* messages of runs of gates that were replaced: told */
};

struct shard_role {
	const struct config *config;
	struct kafka_link kafka;
	struct owned *owned; /* [kafka.partitions] */
	uint64_t taken;      /* how often we took a partition */
	uint64_t put, delivered;
	struct buf
	    held; /* a message of rows that has found no room in the queue; it is the next one */
	struct mono rows_at, commit_at;
	struct limited_log log;
};

int
shard_role_open(struct shard_role **ret, const struct config *c, struct err *e)
{
	struct shard_role *s = calloc(1, sizeof *s);
	char group[300];
	int rc;

	if (s == NULL)
		return err_set(e, ERR_MEMORY, "out of memory");
	s->config = c;
	limited_log_init(&s->log, clock_mono());
	snprintf(group, sizeof group, "%sshards", c->kafka_prefix);
	if ((rc = kafka_link_open(&s->kafka, c, group, e)) != 0 ||
	    (rc = s->kafka.calls->share(s->kafka.connection, s->kafka.topics[TOPIC_RECORDS], e)) !=
		0 ||
	    (s->owned = calloc(s->kafka.partitions, sizeof *s->owned)) == NULL) {
		if (rc == 0)
			rc = err_set(e, ERR_MEMORY, "out of memory");
		shard_role_close(s);
		return rc;
	}
	log_line(LOG_INFO, "honed %s, shard %s: %u partitions at %s", HONE_VERSION, s->kafka.name,
	    s->kafka.partitions, c->kafka_brokers);
	*ret = s;
	return 0;
}

void
shard_role_close(struct shard_role *s)
{
	if (s == NULL)
		return;
	kafka_link_close(&s->kafka);
	for (uint32_t i = 0; i < s->kafka.partitions && s->owned != NULL; i++)
		partition_shard_free(s->owned[i].shard);
	free(s->owned);
	buf_release(&s->held);
	free(s);
}

/* ---- what comes ---- */

static int
take_partition(struct shard_role *s, uint32_t partition, struct err *e)
{
	const struct config *c = s->config;
	const struct partition_shard_options o = {
		.assemble = { .memory_max_bytes = (size_t)c->memory_max / s->kafka.partitions,
		    .skew_ns = c->skew,
		    .patience_ns = c->patience,
		    .late_ends_ns = c->late_ends,
		    .records_max = (uint32_t)c->records_max },
		.silent_ns = SILENT_NS,
		.hello_ns = HELLO_NS < c->patience / 2 ? HELLO_NS : c->patience / 2,
		.partition = partition,
	};
	struct owned *p = &s->owned[partition];

	partition_shard_free(p->shard);
	*p = (struct owned){ .epoch = s->kafka.epoch + ++s->taken, .keep = -1 };
	log_line(LOG_INFO, "takes partition %u", partition);
	return partition_shard_new(&p->shard, &o, e);
}

static int
take_message(struct shard_role *s, const struct kafka_message *m, struct err *e)
{
	struct owned *p = &s->owned[m->partition];
	int rc;

	if (p->shard == NULL) /* it was fetched before the partition was given up */
		return 0;
	rc = partition_shard_take(p->shard, m->data, m->len, m->offset, e);
	if (rc != ERR_INPUT && rc != ERR_VERSION)
		return rc;
	limited_log(&s->log, clock_mono(), LOG_ERROR, "partition %u, message %lld: %s",
	    m->partition, (long long)m->offset, e->text);
	return 0;
}

static int
take_news(struct shard_role *s, struct err *e)
{
	int64_t until_ns = clock_mono().ns + BURST_MS * MS_NS;
	struct kafka_message m;
	int rc = 0;

	for (int wait_ms = WAIT_MS; rc == 0 && clock_mono().ns < until_ns; wait_ms = 0) {
		enum kafka_news n = kafka_link_next(&s->kafka, wait_ms, &m);

		if (n == KAFKA_NOTHING)
			break;
		if (n == KAFKA_MESSAGE) {
			rc = m.partition < s->kafka.partitions ? take_message(s, &m, e) : 0;
			s->kafka.calls->release(&m);
		} else if (m.partition >= s->kafka.partitions) {
			rc = err_set(e, ERR_INPUT,
			    "the topic of records has more partitions than when this shard began; traces are torn apart");
		} else if (n == KAFKA_TAKEN) {
			rc = take_partition(s, m.partition, e);
		} else {
			log_line(LOG_INFO, "gives up partition %u", m.partition);
			partition_shard_free(s->owned[m.partition].shard);
			s->owned[m.partition].shard = NULL;
		}
	}
	return rc;
}

/* ---- what goes out ---- */

/* Puts the message that is held. False: the queue is full, and deliveries have to come first. */
static bool
put_held(struct shard_role *s)
{
	struct kafka_link *k = &s->kafka;
	struct err e;
	int rc = 0;

	if (s->held.len > 0)
		rc = k->calls->put(
		    k->connection, k->topics[TOPIC_ROWS], 0, s->held.data, s->held.len, s->put, &e);
	if (rc == ERR_FULL)
		return false;
	if (rc != 0) { /* a gap to the decider, which counts its rows as lost */
		k->dropped++;
		s->delivered++;
		limited_log(
		    &s->log, clock_mono(), LOG_ERROR, "a message of rows is not sent: %s", e.text);
	}
	buf_reset(&s->held);
	return true;
}

/* As many as may wait; the others with a later step. */
static int
put_rows(struct shard_role *s, uint32_t partition, struct err *e)
{
	struct owned *p = &s->owned[partition];
	bool none, more = true;
	int rc = 0;

	while (rc == 0 && more && s->put - s->delivered < WAITING_MAX && put_held(s)) {
		rc = partition_shard_rows(p->shard, s->kafka.name, p->epoch, ROWS_BYTES,
		    KAFKA_MESSAGE_MAX, &s->held, &none, &more, e);
		if (rc == 0 && !none)
			s->put++;
	}
	put_held(s);
	return rc;
}

/* A run that was replaced and goes on is no restart. */
static void
warn_of_names(struct shard_role *s, struct owned *p, uint32_t partition)
{
	struct relay_counts numbers;
	struct row_counts rows;

	partition_shard_counts(p->shard, &rows, &numbers);
	if (numbers.over > p->over)
		limited_log(&s->log, clock_mono(), LOG_WARN,
		    "partition %u: %llu messages of a gate's run that was replaced; do two gates have one kafka.name?",
		    partition, (unsigned long long)(numbers.over - p->over));
	p->over = numbers.over;
}

static void
take_deliveries(struct shard_role *s, int wait_ms)
{
	struct kafka_delivery d;

	for (; s->kafka.calls->delivered(s->kafka.connection, wait_ms, &d); wait_ms = 0) {
		s->delivered++;
		if (d.failed)
			limited_log(&s->log, clock_mono(), LOG_ERROR,
			    "Kafka did not take a message of rows: %s", d.why);
	}
}

static void
commit(struct shard_role *s)
{
	for (uint32_t i = 0; i < s->kafka.partitions; i++) {
		struct owned *p = &s->owned[i];

		if (p->shard == NULL)
			continue;
		warn_of_names(s, p, i);
		if (p->keep >= 0 && s->delivered >= p->keep_after) {
			s->kafka.calls->commit(
			    s->kafka.connection, s->kafka.topics[TOPIC_RECORDS], i, p->keep);
			p->keep = -1;
		}
		if (p->keep < 0) {
			p->keep = partition_shard_keep(p->shard);
			p->keep_after = s->put;
		}
	}
}

static int
step(struct shard_role *s, struct err *e)
{
	struct mono now = clock_mono();
	bool full = s->put - s->delivered >= WAITING_MAX || !put_held(s);
	int rc = full ? 0 : take_news(s, e);

	if (!full && mono_since_ns(now, s->rows_at) >= ROWS_MS * MS_NS) {
		s->rows_at = now;
		for (uint32_t i = 0; i < s->kafka.partitions && rc == 0; i++)
			if (s->owned[i].shard != NULL)
				rc = put_rows(s, i, e);
	}
	take_deliveries(s, full ? WAIT_MS : 0);
	if (mono_since_ns(now, s->commit_at) >= COMMIT_MS * MS_NS) {
		s->commit_at = now;
		commit(s);
	}
	limited_log_flush(&s->log, now, "");
	limited_log_flush(&s->kafka.log, now, "");
	systemd_watchdog(now);
	return rc;
}

bool
shard_role_run(struct shard_role *s, const atomic_bool *stop)
{
	struct err e;
	int rc = 0;

	while (rc == 0 && !atomic_load(stop))
		rc = step(s, &e);
	if (rc != 0)
		log_line(LOG_ERROR, "%s; another shard goes on", e.text);
	systemd_notify("STOPPING=1");
	log_line(LOG_INFO, "stopped");
	return rc == 0;
}
