/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE
#include "agent/reader/traced_process.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "agent/reader/cpu_stream.h"
#include "agent/reader/lttng_source.h"
#include "agent/system/process.h"

enum {
	/* The metadata of a dead process is complete if it did not grow for this long. */
	SETTLED_MS = 300,
	/* Metadata that is still incomplete so long after the death remains incomplete. */
	GIVE_UP_S = 10,
	CPUS_MAX = 65536,
	READ_BYTES = 1 << 20
};

#define WEIGH_NS INT64_C(1000000000)

/* A consumer daemon that works has written a packet within this time, where there is something to read. */
#define DRAINS_NS INT64_C(1000000000)

bool
folder_name_read(const char *name, struct folder_name *ret)
{
	const char *at = name + strlen(name);
	char *end;

	for (int dashes = 0; dashes < 3; dashes++) {
		while (at > name && at[-1] != '-')
			at--;
		if (at-- == name)
			return false;
	}
	ret->pid = strtol(at + 1, &end, 10);
	snprintf(ret->comm, sizeof ret->comm, "%.*s", (int)(at - name), name);
	return ret->pid > 0 && *end == '-';
}

struct traced_process *
traced_process_new(
    struct lttng_source *src, struct session_folder *f, const char *name, bool live, int64_t now_ns)
{
	struct traced_process *p = calloc(1, sizeof *p);
	char path[4352];

	if (p == NULL || (p->name = strdup(name)) == NULL) {
		free(p);
		return NULL;
	}
	assert(f != NULL && name != NULL);
	p->folder = f;
	p->live = live;
	p->relist = true;
	p->watch = p->metadata_fd = -1;
	p->born_ns = now_ns;
	p->died_ns = live ? 0 : now_ns;
	ctf_trace_init(&p->trace, src->options.metadata_max_bytes);
	if (live) {
		snprintf(path, sizeof path, "%s/%s", p->folder->shm.path, name);
		p->watch = inotify_add_watch(src->inotify, path, IN_CREATE | IN_ONLYDIR);
	}
	return p;
}

static void note_quarantine(struct lttng_source *src);

void
traced_process_died(struct lttng_source *src, struct traced_process *p, int64_t now_ns)
{
	for (uint32_t i = 0; i < p->nstreams; i++)
		if (p->streams[i]->idle_at != 0)
			cpu_stream_wake(src, p->streams[i]);
	p->live = false;
	p->died_ns = now_ns;
	if (p->quarantine != QUARANTINE_NONE)
		note_quarantine(src);
	p->relist = true;
	src->changed = true;
}

void
traced_process_free(struct lttng_source *src, struct traced_process *p)
{
	for (uint32_t i = 0; i < p->nstreams; i++)
		cpu_stream_free(src, p->streams[i]);
	if (p->metadata_fd >= 0)
		close(p->metadata_fd);
	free(p->streams);
	free(p->name);
	buf_release(&p->text);
	ctf_trace_release(&p->trace);
	symbols_free(p->symbols);
	free(p);
}

/* The processor's number in a file name CHANNEL_CPU and suffix; -1: another name. */
static int
cpu_of(const char *file, const char *channel, const char *suffix)
{
	size_t len = strlen(channel);
	char *end;

	if (strncmp(file, channel, len) != 0 || file[len] != '_' || file[len + 1] < '0' ||
	    file[len + 1] > '9')
		return -1;
	unsigned long cpu = strtoul(file + len + 1, &end, 10);
	return strcmp(end, suffix) == 0 && cpu < CPUS_MAX ? (int)cpu : -1;
}

static struct cpu_stream *
find_stream(const struct traced_process *p, uint32_t cpu)
{
	for (uint32_t i = 0; i < p->nstreams; i++)
		if (p->streams[i]->cpu == cpu)
			return p->streams[i];
	return NULL;
}

static struct cpu_stream *
add_stream(struct lttng_source *src, struct traced_process *p, uint32_t cpu)
{
	struct cpu_stream *s = find_stream(p, cpu);

	if (s != NULL || (s = cpu_stream_new(p, cpu, src->watermark_ns, clock_mono().ns)) == NULL)
		return s;
	src->nstreams++;
	src->changed = true;
	return s;
}

/* A ring that is not initialised yet was not written to either; its process is listed again. */
static void
add_ring(
    struct lttng_source *src, struct traced_process *p, int dir, const char *file, uint32_t cpu)
{
	struct cpu_stream *s = find_stream(p, cpu);
	struct ring ring;
	struct err e;

	if (s != NULL && s->ring.head != NULL)
		return;
	if (p->quarantine != QUARANTINE_NONE) {
		add_stream(src, p, cpu);
		return;
	}
	int rc = ring_map(&ring, dir, file, &e);
	if (rc == ERR_MISSING) {
		p->relist = true;
		return;
	}
	if (rc != 0)
		trouble_set(&src->losses, &e);
	if ((s = add_stream(src, p, cpu)) == NULL)
		ring_unmap(&ring);
	else
		s->ring = ring;
	src->changed = true;
}

void
traced_process_list(struct lttng_source *src, struct traced_process *p)
{
	char path[4352];
	struct dirent *d;
	DIR *dir;

	p->relist = p->live && p->watch < 0;
	if (p->live)
		snprintf(path, sizeof path, "%s/%s", p->folder->shm.path, p->name);
	else
		snprintf(path, sizeof path, "%s/%s/index", p->folder->output.path, p->name);
	if ((dir = opendir(path)) == NULL)
		return;
	while ((d = readdir(dir)) != NULL) {
		int cpu = cpu_of(d->d_name, src->channel, p->live ? "" : ".idx");
		if (cpu >= 0 && p->live)
			add_ring(src, p, dirfd(dir), d->d_name, (uint32_t)cpu);
		else if (cpu >= 0)
			add_stream(src, p, (uint32_t)cpu);
	}
	closedir(dir);
}

static bool
open_metadata(struct traced_process *p)
{
	char path[4352];

	if (p->metadata_fd >= 0)
		return true;
	snprintf(path, sizeof path, "%s/%s/metadata",
	    p->live ? p->folder->shm.path : p->folder->output.path, p->name);
	p->metadata_fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	p->plain = p->live;
	return p->metadata_fd >= 0;
}

/* Metadata that Hone's decoder does not understand is most likely of another LTTng version. */
static void
report_unknown(struct lttng_source *src, const struct traced_process *p, const struct err *cause)
{
	struct err e;

	src->stats.unknown_format = true;
	err_set(&e, ERR_VERSION,
	    "%.31s, traced by %.31s %u.%u: Hone's own reader, made for LTTng-UST 2.13, does not "
	    "understand its metadata (%.120s); set agent.reader = babeltrace2 in hone-agent.conf",
	    p->trace.procname != NULL ? p->trace.procname : p->name,
	    p->trace.tracer != NULL ? p->trace.tracer : "an unknown tracer", p->trace.tracer_major,
	    p->trace.tracer_minor, cause->text);
	trouble_set(&src->losses, &e);
}

/* Parses all whole statements. Parsing continues after a malformed statement, so that only the
 * records that it describes are lost. */
static void
parse(
    struct lttng_source *src, struct traced_process *p, const char *text, size_t len, size_t *used)
{
	struct err e, unknown = { 0 };
	size_t step;
	int rc;

	*used = 0;
	while ((rc = ctf_metadata(&p->trace, text + *used, len - *used, &step, &e)) != 0) {
		if (rc == ERR_INPUT && unknown.code == 0)
			unknown = e;
		trouble_set(&src->losses, &e);
		*used += step;
		if (rc == ERR_MEMORY)
			p->broken = true;
		if (rc == ERR_MEMORY || step == 0)
			break;
	}
	*used += step;
	if (*used < len && p->trace.nstreams == 0 && strchr("\x1e{[", text[*used]) != NULL)
		err_set(&unknown, ERR_INPUT, "metadata of CTF 2");
	if (unknown.code != 0)
		report_unknown(src, p, &unknown);
}

static void
drop_front(struct buf *b, size_t n)
{
	memmove(b->data, b->data + n, b->len - n);
	b->len -= n;
}

/* Takes the text out of whole metadata packets at the start of raw, which is what the file has
 * from metadata_at on. */
static void
unwrap(struct lttng_source *src, struct traced_process *p, struct buf *raw)
{
	const char *text;
	struct err e;
	size_t at = 0, len;
	int64_t step;

	while ((step = ctf_metadata_unwrap(raw->data + at, raw->len - at, &text, &len, &e)) > 0) {
		buf_bytes(&p->text, text, len);
		at += (size_t)step;
	}
	if (step < 0) {
		trouble_set(&src->losses, &e);
		p->broken = true;
	}
	p->metadata_at -= raw->len - at; /* the incomplete packet is read again later */
}

static void
read_metadata(struct lttng_source *src, struct traced_process *p, uint64_t size)
{
	struct buf raw = { 0 }, *into = p->plain ? &p->text : &raw;
	size_t used;

	while (p->metadata_at < size && into->len < src->options.metadata_max_bytes) {
		size_t step = size - p->metadata_at < READ_BYTES ? (size_t)(size - p->metadata_at)
		                                                 : READ_BYTES;
		uint8_t *room = buf_reserve(into, step);
		ssize_t n = room == NULL ? -1
		                         : pread(p->metadata_fd, room, step, (off_t)p->metadata_at);
		if (n <= 0)
			break;
		into->len += (size_t)n;
		p->metadata_at += (uint64_t)n;
	}
	if (!p->plain)
		unwrap(src, p, &raw);
	buf_release(&raw);
	parse(src, p, (const char *)p->text.data, p->text.len, &used);
	drop_front(&p->text, used);
	if (p->text.len >= src->options.metadata_max_bytes)
		p->broken = true;
	if (p->text.len == 0)
		buf_release(&p->text);
}

/* Whether metadata may be read: the text in the shm folder always, a file only once it is complete.
 */
static bool
settled(const struct traced_process *p, const struct stat *st, bool last)
{
	struct timespec now;

	if (p->plain)
		return true;
	clock_gettime(CLOCK_REALTIME, &now);
	int64_t age_ms = (now.tv_sec - st->st_mtim.tv_sec) * 1000 +
	                 (now.tv_nsec - st->st_mtim.tv_nsec) / 1000000;
	return age_ms < 0 || age_ms >= SETTLED_MS || last;
}

void
traced_process_metadata(struct lttng_source *src, struct traced_process *p, int64_t now_ns)
{
	bool had_name = p->trace.procname != NULL;
	bool last = !p->live && now_ns - p->died_ns > GIVE_UP_S * INT64_C(1000000000);
	struct stat st;

	if (p->broken)
		return;
	if (open_metadata(p) && fstat(p->metadata_fd, &st) == 0 && settled(p, &st, last) &&
	    (uint64_t)st.st_size > p->metadata_at)
		read_metadata(src, p, (uint64_t)st.st_size);
	if (!had_name && p->trace.procname != NULL) {
		p->outside = src->options.wants_outside != NULL &&
		             src->options.wants_outside(src->options.of, p->trace.procname);
		src->changed = true;
	}
	if (last && p->trace.nstreams == 0)
		p->broken = true;
}

/* ---- quarantine ---- */

void
traced_process_judge_user(const struct lttng_source *src, struct traced_process *p)
{
	const struct listed_users *listed = src->options.users;
	struct folder_name name;
	uint32_t user;

	if (listed == NULL || listed->n == 0)
		return;
	if (!p->live || !folder_name_read(p->name, &name) ||
	    !process_real_user((pid_t)name.pid, &user) || !listed_users_have(listed, user))
		p->quarantine = QUARANTINE_USER;
}

/* Any packet shows that the consumer daemon works; else it may hang if another ring is stalled. */
static bool
consumer_drains(const struct lttng_source *src, const struct traced_process *p, int64_t now_ns)
{
	if (src->packet_ns > 0 && now_ns - src->packet_ns < DRAINS_NS)
		return true;
	for (uint32_t i = 0; i < src->nprocesses; i++) {
		const struct traced_process *other = src->processes[i];
		if (strcmp(other->name, p->name) == 0)
			continue;
		for (uint32_t k = 0; k < other->nstreams; k++)
			if (other->quarantine == QUARANTINE_NONE && other->streams[k]->stalled)
				return false;
	}
	return true;
}

/* Sets stats.quarantined to the live process that was put into quarantine last, or to none. */
static void
note_quarantine(struct lttng_source *src)
{
	struct source_quarantined *q = &src->stats.quarantined;
	const struct traced_process *p = NULL;
	const char *comm;

	for (uint32_t i = 0; i < src->nprocesses; i++) {
		const struct traced_process *other = src->processes[i];
		if (other->live && other->quarantine != QUARANTINE_NONE &&
		    other->quarantine != QUARANTINE_USER &&
		    (p == NULL || other->suspicion.looked_ns > p->suspicion.looked_ns))
			p = other;
	}
	*q = (struct source_quarantined){ 0 };
	if (p == NULL)
		return;
	comm = p->trace.procname != NULL ? p->trace.procname : p->name;

	snprintf(src->quarantined, sizeof src->quarantined, "%s", comm);
	*q = (struct source_quarantined){ src->quarantined, (uint32_t)p->trace.vpid, UINT32_MAX,
		p->quarantine };
	if (!process_user((pid_t)p->trace.vpid, comm, &q->user))
		q->user = UINT32_MAX;
}

static void
quarantine_one(
    struct lttng_source *src, struct traced_process *p, enum quarantine why, int64_t now_ns)
{
	if (p->quarantine != QUARANTINE_NONE)
		return;
	p->quarantine = why;
	losses_add(&src->losses, LOSS_RING, 1, src->watermark_ns, now_ns);
	traced_process_discard(src, p);
	src->changed = true;
}

/* The process in all sessions. */
static void
quarantine_all(
    struct lttng_source *src, struct traced_process *p, enum quarantine why, int64_t now_ns)
{
	if (p->quarantine != QUARANTINE_NONE)
		return;
	for (uint32_t i = 0; i < src->nprocesses; i++)
		if (strcmp(src->processes[i]->name, p->name) == 0)
			quarantine_one(src, src->processes[i], why, now_ns);
	note_quarantine(src);
	src->stats.quarantines++;
}

void
traced_process_discard(struct lttng_source *src, struct traced_process *p)
{
	if (p->relist)
		traced_process_list(src, p);
	p->relist = false;
	for (uint32_t i = 0; i < p->nstreams; i++)
		cpu_stream_discard(src, p->streams[i]);
}

void
traced_process_look(struct lttng_source *src, struct traced_process *p, int64_t now_ns)
{
	struct ring_looks looks = { 0 };
	enum quarantine why;

	for (uint32_t i = 0; i < p->nstreams; i++)
		if (p->streams[i]->idle_at == 0)
			cpu_stream_look(p->streams[i], &looks);
	looks.drains = !looks.stuck || consumer_drains(src, p, now_ns);
	why = quarantine_decide(&p->suspicion, &looks, now_ns);
	if (why != QUARANTINE_NONE)
		quarantine_all(src, p, why, now_ns);
}

static uint32_t
writers_of(struct lttng_source *src, bool told, struct writer *list)
{
	struct folder_name name;
	uint32_t n = 0;

	for (uint32_t i = 0; i < src->nprocesses; i++) {
		struct traced_process *p = src->processes[i];
		struct writer w = { p, UINT32_MAX, p->records - p->looked_records, false };

		p->looked_records = p->records;
		if (!told || w.records == 0 || p->outside || p->quarantine != QUARANTINE_NONE)
			continue;
		if (folder_name_read(p->name, &name))
			process_real_user((pid_t)name.pid, &w.user);
		list[n++] = w;
	}
	return n;
}

void
traced_processes_weigh(struct lttng_source *src, int64_t now_ns)
{
	bool told = src->options.overrun != NULL && *src->options.overrun;
	struct writer *list;
	uint32_t n;

	if (now_ns - src->overrun.looked_ns < WEIGH_NS ||
	    (list = calloc(src->nprocesses + 1, sizeof *list)) == NULL)
		return;
	n = writers_of(src, told, list);
	overrun_decide(&src->overrun, told, list, n, now_ns);
	for (uint32_t i = 0; i < n; i++)
		if (list[i].ended)
			quarantine_all(src, list[i].of, QUARANTINE_OVERRUN, now_ns);
	free(list);
}

/* Removes only files that LTTng writes; any other file stays, and with it the folder. */
static void
remove_files(int at, const char *folder, const char *channel, const char *suffix)
{
	int fd = openat(at, folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *d;

	if (dir == NULL) {
		if (fd >= 0)
			close(fd);
		return;
	}
	while ((d = readdir(dir)) != NULL)
		if (cpu_of(d->d_name, channel, suffix) >= 0 || strcmp(d->d_name, "metadata") == 0)
			unlinkat(fd, d->d_name, 0);
	closedir(dir);
}

void
traced_process_remove_folder(struct lttng_source *src, const struct traced_process *p)
{
	int root = open(p->folder->output.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char index[512];

	if (root < 0)
		return;
	snprintf(index, sizeof index, "%s/index", p->name);
	remove_files(root, index, src->channel, ".idx");
	unlinkat(root, index, AT_REMOVEDIR);
	remove_files(root, p->name, src->channel, "");
	unlinkat(root, p->name, AT_REMOVEDIR);
	close(root);
}
