/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The door to local LTTng-UST sessions: asks each stream that may have something once a poll. */
#define _GNU_SOURCE
#include "agent/reader/source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "agent/reader/source_inside.h"

/* A dead process' folder is left alone for so long, since the daemons may still write metadata. */
static const int64_t RETIRE_NS = INT64_C(2000000000);

void
source_trouble(struct lttng_source *src, const struct err *e)
{
	snprintf(src->trouble, sizeof src->trouble, "%s", e->text);
}

void
source_loss(struct lttng_source *src, enum loss_reason reason, uint64_t count, int64_t from_ns,
    int64_t to_ns)
{
	src->look.lost[reason] += count;
	if (src->nlosses == src->losses_cap) {
		uint32_t cap = src->losses_cap > 0 ? src->losses_cap * 2 : 16;
		struct loss *grown = realloc(src->losses, cap * sizeof *grown);
		if (grown == NULL) {
			if (src->nlosses == 0)
				return;
			/* one loss that covers both */
			struct loss *last = &src->losses[src->nlosses - 1];
			last->count += count;
			last->from_ns = from_ns < last->from_ns ? from_ns : last->from_ns;
			last->to_ns = to_ns > last->to_ns ? to_ns : last->to_ns;
			return;
		}
		src->losses = grown;
		src->losses_cap = cap;
	}
	src->losses[src->nlosses++] = (struct loss){
		.reason = (uint8_t)reason,
		.count = count,
		.from_ns = from_ns,
		.to_ns = to_ns < from_ns ? from_ns : to_ns,
	};
}

static bool
all_read(const struct process *p)
{
	for (uint32_t i = 0; i < p->nstreams; i++)
		if (!p->streams[i]->drained || p->streams[i]->first != NULL)
			return false;
	return true;
}

/* What a killed process had half written, the consumer daemon leaves in the ring: at least one
 * record. */
static void
lost_tail(struct lttng_source *src, const struct process *p)
{
	for (uint32_t i = 0; i < p->nstreams; i++) {
		const struct stream *s = p->streams[i];
		if (s->ring.head != NULL &&
		    ring_produced(&s->ring) > s->taken + stream_head_bytes(s))
			source_loss(src, LOSS_RING, 1, s->last_end_ns, p->died_ns);
	}
}

/* Frees all but the name, which must be known for as long as its folder is there. */
static void
finish(struct lttng_source *src, struct process *p)
{
	lost_tail(src, p);
	for (uint32_t i = 0; i < p->nstreams; i++)
		stream_free(src, p->streams[i]);
	src->nstreams -= p->nstreams;
	p->nstreams = 0;
	if (p->metadata_fd >= 0)
		close(p->metadata_fd);
	p->metadata_fd = -1;
	p->finished = true;
}

/* Processes that were read out in an earlier poll: nothing points to them any more. */
static void
retire(struct lttng_source *src, int64_t now_ns)
{
	for (uint32_t i = 0; i < src->nprocesses; i++) {
		struct process *p = src->processes[i];
		if (p->finished) {
			ctf_trace_release(&p->trace);
			buf_release(&p->text);
		} else if (!p->live && all_read(p) && !p->relist) {
			finish(src, p);
		}
		if (!p->finished || src->options.keep || now_ns - p->died_ns < RETIRE_NS)
			continue;
		process_remove_folder(src, p);
		process_free(src, p);
		src->processes[i--] = src->processes[--src->nprocesses];
	}
}

static void
free_spent(struct lttng_source *src)
{
	for (struct held *h; (h = src->spent) != NULL; free(h))
		src->spent = h->next;
}

/* Metadata that can't be had: the packets are counted, and let go. */
static void
give_up(struct lttng_source *src, struct process *p)
{
	for (uint32_t i = 0; i < p->nstreams; i++) {
		struct stream *s = p->streams[i];
		while (s->first != NULL) {
			source_loss(src, LOSS_DECODE, 1, (int64_t)s->first->index.begin_ns,
			    (int64_t)s->first->index.end_ns);
			stream_drop_first(src, s);
		}
	}
}

/* In the first session a program is known by its metadata's name; in others they matter when it
 * writes. */
static bool
wants_metadata(const struct process *p)
{
	return p->folder->number == 0 || p->nquiet < p->nstreams || !p->live;
}

static void
poll_process(struct lttng_source *src, struct process *p, int64_t now_ns)
{
	uint64_t packets = src->look.packets;

	if (p->trace.nstreams == 0 && wants_metadata(p))
		process_metadata(src, p, now_ns);
	if (p->relist)
		process_list(src, p);
	if (p->nquiet == p->nstreams)
		return;
	for (uint32_t i = 0; i < p->nstreams; i++)
		if (p->streams[i]->quiet_at == 0)
			stream_poll(src, p->streams[i], now_ns);
	if (p->broken)
		give_up(src, p);
	else if (src->look.packets != packets)
		process_metadata(
		    src, p, now_ns); /* after the packets: then it has all that they need */
}

static int64_t
watermark_of(const struct lttng_source *src, int64_t now_ns)
{
	int64_t least = now_ns - src->options.inflight_ns;

	for (uint32_t i = 0; i < src->nprocesses; i++) {
		const struct process *p = src->processes[i];
		for (uint32_t k = 0; p->nquiet < p->nstreams && k < p->nstreams; k++)
			if (p->streams[k]->quiet_at == 0 && p->streams[k]->complete_ns < least)
				least = p->streams[k]->complete_ns;
	}
	return least;
}

static bool
grow_heap(struct lttng_source *src)
{
	if (src->nstreams <= src->heap_cap)
		return true;
	uint32_t cap = src->nstreams * 2;
	struct stream **grown = realloc(src->heap, cap * sizeof *grown);
	if (grown == NULL)
		return false;
	src->heap = grown;
	struct quiet *quiet = realloc(src->quiet, cap * sizeof *quiet);
	if (quiet == NULL)
		return false;
	src->quiet = quiet;
	src->heap_cap = src->quiet_cap = cap;
	return true;
}

static void
begin_poll(struct lttng_source *src)
{
	free_spent(src);
	arena_reset(&src->arena);
	src->values = NULL;
	src->values_left = 0;
	src->nrecords = src->nlosses = src->nlate = 0;
	src->more = false;
}

/* A node that was suspended stood still as a whole: a ring that was not drained meanwhile is no
 * stall. So of the time between two polls no more than half a stall counts. */
static void
watch(struct lttng_source *src, int64_t now_ns)
{
	int64_t since_ns = src->polled_ns > 0 ? now_ns - src->polled_ns : 0,
		most_ns = src->options.stall_ns / 2;

	src->unwatched_ns = since_ns > most_ns ? since_ns - most_ns : 0;
}

static int
lttng_poll(void *state, struct mono now, struct source_take *ret, struct err *e)
{
	struct lttng_source *src = state;
	int64_t before_ns = src->watermark_ns, reached_ns = before_ns;
	struct err short_of;

	begin_poll(src);
	watch(src, now.ns);
	retire(src, now.ns);
	folders_poll(src, now.ns);
	streams_wake(src);
	for (uint32_t i = 0; i < src->nprocesses; i++)
		if (!src->processes[i]->finished)
			poll_process(src, src->processes[i], now.ns);
	src->polled_ns = now.ns;
	if (!grow_heap(src))
		return err_set(e, ERR_MEMORY, "no memory for %u rings", src->nstreams);
	/* records that there was no memory for are counted as lost, the others are good */
	if (source_merge(src, watermark_of(src, now.ns), &reached_ns, &short_of) != 0)
		source_trouble(src, &short_of);
	if (reached_ns > before_ns)
		src->watermark_ns = reached_ns;
	src->look.late += src->nlate;
	*ret = (struct source_take){
		.records = src->records,
		.nrecords = src->nrecords,
		.nlate = src->nlate,
		.losses = src->losses,
		.nlosses = src->nlosses,
		.watermark_ns = src->watermark_ns,
		.more = src->more && (src->nrecords > 0 || src->watermark_ns > before_ns),
	};
	return 0;
}

static int
by_pid(const void *a, const void *b)
{
	const struct source_process *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return strcmp(x->service, y->service);
}

static void
free_shown(struct source_process *list, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		free((char *)(uintptr_t)list[i].service);
	free(list);
}

/* Those that live and have a name, each once, though it is in the folders of several sessions. */
static struct source_process *
living(const struct lttng_source *src, uint32_t *n)
{
	struct source_process *list = calloc(src->nprocesses + 1, sizeof *list);
	uint32_t found = 0;

	*n = 0;
	for (uint32_t i = 0; list != NULL && i < src->nprocesses; i++) {
		const struct process *p = src->processes[i];
		if (p->live && p->trace.procname != NULL)
			list[found++] = (struct source_process){ p->trace.procname, p->trace.vpid,
				p->mapped };
	}
	if (list != NULL)
		qsort(list, found, sizeof *list, by_pid);
	for (uint32_t i = 0; i < found; i++)
		if (*n == 0 || by_pid(&list[*n - 1], &list[i]) != 0)
			list[(*n)++] = list[i];
	return list;
}

static bool
own_texts(struct source_process *list, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if ((list[i].service = strdup(list[i].service)) == NULL) {
			free_shown(list, i);
			return false;
		}
	return true;
}

static void
show_processes(struct lttng_source *src)
{
	uint32_t n;
	struct source_process *list = living(src, &n);
	bool same = n == src->nshown;

	for (uint32_t i = 0; list != NULL && same && i < n; i++)
		same = by_pid(&list[i], &src->shown[i]) == 0;
	if (list == NULL || same || !own_texts(list, n)) {
		if (list == NULL || same)
			free(list);
		src->changed = !same;
		return;
	}
	free_shown(src->shown, src->nshown);
	src->shown = list;
	src->nshown = n;
	src->look.changes++;
	src->changed = false;
}

/* The whole of what is mapped. */
static void
count_rings(struct lttng_source *src)
{
	src->look.ring_bytes = 0;
	src->look.rings = 0;
	for (uint32_t i = 0; i < src->nprocesses; i++)
		for (uint32_t k = 0; src->processes[i]->live && k < src->processes[i]->nstreams;
		     k++) {
			const struct ring *r = &src->processes[i]->streams[k]->ring;
			src->look.ring_bytes += (int64_t)r->bytes;
			src->look.rings += r->head != NULL;
		}
}

static void
look_ring(struct source_look *l, const struct stream *s)
{
	l->files_bytes += (int64_t)stream_waiting_bytes(s);
	if (s->ring.head == NULL || !s->process->live)
		return;
	uint64_t consumed = ring_consumed(&s->ring), produced = ring_produced(&s->ring);
	double fill = produced > consumed ? (double)(produced - consumed) / (double)s->ring.bytes
	                                  : 0;
	if (fill > l->fullest)
		l->fullest = fill > 1 ? 1 : fill;
}

static void
lttng_look(void *state, struct source_look *ret)
{
	struct lttng_source *src = state;

	if (src->changed) {
		count_rings(src);
		show_processes(src);
	}
	*ret = src->look;
	ret->fullest = 0;
	ret->files_bytes = 0;
	for (uint32_t i = 0; i < src->nprocesses; i++) {
		const struct process *p = src->processes[i];
		for (uint32_t k = 0; p->nquiet < p->nstreams && k < p->nstreams; k++)
			if (p->streams[k]->quiet_at == 0)
				look_ring(ret, p->streams[k]);
	}
	ret->processes = src->shown;
	ret->nprocesses = src->nshown;
	ret->trouble = src->trouble;
}

static const struct batch_label *
lttng_labels(void *state, uint32_t *count)
{
	struct lttng_source *src = state;

	*count = src->labels.count;
	return src->labels.labels;
}

static void
lttng_close(void *state)
{
	struct lttng_source *src = state;

	if (src == NULL)
		return;
	for (uint32_t i = 0; i < src->nprocesses; i++)
		process_free(src, src->processes[i]);
	untraced_release(src);
	free_spent(src);
	if (src->inotify >= 0)
		close(src->inotify);
	source_labels_release(&src->labels);
	arena_release(&src->arena);
	free(src->processes);
	free(src->heap);
	free(src->records);
	free(src->losses);
	free_shown(src->shown, src->nshown);
	folders_release(src);
	free(src->quiet);
	free(src->channel);
	free(src);
}

static void
set_defaults(struct source_options *o)
{
	if (o->memory_bytes == 0)
		o->memory_bytes = 64 << 20;
	if (o->records_max == 0)
		o->records_max = 65536;
	if (o->labels_max == 0)
		o->labels_max = 32768;
	if (o->packet_max_bytes == 0)
		o->packet_max_bytes = 64 << 20;
	if (o->metadata_max_bytes == 0)
		o->metadata_max_bytes = 64 << 20;
	if (o->inflight_ns == 0)
		o->inflight_ns = 5000000;
	if (o->stall_ns == 0)
		o->stall_ns = INT64_C(2000000000);
}

static int
source_make(struct lttng_source **ret, const char *channel, const struct source_options *options,
    struct err *e)
{
	struct lttng_source *src;

	if (channel == NULL || channel[0] == '\0' || strlen(channel) > 255)
		return err_set(e, ERR_INPUT, "a source needs a channel");
	if ((src = calloc(1, sizeof *src)) == NULL)
		return err_set(e, ERR_MEMORY, "no memory for a source");
	src->followed.watch = -1;
	src->changed = true;
	src->opened_ns = clock_mono().ns;
	if (options != NULL)
		src->options = *options;
	set_defaults(&src->options);
	src->channel = strdup(channel);
	if ((src->inotify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) < 0) {
		err_errno(e, "inotify (see fs.inotify.max_user_instances)");
		lttng_close(src);
		return ERR_SYSTEM;
	}
	if (src->channel == NULL ||
	    source_labels_init(&src->labels, src->options.labels_max) != 0) {
		lttng_close(src);
		return err_set(e, ERR_MEMORY, "no memory for a source");
	}
	*ret = src;
	return 0;
}

int
source_lttng_open(struct source *ret, const char *output_dir, const char *shm_dir,
    const char *channel, const struct source_options *options, struct err *e)
{
	struct lttng_source *src;
	int rc;

	if (output_dir == NULL || shm_dir == NULL)
		return err_set(e, ERR_INPUT, "a source needs an output folder and a shm folder");
	if ((rc = source_make(&src, channel, options, e)) != 0)
		return rc;
	if (folder_add(src, 0, output_dir, shm_dir) == NULL) {
		lttng_close(src);
		return err_set(
		    e, ERR_MEMORY, "no memory for a source, or a folder's name is too long");
	}
	*ret = (struct source){ src, lttng_poll, lttng_look, lttng_labels, lttng_close };
	return 0;
}

int
source_lttng_follow(struct source *ret, const char *folder, const char *channel,
    const struct source_options *options, struct err *e)
{
	struct lttng_source *src;
	int rc;

	if (folder == NULL || strlen(folder) > 3700)
		return err_set(
		    e, ERR_INPUT, "a source needs a folder, with a name that is not too long");
	if ((rc = source_make(&src, channel, options, e)) != 0)
		return rc;
	if ((src->followed.path = strdup(folder)) == NULL) {
		lttng_close(src);
		return err_set(e, ERR_MEMORY, "no memory for a source");
	}
	*ret = (struct source){ src, lttng_poll, lttng_look, lttng_labels, lttng_close };
	return 0;
}
