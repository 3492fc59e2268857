/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agent/reader/source_fallback.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum fallback_phase {
	FALLBACK_FIRST,  /* the first is read, and may be replaced */
	FALLBACK_DUE,    /* the first is replaced before the next poll */
	FALLBACK_SECOND, /* the second is read */
	FALLBACK_STAYS /* the first is read: it has delivered records, or the second cannot be opened */
};

struct fallback {
	enum fallback_phase phase;
	struct source inner;
	const struct source_second *second;
	char *folder, *channel;
	struct source_options options;
	int64_t watermark_ns;       /* promised so far */
	uint64_t late;              /* records of the second at or before the first's watermark */
	struct source_stats before; /* the counters of the first, when it was replaced */
	char trouble[800];          /* why it was, or why it could not be; "" */
};

static void
fallback_close(void *state)
{
	struct fallback *f = state;

	if (f->inner.state != NULL)
		f->inner.close(f->inner.state);
	free(f->folder);
	free(f->channel);
	free(f);
}

/* Opens the second and closes the first. */
static void
replace(struct fallback *f)
{
	const struct source_place place = { f->folder, f->channel };
	struct source second;
	source_open_fn *open;
	struct err e = { 0 };

	assert(f->phase == FALLBACK_DUE);
	f->inner.stats(f->inner.state, &f->before);
	if (f->second->find(&open, &e) != 0 || open(&second, &place, &f->options, &e) != 0) {
		snprintf(f->trouble, sizeof f->trouble, "%s; %s: %s", f->before.trouble,
		    f->second->name, e.text);
		f->phase = FALLBACK_STAYS;
		return;
	}
	snprintf(f->trouble, sizeof f->trouble,
	    "%s is used instead, which takes more processor time: %s", f->second->name,
	    f->before.trouble);
	f->inner.close(f->inner.state);
	f->inner = second;
	f->phase = FALLBACK_SECOND;
}

static int
fallback_poll(void *state, struct mono now, struct source_output *ret, struct err *e)
{
	struct fallback *f = state;
	int64_t promised_ns = f->watermark_ns;
	struct source_stats s;
	uint32_t nlabels;
	int rc;

	if (f->phase == FALLBACK_DUE)
		replace(f);
	if ((rc = f->inner.poll(f->inner.state, now, ret, e)) != 0)
		return rc;
	if (f->phase == FALLBACK_SECOND) {
		uint32_t late = ret->nlate;

		while (
		    ret->nlate < ret->nrecords && ret->records[ret->nlate].time_ns <= promised_ns)
			ret->nlate++;
		f->late += ret->nlate - late;
		if (ret->watermark_ns < promised_ns)
			ret->watermark_ns = promised_ns;
	}
	f->watermark_ns = ret->watermark_ns;
	if (f->phase != FALLBACK_FIRST)
		return 0;
	f->inner.stats(f->inner.state, &s);
	f->inner.labels(f->inner.state, &nlabels);
	if (s.records > 0 || nlabels > 0)
		f->phase = FALLBACK_STAYS;
	else if (s.unknown_format)
		f->phase = FALLBACK_DUE;
	return 0;
}

static void
fallback_stats(void *state, struct source_stats *ret)
{
	struct fallback *f = state;

	f->inner.stats(f->inner.state, ret);
	if (f->trouble[0] != '\0' && (f->phase != FALLBACK_SECOND || ret->trouble[0] == '\0'))
		ret->trouble = f->trouble;
	if (f->phase != FALLBACK_SECOND)
		return;
	ret->changes += f->before.changes + 1; /* another list of processes */
	ret->outside_dropped += f->before.outside_dropped;
	ret->late += f->before.late + f->late;
	ret->packets += f->before.packets;
	ret->bytes += f->before.bytes;
	ret->stalls += f->before.stalls;
	for (int i = 0; i < LOSS_REASONS; i++)
		ret->lost[i] += f->before.lost[i];
}

static const struct batch_label *
fallback_labels(void *state, uint32_t *count)
{
	struct fallback *f = state;

	return f->inner.labels(f->inner.state, count);
}

int
source_fallback_open(struct source *ret, source_open_fn *first, const struct source_second *second,
    const struct source_place *place, const struct source_options *options, struct err *e)
{
	struct fallback *f = calloc(1, sizeof *f);
	int rc;

	assert(ret != NULL && first != NULL && second != NULL && place != NULL);
	if (f == NULL || (f->folder = strdup(place->folder)) == NULL ||
	    (f->channel = strdup(place->channel)) == NULL)
		rc = err_set(e, ERR_MEMORY, "out of memory for a source");
	else
		rc = first(&f->inner, place, options, e);
	if (rc != 0) {
		if (f != NULL)
			fallback_close(f);
		return rc;
	}
	if (options != NULL)
		f->options = *options;
	f->second = second;
	*ret = (struct source){ f, fallback_poll, fallback_stats, fallback_labels, fallback_close };
	return 0;
}
