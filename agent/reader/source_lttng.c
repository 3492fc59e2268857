/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The LTTng-UST source: one poll visits each stream that may have new packets, then merges. */
#define _GNU_SOURCE
#include "agent/reader/source_lttng.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "agent/reader/cpu_stream.h"
#include "agent/reader/lttng_source.h"
#include "agent/reader/record_merge.h"
#include "agent/reader/session_folders.h"
#include "agent/reader/traced_process.h"
#include "agent/reader/untraced.h"
#include "base/array.h"

/* A dead process' folder is kept this long, since the daemons may still write metadata to it. */
static const int64_t RETIRE_NS = INT64_C(2000000000);

enum { FOLDER_PATH_MAX = 3700 };

static bool
all_read(const struct traced_process *p)
{
	for (uint32_t i = 0; i < p->nstreams; i++)
		if (!p->streams[i]->drained || p->streams[i]->first != NULL)
			return false;
	return true;
}

/* A process that was killed while it wrote a record leaves it in the ring, and the consumer daemon
 * does not write it out. That is one lost record or more. */
static void
report_tail(struct lttng_source *src, const struct traced_process *p)
{
	for (uint32_t i = 0; i < p->nstreams; i++) {
		const struct cpu_stream *s = p->streams[i];
		if (s->ring.head != NULL &&
		    ring_produced(&s->ring) > s->taken + cpu_stream_head_bytes(s))
			losses_add(&src->losses, LOSS_RING, 1, s->last_end_ns, p->died_ns);
	}
}

/* Frees everything but the name, which is needed while the folder exists. */
static void
finish(struct lttng_source *src, struct traced_process *p)
{
	report_tail(src, p);
	for (uint32_t i = 0; i < p->nstreams; i++)
		cpu_stream_free(src, p->streams[i]);
	src->nstreams -= p->nstreams;
	p->nstreams = 0;
	if (p->metadata_fd >= 0)
		close(p->metadata_fd);
	p->metadata_fd = -1;
	p->finished = true;
}

/* Frees processes of which an earlier poll has delivered everything. */
static void
retire(struct lttng_source *src, int64_t now_ns)
{
	for (uint32_t i = 0; i < src->nprocesses; i++) {
		struct traced_process *p = src->processes[i];
		if (p->finished) {
			ctf_trace_release(&p->trace);
			buf_release(&p->text);
		} else if (!p->live && all_read(p) && !p->relist) {
			finish(src, p);
		}
		if (!p->finished || src->options.keep || now_ns - p->died_ns < RETIRE_NS)
			continue;
		traced_process_remove_folder(src, p);
		traced_process_free(src, p);
		src->processes[i--] = src->processes[--src->nprocesses];
	}
}

static void
free_decoded(struct lttng_source *src)
{
	for (struct held_packet *h; (h = src->spent) != NULL; free(h))
		src->spent = h->next;
}

/* Without metadata the packets of a process cannot be decoded: each counts as a loss. */
static void
give_up(struct lttng_source *src, struct traced_process *p)
{
	for (uint32_t i = 0; i < p->nstreams; i++) {
		struct cpu_stream *s = p->streams[i];
		while (s->first != NULL) {
			losses_add(&src->losses, LOSS_DECODE, 1, (int64_t)s->first->index.begin_ns,
			    (int64_t)s->first->index.end_ns);
			cpu_stream_drop_first(src, s);
		}
	}
}

/* Metadata names the process and describes its records. Session 0 holds every traced process, so
 * its metadata is read at once; that of other sessions when the process writes. */
static bool
needs_metadata(const struct traced_process *p)
{
	return p->folder->number == 0 || p->nidle < p->nstreams || !p->live;
}

static void
poll_process(struct lttng_source *src, struct traced_process *p, int64_t now_ns)
{
	uint64_t packets = src->stats.packets;

	if (p->quarantine != QUARANTINE_NONE) {
		traced_process_discard(src, p);
		return;
	}
	if (p->trace.nstreams == 0 && needs_metadata(p))
		traced_process_metadata(src, p, now_ns);
	if (p->relist)
		traced_process_list(src, p);
	if (p->nidle == p->nstreams)
		return;
	for (uint32_t i = 0; i < p->nstreams; i++)
		if (p->streams[i]->idle_at == 0)
			cpu_stream_poll(src, p->streams[i], now_ns);
	if (src->stats.packets != packets)
		src->packet_ns = now_ns;
	traced_process_look(src, p, now_ns);
	if (p->quarantine != QUARANTINE_NONE)
		return;
	if (p->broken)
		give_up(src, p);
	else if (src->stats.packets != packets)
		/* read after the packets, it describes all records in them */
		traced_process_metadata(src, p, now_ns);
}

static int64_t
watermark_of(const struct lttng_source *src, int64_t now_ns)
{
	int64_t least = now_ns - src->options.inflight_ns;

	for (uint32_t i = 0; i < src->nprocesses; i++) {
		const struct traced_process *p = src->processes[i];
		if (p->quarantine != QUARANTINE_NONE)
			continue;
		for (uint32_t k = 0; p->nidle < p->nstreams && k < p->nstreams; k++)
			if (p->streams[k]->idle_at == 0 && p->streams[k]->complete_ns < least)
				least = p->streams[k]->complete_ns;
	}
	return least;
}

static bool
grow_heap(struct lttng_source *src)
{
	return array_reserve(src->heap, src->heap_cap, src->nstreams) &&
	       array_reserve(src->idle, src->idle_cap, src->nstreams);
}

static void
begin_poll(struct lttng_source *src)
{
	free_decoded(src);
	arena_reset(&src->arena);
	src->values = NULL;
	src->values_left = 0;
	src->nrecords = src->nlate = 0;
	losses_begin(&src->losses);
	src->more = false;
}

/* While a node is suspended no ring is drained, which is not a stall. Therefore at most half of
 * stall_ns of the time between two polls counts. */
static void
limit_stalls(struct lttng_source *src, int64_t now_ns)
{
	int64_t since_ns = src->polled_ns > 0 ? now_ns - src->polled_ns : 0,
		most_ns = src->options.stall_ns / 2;

	src->unwatched_ns = since_ns > most_ns ? since_ns - most_ns : 0;
}

static int
lttng_poll(void *state, struct mono now, struct source_output *ret, struct err *e)
{
	struct lttng_source *src = state;
	int64_t before_ns = src->watermark_ns, reached_ns = before_ns;
	struct err problem;

	begin_poll(src);
	limit_stalls(src, now.ns);
	retire(src, now.ns);
	session_folders_poll(src, now.ns);
	cpu_streams_wake(src);
	for (uint32_t i = 0; i < src->nprocesses; i++)
		if (!src->processes[i]->finished)
			poll_process(src, src->processes[i], now.ns);
	traced_processes_weigh(src, now.ns);
	src->polled_ns = now.ns;
	if (!grow_heap(src))
		return err_set(e, ERR_MEMORY, "out of memory for %u rings", src->nstreams);
	/* records without memory count as lost; the others are delivered */
	if (record_merge(src, watermark_of(src, now.ns), &reached_ns, &problem) != 0)
		trouble_set(&src->losses, &problem);
	if (reached_ns > before_ns)
		src->watermark_ns = reached_ns;
	src->stats.late += src->nlate;
	*ret = (struct source_output){
		.records = src->records,
		.nrecords = src->nrecords,
		.nlate = src->nlate,
		.losses = src->losses.list,
		.nlosses = src->losses.count,
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
free_listed(struct source_process *list, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		free((char *)(uintptr_t)list[i].service);
	free(list);
}

/* Live processes with a name, each once, also if it is in several sessions. The caller frees the
 * list; its texts are the processes'. */
static struct source_process *
living(const struct lttng_source *src, uint32_t *n)
{
	struct source_process *list = calloc(src->nprocesses + 1, sizeof *list);
	uint32_t found = 0;

	*n = 0;
	for (uint32_t i = 0; list != NULL && i < src->nprocesses; i++) {
		const struct traced_process *p = src->processes[i];
		if (p->live && p->trace.procname != NULL && p->quarantine == QUARANTINE_NONE)
			list[found++] = (struct source_process){ p->trace.procname, p->trace.vpid,
				p->outside };
	}
	if (list != NULL)
		qsort(list, found, sizeof *list, by_pid);
	for (uint32_t i = 0; i < found; i++)
		if (*n == 0 || by_pid(&list[*n - 1], &list[i]) != 0)
			list[(*n)++] = list[i];
	return list;
}

static bool
copy_texts(struct source_process *list, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if ((list[i].service = strdup(list[i].service)) == NULL) {
			free_listed(list, i);
			return false;
		}
	return true;
}

static void
update_processes(struct lttng_source *src)
{
	uint32_t n;
	struct source_process *list = living(src, &n);
	bool same = n == src->nlisted;

	for (uint32_t i = 0; list != NULL && same && i < n; i++)
		same = by_pid(&list[i], &src->listed[i]) == 0;
	if (list == NULL || same || !copy_texts(list, n)) {
		if (list == NULL || same)
			free(list);
		src->changed = !same;
		return;
	}
	free_listed(src->listed, src->nlisted);
	src->listed = list;
	src->nlisted = n;
	src->stats.changes++;
	src->changed = false;
}

/* Session 0 holds every traced process. */
static void
count_live(struct lttng_source *src)
{
	src->stats.ring_bytes = 0;
	src->stats.rings = src->stats.unlisted = 0;
	for (uint32_t i = 0; i < src->nprocesses; i++) {
		const struct traced_process *p = src->processes[i];
		if (!p->live)
			continue;
		src->stats.unlisted += p->quarantine == QUARANTINE_USER && p->folder->number == 0;
		for (uint32_t k = 0; k < p->nstreams; k++) {
			src->stats.ring_bytes += (int64_t)p->streams[k]->ring.bytes;
			src->stats.rings += p->streams[k]->ring.head != NULL;
		}
	}
}

static void
ring_stats(struct source_stats *l, const struct cpu_stream *s)
{
	l->files_bytes += (int64_t)cpu_stream_waiting_bytes(s);
	double fill = cpu_stream_fill(s);
	if (fill > l->fullest) {
		l->fullest = fill;
		l->fullest_service = s->process->trace.procname;
		l->fullest_pid = (uint32_t)s->process->trace.vpid;
	}
}

static void
lttng_stats(void *state, struct source_stats *ret)
{
	struct lttng_source *src = state;
	const struct untraced_process *untraced;

	if (src->changed) {
		count_live(src);
		update_processes(src);
	}
	*ret = src->stats;
	ret->fullest = 0;
	ret->fullest_service = NULL;
	ret->fullest_pid = 0;
	ret->files_bytes = 0;
	for (uint32_t i = 0; i < src->nprocesses; i++) {
		const struct traced_process *p = src->processes[i];
		for (uint32_t k = 0; p->nidle < p->nstreams && k < p->nstreams; k++)
			if (p->streams[k]->idle_at == 0)
				ring_stats(ret, p->streams[k]);
	}
	ret->processes = src->listed;
	ret->nprocesses = src->nlisted;
	ret->trouble = src->losses.trouble.text;
	if ((untraced = untraced_first(src)) != NULL) {
		ret->untraced = untraced->named.comm;
		ret->untraced_pid = (uint32_t)untraced->named.pid;
	}
	memcpy(ret->lost, src->losses.total, sizeof ret->lost);
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
		traced_process_free(src, src->processes[i]);
	untraced_release(src);
	free_decoded(src);
	if (src->inotify >= 0)
		close(src->inotify);
	source_labels_release(&src->labels);
	arena_release(&src->arena);
	free(src->processes);
	free(src->heap);
	free(src->records);
	losses_release(&src->losses);
	free_listed(src->listed, src->nlisted);
	session_folders_release(src);
	free(src->idle);
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
		return err_set(e, ERR_INPUT, "the channel's name must have 1 to 255 bytes");
	if ((src = calloc(1, sizeof *src)) == NULL)
		return err_set(e, ERR_MEMORY, "out of memory for a source");
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
		return err_set(e, ERR_MEMORY, "out of memory for a source");
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

	assert(output_dir != NULL && shm_dir != NULL);
	if ((rc = source_make(&src, channel, options, e)) != 0)
		return rc;
	if (session_folder_add(src, 0, output_dir, shm_dir) == NULL) {
		lttng_close(src);
		return err_set(
		    e, ERR_MEMORY, "out of memory for a source, or a folder's path is too long");
	}
	*ret = (struct source){ src, lttng_poll, lttng_stats, lttng_labels, lttng_close };
	return 0;
}

int
source_lttng_follow(struct source *ret, const struct source_place *place,
    const struct source_options *options, struct err *e)
{
	struct lttng_source *src;
	int rc;

	assert(place != NULL && place->folder != NULL);
	if (strlen(place->folder) > FOLDER_PATH_MAX)
		return err_set(e, ERR_INPUT, "the path of the sessions' folder has over %d bytes",
		    FOLDER_PATH_MAX);
	if ((rc = source_make(&src, place->channel, options, e)) != 0)
		return rc;
	if ((src->followed.path = strdup(place->folder)) == NULL) {
		lttng_close(src);
		return err_set(e, ERR_MEMORY, "out of memory for a source");
	}
	*ret = (struct source){ src, lttng_poll, lttng_stats, lttng_labels, lttng_close };
	return 0;
}
