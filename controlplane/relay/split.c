/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/relay/split.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"

uint32_t
relay_partition(uint64_t trace_id, uint32_t partitions)
{
	return (uint32_t)(hash_u64(trace_id) % partitions);
}

int
split_init(struct split *s, const char *source, uint64_t epoch, uint32_t partitions, struct err *e)
{
	*s = (struct split){ .epoch = epoch, .n = partitions };
	if (partitions == 0 || partitions > PARTITIONS_MAX)
		return err_set(e, ERR_INPUT, "log: %u partitions; 1 to %d are possible", partitions,
		    PARTITIONS_MAX);
	snprintf(s->source, sizeof s->source, "%s", source);
	if ((s->parts = calloc(partitions, sizeof *s->parts)) == NULL)
		return err_set(e, ERR_MEMORY, "log: out of memory for %u partitions", partitions);
	return 0;
}

void
split_release(struct split *s)
{
	for (uint32_t i = 0; i < s->n && s->parts != NULL; i++) {
		batch_release(&s->parts[i].writer);
		buf_release(&s->parts[i].sections);
		free(s->parts[i].labels);
	}
	free(s->parts);
	*s = (struct split){ 0 };
}

/* ---- writing ---- */

static int
out_of_memory(struct err *e)
{
	return err_set(e, ERR_MEMORY, "log: out of memory for a batch");
}

/* Room for the labels of a batch in all partitions; none of them is written yet. */
static bool
clear_labels(struct split *s, uint32_t nlabels)
{
	bool grows = nlabels > s->labels_cap;

	for (uint32_t i = 0; i < s->n; i++) {
		struct split_part *p = &s->parts[i];
		uint32_t *more = grows ? realloc(p->labels, nlabels * sizeof *more) : p->labels;

		if (grows && more == NULL)
			return false; /* those that grew are no smaller than before */
		p->labels = more;
		if (nlabels > 0)
			memset(p->labels, 0, nlabels * sizeof *p->labels);
	}
	if (grows)
		s->labels_cap = nlabels;
	return true;
}

static void
write_record(struct split_part *p, const struct batch *b, const struct record *from)
{
	const struct batch_label *l = &b->labels[from->label];
	struct record r = *from;

	if (p->labels[from->label] == 0)
		p->labels[from->label] = batch_label(&p->writer, (enum record_kind)l->kind, l->text,
					     l->len, l->fields, l->nfields) +
		                         1;
	r.label = p->labels[from->label] - 1;
	batch_record(&p->writer, &r);
}

/* Closes the section: the writer's batch behind its node. */
static bool
add_section(struct split_part *p, const struct relay_section *x, int64_t watermark_ns)
{
	size_t before = p->sections.len;
	struct buf batch = { 0 };
	bool ok = batch_end(&p->writer, watermark_ns, &batch, NULL) == 0;

	if (ok) {
		buf_text(&p->sections, x->node, strlen(x->node));
		buf_u8(&p->sections, (uint8_t)x->state);
		buf_u64(&p->sections, x->incarnation);
		buf_uint(&p->sections, x->seq);
		buf_text(&p->sections, (const char *)batch.data, batch.len);
		ok = !p->sections.failed;
	}
	buf_release(&batch);
	if (!ok) {
		p->sections.len = before;
		p->sections.failed = false;
		return false;
	}
	p->nsections++;
	p->items += p->writer.nrecords;
	return true;
}

/* The section of each partition, or of none: a partition without it would wait for the node, or believe that it has its records. */
static bool
add_sections(struct split *s, const struct relay_section *x, int64_t watermark_ns)
{
	for (uint32_t i = 0; i < s->n; i++) {
		s->parts[i].section_at = s->parts[i].sections.len;
		if (add_section(&s->parts[i], x, watermark_ns))
			continue;
		while (i-- > 0) {
			s->parts[i].sections.len = s->parts[i].section_at;
			s->parts[i].nsections--;
			s->parts[i].items -= s->parts[i].writer.nrecords;
		}
		return false;
	}
	return true;
}

int
split_batch(struct split *s, const char *node, uint64_t incarnation, uint64_t seq,
    const struct batch *b, struct err *e)
{
	struct relay_section x = {
		.state = RELAY_NODE_HERE, .incarnation = incarnation, .seq = seq
	};

	snprintf(x.node, sizeof x.node, "%s", node);
	if (!clear_labels(s, b->nlabels))
		return out_of_memory(e);
	for (uint32_t i = 0; i < s->n; i++) {
		batch_begin(&s->parts[i].writer);
		for (uint32_t j = 0; j < b->nlosses; j++) {
			/* One count in all, so that sums over partitions are true. */
			struct loss l = b->losses[j];

			l.count = i == 0 ? l.count : 0;
			batch_loss(&s->parts[i].writer, &l);
		}
	}
	for (uint32_t i = 0; i < b->nrecords; i++)
		write_record(
		    &s->parts[relay_partition(b->records[i].trace_id, s->n)], b, &b->records[i]);
	return add_sections(s, &x, b->watermark_ns) ? 0 : out_of_memory(e);
}

int
split_left(struct split *s, const char *node, struct err *e)
{
	struct relay_section x = { .state = RELAY_NODE_LEFT };

	snprintf(x.node, sizeof x.node, "%s", node);
	for (uint32_t i = 0; i < s->n; i++)
		batch_begin(&s->parts[i].writer);
	return add_sections(s, &x, 0) ? 0 : out_of_memory(e);
}

size_t
split_waiting(const struct split *s)
{
	size_t most = 0;

	for (uint32_t i = 0; i < s->n; i++)
		if (s->parts[i].sections.len > most)
			most = s->parts[i].sections.len;
	return most;
}

bool
split_empty(const struct split *s)
{
	return split_waiting(s) == 0; /* each section is in all partitions */
}

int
split_take(struct split *s, uint32_t partition, int64_t made_ns, struct buf *out, bool *none,
    struct err *e)
{
	struct split_part *p = &s->parts[partition];
	struct relay_head h = { .kind = RELAY_RECORDS,
		.epoch = s->epoch,
		.number = p->number + 1,
		.before = p->before,
		.items = p->items };
	size_t len = out->len;

	*none = p->nsections == 0;
	if (*none)
		return 0;
	memcpy(h.source, s->source, sizeof h.source);
	relay_head_encode(&h, out);
	buf_int(out, made_ns);
	buf_uint(out, p->nsections);
	buf_bytes(out, p->sections.data, p->sections.len);
	if (out->failed) {
		out->len = len;
		return out_of_memory(e);
	}
	p->number++;
	p->before += p->items;
	p->items = 0;
	p->nsections = 0;
	buf_reset(&p->sections);
	return 0;
}

/* ---- reading ---- */

static int
malformed(struct err *e)
{
	return err_set(e, ERR_INPUT, "log: a message of records is malformed or cut off");
}

int
relay_sections(int64_t *made_ns, uint32_t *ret, struct reader *r, struct err *e)
{
	int64_t made = read_int(r);
	uint64_t n = read_uint(r);

	if (r->failed || made < 0 || n > RELAY_SECTIONS_MAX)
		return malformed(e);
	*made_ns = made;
	*ret = (uint32_t)n;
	return 0;
}

int
relay_section_decode(struct relay_section *ret, struct reader *r, struct err *e)
{
	struct relay_section s = { 0 };
	const char *node, *batch;
	size_t len;
	uint8_t state;

	node = read_text(r, NODE_NAME_MAX, &len);
	state = read_u8(r);
	s.incarnation = read_u64(r);
	s.seq = read_uint(r);
	if (r->failed || len == 0 || memchr(node, 0, len) != NULL || state >= RELAY_NODE_STATES)
		return malformed(e);
	memcpy(s.node, node, len);
	s.state = (enum relay_section_state)state;
	if ((batch = read_text(r, SIZE_MAX, &s.len)) == NULL)
		return malformed(e);
	s.batch = (const uint8_t *)batch;
	*ret = s;
	return 0;
}
