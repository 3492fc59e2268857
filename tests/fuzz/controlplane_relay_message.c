/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as messages of the log, of each kind: refused, or taken without harm. The first byte says which kind; records go to a shard whose rows go
 * to a merge, so what a shard makes of strange records is always a message that is read. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "controlplane/relay/events.h"
#include "controlplane/relay/forest_entries.h"
#include "controlplane/relay/row_merge.h"
#include "controlplane/relay/partition_shard.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void
check(int ok)
{
	if (!ok)
		abort();
}

static uint32_t
any_node(void *ctx, const char *name)
{
	(void)ctx;
	return name[0] == '?' ? TRACE_NONE : (uint32_t)(uint8_t)name[0];
}

static struct row_merge *
new_merge(struct labels *labels)
{
	const struct row_merge_options o = {
		.partitions = 2, .wait_ns = 10, .memory_max_bytes = 1 << 20
	};
	struct row_merge *m;

	check(row_merge_new(&m, &o, labels, (struct mono){ 1 }, NULL) == 0);
	return m;
}

/* All that a merge has, at a time when it waits for nobody. */
static void
empty_merge(struct row_merge *m)
{
	struct trace *t;

	while ((t = row_merge_next(m, (struct mono){ 100 })) != NULL) {
		check(trace_has_times(t) && t->root < t->nunits && t->nevents > 0);
		trace_free(t);
	}
	while ((t = row_merge_next_incomplete(m)) != NULL)
		trace_free(t);
}

/* Pieces of 2 bytes length each, so that several messages come one after the other. */
static void
records(const uint8_t *data, size_t len)
{
	const struct partition_shard_options o = { .assemble = { .memory_max_bytes = 1 << 20,
						       .skew_ns = 5,
						       .patience_ns = 1000,
						       .records_max = 1000 },
		.silent_ns = 100,
		.hello_ns = 0 };
	struct labels *labels = labels_new();
	struct row_merge *m = new_merge(labels);
	struct row_merge_counts counts;
	struct partition_shard *s;
	int64_t offset = 0;
	struct err e;

	check(partition_shard_new(&s, &o, &e) == 0);
	while (len >= 2) {
		size_t n = data[0] | (size_t)data[1] << 8;
		bool none, more = true;

		n = n < len - 2 ? n : len - 2;
		partition_shard_take(s, data + 2, n, offset++, &e);
		data += 2 + n;
		len -= 2 + n;
		while (more) {
			struct buf b = { 0 };

			check(
			    partition_shard_rows(s, "s", 1, 4096, 8192, &b, &none, &more, &e) == 0);
			if (!none)
				check(row_merge_take(m, b.data, b.len, any_node, NULL,
					  (struct mono){ 1 }, &e) == 0);
			buf_release(&b);
		}
		check(partition_shard_keep(s) <= offset);
	}
	empty_merge(m);
	row_merge_counts(m, (struct mono){ 1 }, &counts);
	check(counts.refused == 0 && counts.memory_bytes == 0 && counts.waiting == 0);
	partition_shard_free(s);
	row_merge_free(m);
	labels_free(labels);
}

static void
rows(const uint8_t *data, size_t len)
{
	struct labels *labels = labels_new();
	struct row_merge *m = new_merge(labels);

	row_merge_take(m, data, len, any_node, NULL, (struct mono){ 1 }, NULL);
	empty_merge(m);
	row_merge_free(m);
	labels_free(labels);
}

static void
events(const uint8_t *data, size_t len)
{
	struct reader r = reader_of(data, len);
	struct relay_head h;
	struct events_message m;
	struct relay_event x;

	if (relay_head_decode(&h, &r, RELAY_EVENTS, NULL) != 0 || events_open(&m, &r, NULL) != 0)
		return;
	for (uint32_t i = 0; i < m.n && events_next(&x, &r, NULL) == 0; i++)
		check(x.body >= data && x.body + x.len <= data + len);
}

static void
orders(const uint8_t *data, size_t len)
{
	struct reader r = reader_of(data, len);
	struct relay_head h;
	struct relay_order x;
	uint32_t echo, n;
	uint64_t term;
	int64_t beat_ns;

	if (relay_head_decode(&h, &r, RELAY_ORDERS, NULL) != 0 ||
	    orders_term(&term, &r, NULL) != 0 ||
	    orders_open(&r, "gate", 7, &echo, &beat_ns, &n, NULL) != 0)
		return;
	for (uint32_t i = 0; i < n && orders_next(&x, &r, NULL) == 0; i++)
		check(x.body >= data && x.body + x.len <= data + len);
}

/* A copy in which a state and its rows come in no order that is not allowed. */
struct copy {
	int state_on;
	size_t bytes;
};

static int
put_rows(void *ctx, const void *data, size_t len, uint32_t schema, const struct forest_place *at,
    struct err *e)
{
	struct copy *c = ctx;

	check(!c->state_on && len > 0 && at->term > 0);
	c->bytes += len;
	return len % 5 == 0 ? err_set(e, ERR_INPUT, "%u, %u", schema, *(const uint8_t *)data) : 0;
}

static int
state_begin(void *ctx, struct err *e)
{
	struct copy *c = ctx;

	(void)e;
	check(!c->state_on);
	c->state_on = 1;
	return 0;
}

static int
state_rows(void *ctx, const void *data, size_t len, uint32_t schema, struct err *e)
{
	(void)data;
	(void)schema;
	check(((struct copy *)ctx)->state_on);
	return len % 7 == 6 ? err_set(e, ERR_INPUT, "no") : 0;
}

static int
state_end(void *ctx, const struct forest_place *at, struct err *e)
{
	struct copy *c = ctx;

	(void)e;
	check(c->state_on && at->term > 0);
	c->state_on = 0;
	return 0;
}

static void
state_undo(void *ctx)
{
	((struct copy *)ctx)->state_on = 0;
}

static int
put_file(void *ctx, uint32_t which, const void *data, size_t len, struct err *e)
{
	(void)ctx;
	(void)data;
	(void)e;
	check(which < FOREST_FILES && len <= FOREST_FILE_MAX);
	return 0;
}

/* Pieces of 1 byte length each. The head of half of them is made, so that many follow each other. */
static void
forest(const uint8_t *data, size_t len)
{
	struct copy c = { 0 };
	const struct forest_calls calls = { &c, put_rows, state_begin, state_rows, state_end,
		state_undo, put_file };
	struct forest_follow f;
	uint64_t number = 0;

	forest_follow_init(&f, &calls, &(struct forest_place){ 0 });
	while (len >= 3) {
		size_t n = data[0] < len - 3 ? data[0] : len - 3;
		struct relay_head h = { .kind = RELAY_FOREST,
			.source = "d",
			.epoch = data[1] >> 4 & 3,
			.number = data[2] & 1 ? ++number : data[2] };
		struct buf b = { 0 };

		if (data[1] & 128) {
			relay_head_encode(&h, &b);
			buf_uint(&b, 1 + (data[1] & 3));
		}
		buf_bytes(&b, data + 3, n);
		forest_follow_take(&f, b.data, b.len, NULL);
		check(f.state_on == c.state_on && f.complete <= f.waiting.len);
		buf_release(&b);
		data += 3 + n;
		len -= 3 + n;
	}
	forest_follow_end(&f);
	check(!c.state_on);
	forest_follow_release(&f);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static void (*const kinds[])(
	    const uint8_t *, size_t) = { records, rows, events, orders, forest };

	if (len > 0)
		kinds[data[0] % 5](data + 1, len - 1);
	return 0;
}
