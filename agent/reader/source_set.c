/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agent/reader/source_set.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "agent/reader/record_list.h"
#include "agent/reader/source_losses.h"
#include "base/array.h"

struct set_member {
	struct source source;
	int64_t watermark_ns;
	uint32_t *labels; /* the member's label -> the set's */
	uint32_t nlabels, labels_cap;
	struct source_stats stats;
};

struct source_set {
	struct set_member members[SOURCE_SET_MAX];
	uint32_t nmembers;
	size_t memory_bytes;
	struct batch_label *labels;
	uint32_t nlabels, labels_cap;

	struct record_list ready;   /* what the last poll returned */
	struct record_list scratch; /* for sorting */
	struct record_list pending; /* beyond the watermark; values and texts are in arena[turn] */
	struct arena arena[2];
	int turn;
	struct source_losses losses;
	int64_t watermark_ns;
	uint64_t records, late, stalls;

	struct source_process *processes; /* of all members */
	uint32_t nprocesses, processes_cap;
};

static bool
learn_labels(struct source_set *set, struct set_member *m)
{
	uint32_t count;
	const struct batch_label *labels = m->source.labels(m->source.state, &count);

	assert(count >= m->nlabels);
	if (!array_reserve(m->labels, m->labels_cap, count) ||
	    !array_reserve(set->labels, set->labels_cap, set->nlabels + count - m->nlabels))
		return false;
	for (; m->nlabels < count; m->nlabels++) {
		m->labels[m->nlabels] = set->nlabels;
		set->labels[set->nlabels++] = labels[m->nlabels];
	}
	return true;
}

/* Polls a member. Its records go to `ready`, uncopied, for as long as this poll's result lives. */
static int
poll_member(struct source_set *set, struct set_member *m, struct mono now, bool *more)
{
	struct source_output o;
	struct err e;
	int rc = m->source.poll(m->source.state, now, &o, &e);

	if (rc != 0) {
		trouble_set(&set->losses, &e);
		return rc;
	}
	assert(o.watermark_ns >= m->watermark_ns);
	m->watermark_ns = o.watermark_ns;
	*more |= o.more;
	for (uint32_t i = 0; i < o.nlosses; i++)
		losses_add(&set->losses, (enum loss_reason)o.losses[i].reason, o.losses[i].count,
		    o.losses[i].from_ns, o.losses[i].to_ns);
	if (!learn_labels(set, m) ||
	    !array_reserve(set->ready.list, set->ready.cap, set->ready.count + o.nrecords)) {
		if (o.nrecords > 0)
			losses_add(&set->losses, LOSS_QUEUE, o.nrecords, o.records[0].time_ns,
			    o.watermark_ns);
		return 0;
	}
	for (uint32_t i = 0; i < o.nrecords; i++) {
		struct record *r = &set->ready.list[set->ready.count++];
		*r = o.records[i];
		r->label = m->labels[r->label];
	}
	return 0;
}

static int64_t
least_watermark(const struct source_set *set)
{
	int64_t least = INT64_MAX;

	for (uint32_t i = 0; i < set->nmembers; i++)
		if (set->members[i].watermark_ns < least)
			least = set->members[i].watermark_ns;
	return least;
}

/* Moves the records beyond the watermark from `ready` to the other arena, and frees the memory of
 * those that were delivered by the last poll. */
static void
keep_pending(struct source_set *set, int64_t watermark_ns)
{
	struct arena *to = &set->arena[!set->turn];
	uint32_t kept = 0;

	set->pending.count = 0;
	for (uint32_t i = 0; i < set->ready.count; i++) {
		const struct record *r = &set->ready.list[i];
		if (r->time_ns <= watermark_ns)
			set->ready.list[kept++] = *r;
		else if (!record_list_copy(&set->pending, to, r))
			losses_add(&set->losses, LOSS_QUEUE, 1, r->time_ns, r->time_ns);
	}
	set->ready.count = kept;
}

/*
 * 1. The records that were pending are the first of `ready`; all members append theirs.
 * 2. The watermark is the least of the members', unless too much is pending.
 * 3. Records beyond it are copied and pending; the others are sorted and returned.
 *
 * The arena of step 3 is the one that the poll before the last used, so that what this poll returns
 * from `pending` stays valid until the next one.
 */
static int
set_poll(void *state, struct mono now, struct source_output *ret, struct err *e)
{
	struct source_set *set = state;
	int64_t before_ns = set->watermark_ns, watermark_ns;
	uint32_t failed = 0, late = 0;
	bool more = false;
	int rc = 0;

	losses_begin(&set->losses);
	set->ready.count = 0;
	for (uint32_t i = 0; i < set->pending.count; i++)
		if (!record_list_add(&set->ready, &set->pending.list[i]))
			losses_add(&set->losses, LOSS_QUEUE, 1, set->pending.list[i].time_ns,
			    set->pending.list[i].time_ns);
	for (uint32_t i = 0; i < set->nmembers; i++) {
		int one = poll_member(set, &set->members[i], now, &more);
		failed += one != 0;
		rc = one != 0 ? one : rc;
	}

	watermark_ns = least_watermark(set);
	if (set->arena[set->turn].total_bytes > set->memory_bytes) {
		for (uint32_t i = 0; i < set->nmembers; i++)
			if (set->members[i].watermark_ns > watermark_ns)
				watermark_ns = set->members[i].watermark_ns;
		set->stalls++;
	}
	if (watermark_ns < before_ns)
		watermark_ns = before_ns;

	arena_release(&set->arena[!set->turn]);
	keep_pending(set, watermark_ns);
	set->turn = !set->turn;
	if (!record_list_sort(&set->ready, &set->scratch)) {
		losses_add(&set->losses, LOSS_QUEUE, set->ready.count, set->ready.list[0].time_ns,
		    watermark_ns);
		set->ready.count = 0;
	}
	while (late < set->ready.count && set->ready.list[late].time_ns <= before_ns)
		late++;
	set->watermark_ns = watermark_ns;
	set->records += set->ready.count;
	set->late += late;
	if (failed == set->nmembers && set->ready.count == 0)
		return err_set(e, rc, "%s", set->losses.trouble.text);
	*ret = (struct source_output){
		.records = set->ready.list,
		.nrecords = set->ready.count,
		.nlate = late,
		.losses = set->losses.list,
		.nlosses = set->losses.count,
		.watermark_ns = watermark_ns,
		.more = more,
	};
	return 0;
}

static void
list_processes(struct source_set *set)
{
	set->nprocesses = 0;
	for (uint32_t i = 0; i < set->nmembers; i++) {
		const struct source_stats *s = &set->members[i].stats;
		if (!array_reserve(
			set->processes, set->processes_cap, set->nprocesses + s->nprocesses))
			return;
		for (uint32_t k = 0; k < s->nprocesses; k++)
			set->processes[set->nprocesses++] = s->processes[k];
	}
}

static void
set_stats(void *state, struct source_stats *ret)
{
	struct source_set *set = state;

	*ret = (struct source_stats){ .records = set->records,
		.late = set->late,
		.stalls = set->stalls,
		.trouble = set->losses.trouble.text };
	for (uint32_t i = 0; i < set->nmembers; i++) {
		struct set_member *m = &set->members[i];
		struct source_stats *s = &m->stats;

		m->source.stats(m->source.state, s);
		if (s->fullest > ret->fullest) {
			ret->fullest = s->fullest;
			ret->fullest_service = s->fullest_service;
			ret->fullest_pid = s->fullest_pid;
		}
		ret->quarantines += s->quarantines;
		ret->unlisted += s->unlisted;
		if (ret->quarantined.service == NULL)
			ret->quarantined = s->quarantined;
		ret->ring_bytes += s->ring_bytes;
		ret->files_bytes += s->files_bytes;
		ret->rings += s->rings;
		ret->changes += s->changes;
		ret->outside_dropped += s->outside_dropped;
		ret->mapped += s->mapped;
		ret->dropped += s->dropped;
		ret->given_up += s->given_up;
		ret->orphans += s->orphans;
		ret->endless += s->endless;
		ret->packets += s->packets;
		ret->bytes += s->bytes;
		ret->discarded_bytes += s->discarded_bytes;
		ret->stalls += s->stalls;
		for (int k = 0; k < LOSS_REASONS; k++)
			ret->lost[k] += s->lost[k];
		if (s->trouble[0] != '\0' && (ret->trouble[0] == '\0' || s->unknown_format))
			ret->trouble = s->trouble;
		ret->unknown_format |= s->unknown_format;
		if (ret->untraced_pid == 0) {
			ret->untraced = s->untraced;
			ret->untraced_pid = s->untraced_pid;
		}
	}
	/* losses that members reported are in their totals; the set's own are of LOSS_QUEUE only */
	ret->lost[LOSS_QUEUE] = set->losses.total[LOSS_QUEUE];
	ret->files_bytes += (int64_t)set->arena[set->turn].total_bytes;
	list_processes(set);
	ret->processes = set->processes;
	ret->nprocesses = set->nprocesses;
}

static const struct batch_label *
set_labels(void *state, uint32_t *count)
{
	struct source_set *set = state;

	*count = set->nlabels;
	return set->labels;
}

static void
set_close(void *state)
{
	struct source_set *set = state;

	for (uint32_t i = 0; i < set->nmembers; i++) {
		set->members[i].source.close(set->members[i].source.state);
		free(set->members[i].labels);
	}
	free(set->labels);
	record_list_release(&set->ready);
	record_list_release(&set->scratch);
	record_list_release(&set->pending);
	arena_release(&set->arena[0]);
	arena_release(&set->arena[1]);
	losses_release(&set->losses);
	free(set->processes);
	free(set);
}

int
source_set_open(struct source *ret, const struct source *members, uint32_t n, size_t memory_bytes,
    struct err *e)
{
	struct source_set *set;

	assert(n >= 1 && n <= SOURCE_SET_MAX);
	if (n == 1) {
		*ret = members[0];
		return 0;
	}
	if ((set = calloc(1, sizeof *set)) == NULL) {
		for (uint32_t i = 0; i < n; i++)
			members[i].close(members[i].state);
		return err_set(e, ERR_MEMORY, "out of memory for %u sources", n);
	}
	set->nmembers = n;
	set->memory_bytes = memory_bytes != 0 ? memory_bytes : 64 << 20;
	set->watermark_ns = INT64_MIN;
	for (uint32_t i = 0; i < n; i++) {
		set->members[i].source = members[i];
		set->members[i].watermark_ns = INT64_MIN;
	}
	*ret = (struct source){ set, set_poll, set_stats, set_labels, set_close };
	return 0;
}
