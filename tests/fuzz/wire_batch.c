/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as a batch: refused, or valid and the same after being written again. */
#include "tests/fuzz/common/fuzz.h"
#include "wire/record.h"

/* Reads all memory that the batch refers to, so that an invalid pointer is detected. */
static void
walk(const struct batch *b)
{
	volatile size_t seen = 0; /* so that the compiler does not remove the reads */

	for (uint32_t i = 0; i < b->nlabels; i++) {
		check(
		    b->labels[i].kind < RECORD_KINDS && b->labels[i].nfields <= RECORD_VALUES_MAX);
		seen += memchr(b->labels[i].text, 0, b->labels[i].len) != NULL;
		for (uint32_t j = 0; j < b->labels[i].nfields; j++)
			seen += strlen(b->labels[i].fields[j]);
	}
	for (uint32_t i = 0; i < b->nrecords; i++) {
		const struct record *r = &b->records[i];

		check(r->label < b->nlabels && r->nvalues == b->labels[r->label].nfields);
		check(i == 0 || r->time_ns >= r[-1].time_ns);
		for (uint32_t j = 0; j < r->nvalues; j++)
			if (r->values[j].type == VALUE_TEXT)
				seen += memchr(r->values[j].text, 0, r->values[j].len) != NULL;
	}
	for (uint32_t i = 0; i < b->nlosses; i++)
		check(b->losses[i].reason < LOSS_REASONS &&
		      b->losses[i].to_ns >= b->losses[i].from_ns);
}

static void
write_again(const struct batch *b, struct buf *out)
{
	struct batch_writer w = { 0 };

	batch_begin(&w);
	for (uint32_t i = 0; i < b->nlabels; i++)
		batch_label(&w, (enum record_kind)b->labels[i].kind, b->labels[i].text,
		    b->labels[i].len, b->labels[i].fields, b->labels[i].nfields);
	for (uint32_t i = 0; i < b->nrecords; i++)
		batch_record(&w, &b->records[i]);
	for (uint32_t i = 0; i < b->nlosses; i++)
		batch_loss(&w, &b->losses[i]);
	check(batch_end(&w, b->watermark_ns, out, NULL) == 0);
	batch_release(&w);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct buf once = { 0 }, twice = { 0 };
	struct arena a = { 0 };
	struct batch b;
	int rc = batch_decode(&b, &a, data, len, NULL);

	check(a.total_bytes <= 64 * len + 4096);
	if (rc == 0) {
		walk(&b);
		write_again(&b, &once);
		check(batch_decode(&b, &a, once.data, once.len, NULL) == 0);
		write_again(&b, &twice);
		check_same(&once, &twice);
	}
	arena_release(&a);
	return 0;
}
