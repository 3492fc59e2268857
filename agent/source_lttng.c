/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The door to a local LTTng-UST session: finds processes, and asks each stream once a poll. */
#define _GNU_SOURCE
#include "agent/source.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "agent/source_inside.h"

/* A dead process' folder is left alone for so long, since the daemons may still write metadata. */
static const int64_t RETIRE_NS = INT64_C(2000000000);

void
source_trouble(struct lttng_source *src, const struct err *e)
{
	snprintf(src->trouble, sizeof src->trouble, "%s", e->text);
}

void
source_loss(struct lttng_source *src, enum loss_reason reason, uint64_t count, int64_t from_ns, int64_t to_ns)
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
		.reason = (uint8_t)reason, .count = count, .from_ns = from_ns, .to_ns = to_ns < from_ns ? from_ns : to_ns,
	};
}

static void
watch(struct lttng_source *src, struct root *r)
{
	if (r->watch >= 0)
		return;
	r->watch = inotify_add_watch(src->inotify, r->path,
	    IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE_SELF | IN_ONLYDIR);
	if (r->watch >= 0)
		src->relist = true;
}

static void
watch_event(struct lttng_source *src, const struct inotify_event *i)
{
	struct root *roots[] = { &src->shm, &src->output };

	if ((i->mask & IN_Q_OVERFLOW) != 0) {
		src->relist = true;
		for (uint32_t k = 0; k < src->nprocesses; k++)
			src->processes[k]->relist = true;
		return;
	}
	for (int k = 0; k < 2; k++)
		if (roots[k]->watch == i->wd) {
			src->relist = true;
			if ((i->mask & IN_IGNORED) != 0)
				roots[k]->watch = -1;
			return;
		}
	for (uint32_t k = 0; k < src->nprocesses; k++) {
		struct process *p = src->processes[k];
		if (p->watch != i->wd)
			continue;
		p->relist = true;
		if ((i->mask & IN_IGNORED) != 0)
			p->watch = -1;
		return;
	}
}

/* What happened in the folders up to now. The kernel queues an event before the call that caused it returns. */
static void
read_watches(struct lttng_source *src)
{
	char events[16384] __attribute__((aligned(__alignof__(struct inotify_event))));
	ssize_t n;

	while ((n = read(src->inotify, events, sizeof events)) > 0)
		for (char *at = events; at < events + n; ) {
			const struct inotify_event *i = (const struct inotify_event *)(const void *)at;
			watch_event(src, i);
			at += sizeof *i + i->len;
		}
}

static struct process *
find_process(const struct lttng_source *src, const char *name)
{
	for (uint32_t i = 0; i < src->nprocesses; i++)
		if (strcmp(src->processes[i]->name, name) == 0)
			return src->processes[i];
	return NULL;
}

static void
add_process(struct lttng_source *src, const char *name, bool live, int64_t now_ns)
{
	struct process *p;

	if (src->nprocesses == src->processes_cap) {
		uint32_t cap = src->processes_cap > 0 ? src->processes_cap * 2 : 16;
		struct process **grown = realloc(src->processes, cap * sizeof *grown);
		if (grown == NULL)
			return;
		src->processes = grown;
		src->processes_cap = cap;
	}
	if ((p = process_new(src, name, live, now_ns)) == NULL)
		return;
	p->seen = live;
	src->processes[src->nprocesses++] = p;
}

/* The daemons make the shm folder first and remove it before the other is complete; so who is only
 * in a listing of the output that is older than that of the shm folders, has come and gone. */
static void
list_root(struct lttng_source *src, const struct root *r, bool live, char ***names, size_t *n, int64_t now_ns)
{
	DIR *dir = opendir(r->path);
	struct dirent *d;

	while (dir != NULL && (d = readdir(dir)) != NULL) {
		if (d->d_name[0] == '.')
			continue;
		if (live) {
			struct process *p = find_process(src, d->d_name);
			if (p != NULL)
				p->seen = true;
			else
				add_process(src, d->d_name, true, now_ns);
			continue;
		}
		char **grown = realloc(*names, (*n + 1) * sizeof **names);
		if (grown == NULL)
			break;
		*names = grown;
		if (((*names)[*n] = strdup(d->d_name)) != NULL)
			++*n;
	}
	if (dir != NULL)
		closedir(dir);
}

static void
list_roots(struct lttng_source *src, int64_t now_ns)
{
	char **names = NULL;
	size_t n = 0;

	src->relist = false;
	for (uint32_t i = 0; i < src->nprocesses; i++)
		src->processes[i]->seen = false;
	list_root(src, &src->output, false, &names, &n, now_ns);
	list_root(src, &src->shm, true, NULL, NULL, now_ns);
	for (size_t i = 0; i < n; i++) {
		if (find_process(src, names[i]) == NULL)
			add_process(src, names[i], false, now_ns);
		free(names[i]);
	}
	free(names);
	for (uint32_t i = 0; i < src->nprocesses; i++) {
		struct process *p = src->processes[i];
		if (!p->live || p->seen)
			continue;
		p->live = false;
		p->died_ns = now_ns;
		p->relist = true;
		src->look.changes++;
	}
}

static bool
all_read(const struct process *p)
{
	for (uint32_t i = 0; i < p->nstreams; i++)
		if (!p->streams[i]->drained || p->streams[i]->first != NULL)
			return false;
	return true;
}

/* What a killed process had half written, the consumer daemon leaves in the ring: at least one record. */
static void
lost_tail(struct lttng_source *src, const struct process *p)
{
	for (uint32_t i = 0; i < p->nstreams; i++) {
		const struct stream *s = p->streams[i];
		if (s->ring.head != NULL && ring_produced(&s->ring) > s->taken + stream_head_bytes(s))
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
			source_loss(src, LOSS_DECODE, 1, (int64_t)s->first->index.begin_ns, (int64_t)s->first->index.end_ns);
			stream_drop_first(src, s);
		}
	}
}

static void
poll_process(struct lttng_source *src, struct process *p, int64_t now_ns)
{
	uint64_t packets = src->look.packets;

	if (p->trace.nstreams == 0)
		process_metadata(src, p, now_ns);
	if (p->relist)
		process_list(src, p);
	for (uint32_t i = 0; i < p->nstreams; i++)
		stream_poll(src, p->streams[i], now_ns);
	if (p->broken)
		give_up(src, p);
	else if (src->look.packets != packets)
		process_metadata(src, p, now_ns);	/* after the packets: then it has all that they need */
}

static int64_t
watermark_of(const struct lttng_source *src, int64_t now_ns)
{
	int64_t least = now_ns - src->options.inflight_ns;

	for (uint32_t i = 0; i < src->nprocesses; i++)
		for (uint32_t k = 0; k < src->processes[i]->nstreams; k++)
			if (src->processes[i]->streams[k]->complete_ns < least)
				least = src->processes[i]->streams[k]->complete_ns;
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
	src->heap_cap = cap;
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

static int
lttng_poll(void *state, struct mono now, struct source_take *ret, struct err *e)
{
	struct lttng_source *src = state;
	int64_t before_ns = src->watermark_ns, reached_ns = before_ns;
	struct err short_of;

	begin_poll(src);
	retire(src, now.ns);
	watch(src, &src->shm);
	watch(src, &src->output);
	read_watches(src);
	if (src->relist)
		list_roots(src, now.ns);
	for (uint32_t i = 0; i < src->nprocesses; i++)
		if (!src->processes[i]->finished)
			poll_process(src, src->processes[i], now.ns);
	if (!grow_heap(src))
		return err_set(e, ERR_MEMORY, "no memory for %u rings", src->nstreams);
	/* records that there was no memory for are counted as lost, the others are good */
	if (source_merge(src, watermark_of(src, now.ns), &reached_ns, &short_of) != 0)
		source_trouble(src, &short_of);
	if (reached_ns > before_ns)
		src->watermark_ns = reached_ns;
	src->look.late += src->nlate;
	*ret = (struct source_take){
		.records = src->records, .nrecords = src->nrecords, .nlate = src->nlate,
		.losses = src->losses, .nlosses = src->nlosses, .watermark_ns = src->watermark_ns,
		.more = src->more && (src->nrecords > 0 || src->watermark_ns > before_ns),
	};
	return 0;
}

static void
show_processes(struct lttng_source *src)
{
	struct source_process *grown = realloc(src->shown, (src->nprocesses + 1) * sizeof *grown);

	src->nshown = 0;
	if (grown == NULL)
		return;
	src->shown = grown;
	for (uint32_t i = 0; i < src->nprocesses; i++) {
		const struct process *p = src->processes[i];
		if (p->live && p->trace.procname != NULL)
			src->shown[src->nshown++] = (struct source_process){ p->trace.procname, p->trace.vpid };
	}
}

static void
look_ring(struct source_look *l, const struct stream *s)
{
	if (s->ring.head == NULL)
		return;
	uint64_t consumed = ring_consumed(&s->ring), produced = ring_produced(&s->ring);
	double fill = produced > consumed ? (double)(produced - consumed) / (double)s->ring.bytes : 0;
	l->ring_bytes += (int64_t)s->ring.bytes;
	l->rings++;
	if (fill > l->fullest)
		l->fullest = fill > 1 ? 1 : fill;
}

static void
lttng_look(void *state, struct source_look *ret)
{
	struct lttng_source *src = state;

	show_processes(src);
	*ret = src->look;
	ret->fullest = 0;
	ret->ring_bytes = 0;
	ret->rings = 0;
	for (uint32_t i = 0; i < src->nprocesses; i++)
		for (uint32_t k = 0; src->processes[i]->live && k < src->processes[i]->nstreams; k++)
			look_ring(ret, src->processes[i]->streams[k]);
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
	free_spent(src);
	if (src->inotify >= 0)
		close(src->inotify);
	source_labels_release(&src->labels);
	arena_release(&src->arena);
	free(src->processes);
	free(src->heap);
	free(src->records);
	free(src->losses);
	free(src->shown);
	free(src->shm.path);
	free(src->output.path);
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

static char *
root_path(const char *dir)
{
	char *path = NULL;

	if (strlen(dir) > 3800 || asprintf(&path, "%s/ust/pid", dir) < 0)
		return NULL;
	return path;
}

int
source_lttng_open(struct source *ret, const char *output_dir, const char *shm_dir, const char *channel,
    const struct source_options *options, struct err *e)
{
	struct lttng_source *src;
	int rc;

	if (output_dir == NULL || shm_dir == NULL || channel == NULL || channel[0] == '\0' || strlen(channel) > 255)
		return err_set(e, ERR_INPUT, "a source needs an output folder, a shm folder and a channel");
	if ((src = calloc(1, sizeof *src)) == NULL)
		return err_set(e, ERR_MEMORY, "no memory for a source");
	src->inotify = -1;
	if (options != NULL)
		src->options = *options;
	set_defaults(&src->options);
	src->shm = (struct root){ root_path(shm_dir), -1 };
	src->output = (struct root){ root_path(output_dir), -1 };
	src->channel = strdup(channel);
	if (src->shm.path == NULL || src->output.path == NULL || src->channel == NULL ||
	    source_labels_init(&src->labels, src->options.labels_max) != 0) {
		rc = err_set(e, ERR_MEMORY, "no memory for a source, or a folder's name is too long");
		goto fail;
	}
	if ((src->inotify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) < 0) {
		rc = err_errno(e, "inotify (see fs.inotify.max_user_instances)");
		goto fail;
	}
	*ret = (struct source){ src, lttng_poll, lttng_look, lttng_labels, lttng_close };
	return 0;
fail:
	lttng_close(src);
	return rc;
}
