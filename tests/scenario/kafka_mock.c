/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * librdkafka's mock cluster as a process of its own: 3 brokers, in memory. kafka_mock PARTITIONS: makes the topics of honed, prints the
 * brokers, and obeys lines of its input until it ends:
 *
 *	down N | up N		broker N; its partitions are led by the others meanwhile
 *	errors N		the next N messages are refused in a way that is to be tried again, one after the other
 *	hold TOPIC		nobody leads the topic, which has one partition: nothing is taken or given until "up"
 *	cut TOPIC		puts 6 MB of something else into a topic with one partition: what was there before is gone
 *
 * Each answers "ok". The mock keeps 5 MB of a partition: what is older is gone.
 */
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BROKERS = 3, TOPICS = 5, PRODUCE = 0 };

static const char *const topics[] = { "hone.records", "hone.rows", "hone.events", "hone.orders",
	"hone.forest" };

static int
partitions_of(int topic, int partitions)
{
	return topic == 0 ? partitions : 1;
}

static void
lead(rd_kafka_mock_cluster_t *c, int partitions, int without)
{
	for (int t = 0; t < TOPICS; t++)
		for (int p = 0; p < partitions_of(t, partitions); p++) {
			int broker = 1 + (t + p) % BROKERS;

			if (broker == without)
				broker = 1 + broker % BROKERS;
			rd_kafka_mock_partition_set_leader(c, topics[t], p, broker);
		}
	rd_kafka_mock_coordinator_set(c, "group", "hone.shards", without == 1 ? 2 : 1);
}

static void
cut(rd_kafka_mock_cluster_t *c, const char *topic)
{
	static const char other[100000];
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	char why[256];
	rd_kafka_t *rk;

	rd_kafka_conf_set(
	    conf, "bootstrap.servers", rd_kafka_mock_cluster_bootstraps(c), why, sizeof why);
	if ((rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, why, sizeof why)) == NULL)
		return;
	for (int i = 0; i < 60; i++)
		rd_kafka_producev(rk, RD_KAFKA_V_TOPIC(topic), RD_KAFKA_V_PARTITION(0),
		    RD_KAFKA_V_VALUE((void *)(uintptr_t)other, sizeof other), RD_KAFKA_V_END);
	rd_kafka_flush(rk, 10000);
	rd_kafka_destroy(rk);
}

int
main(int argc, char **argv)
{
	static const rd_kafka_resp_err_t kinds[] = { RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION,
		RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT, RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS };
	int partitions = argc > 1 ? atoi(argv[1]) : 8, n;
	char why[256], line[100], topic[100];
	rd_kafka_t *rk = rd_kafka_new(RD_KAFKA_PRODUCER, rd_kafka_conf_new(), why, sizeof why);
	rd_kafka_mock_cluster_t *c = rk != NULL ? rd_kafka_mock_cluster_new(rk, BROKERS) : NULL;

	if (c == NULL) {
		fprintf(stderr, "kafka_mock: %s\n", rk == NULL ? why : "no cluster");
		return 1;
	}
	for (int t = 0; t < TOPICS; t++)
		rd_kafka_mock_topic_create(c, topics[t], partitions_of(t, partitions), BROKERS);
	lead(c, partitions, 0);
	printf("%s\n", rd_kafka_mock_cluster_bootstraps(c));
	fflush(stdout);
	while (fgets(line, sizeof line, stdin) != NULL) {
		if (sscanf(line, "down %d", &n) == 1) {
			rd_kafka_mock_broker_set_down(c, n);
			lead(c, partitions, n);
		} else if (sscanf(line, "up %d", &n) == 1) {
			rd_kafka_mock_broker_set_up(c, n);
			lead(c, partitions, 0);
		} else if (sscanf(line, "errors %d", &n) == 1) {
			for (int i = 0; i < n; i++)
				rd_kafka_mock_push_request_errors(c, PRODUCE, 1, kinds[i % 3]);
		} else if (sscanf(line, "hold %99s", topic) == 1) {
			rd_kafka_mock_partition_set_leader(c, topic, 0, -1);
		} else if (sscanf(line, "cut %99s", topic) == 1) {
			cut(c, topic);
		}
		printf("ok\n");
		fflush(stdout);
	}
	rd_kafka_mock_cluster_destroy(c);
	rd_kafka_destroy(rk);
	return 0;
}
