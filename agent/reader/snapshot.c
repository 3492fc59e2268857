/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE
#include "agent/reader/snapshot.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/ctf/ctf_trace.h"
#include "agent/reader/source_labels.h"
#include "agent/reader/traced_process.h"
#include "agent/system/process.h"
#include "base/arena.h"
#include "base/array.h"

enum { LABELS_MAX = 32768, NAME_BYTES = 256 };

struct found_record {
	struct record record; /* values in the snapshot's arena */
	uint32_t keep, order; /* order: in which it was read */
};

struct snapshot_keep {
	struct keep asked;
	uint32_t overwritten;
	uint64_t cut;
};

struct snapshot {
	char *folder; /* .../ust/pid */
	char *channel;
	struct snapshot_keep keeps[KEEPS_MAX];
	uint32_t nkeeps;
	const struct listed_users *users;

	char (*processes)[NAME_BYTES];
	uint32_t nprocesses, processes_cap, at; /* at: of the open one, plus 1 */
	struct ctf_trace trace;                 /* of the open process */
	bool open;
	DIR *rings; /* of the open process */

	struct source_labels labels;
	struct arena arena;
	struct found_record *records;
	uint32_t nrecords, records_cap;
	bool sorted;
	uint32_t nrings, unlisted;
	uint64_t undecoded, read, bytes;
	int64_t horizon_ns;
};

/* ---- files ---- */

/* Reads a whole file of at most `most` bytes into *ret. False: there is none, it is larger, or out of memory. */
static bool
read_file(const char *path, size_t most, struct buf *ret)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	struct stat st;
	uint8_t *room = NULL;

	if (fd < 0)
		return false;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (uint64_t)st.st_size <= most)
		room = buf_reserve(ret, (size_t)st.st_size + 1);
	while (room != NULL && ret->len < (size_t)st.st_size) {
		ssize_t n = read(fd, room + ret->len, (size_t)st.st_size - ret->len);

		if (n <= 0)
			break;
		ret->len += (size_t)n;
	}
	close(fd);
	return room != NULL;
}

/* Appends the names of folders in `path`. */
static int
list_folders(struct snapshot *s, const char *path, struct err *e)
{
	struct dirent *d;
	DIR *dir = opendir(path);

	if (dir == NULL && errno == ENOENT)
		return 0;
	if (dir == NULL)
		return err_errno(e, "%s", path);
	while ((d = readdir(dir)) != NULL && s->nprocesses < SNAPSHOT_PROCESSES_MAX) {
		if (d->d_name[0] == '.' || strlen(d->d_name) >= NAME_BYTES)
			continue;
		if (!array_reserve(s->processes, s->processes_cap, s->nprocesses + 1)) {
			closedir(dir);
			return err_set(e, ERR_MEMORY, "out of memory for a snapshot");
		}
		snprintf(s->processes[s->nprocesses++], NAME_BYTES, "%.255s", d->d_name);
	}
	closedir(dir);
	return 0;
}

/* The one folder that the tracer has made below that of the snapshot. */
static int
find_output(struct snapshot *s, const char *folder, struct err *e)
{
	struct dirent *d;
	DIR *dir = opendir(folder);

	if (dir == NULL)
		return err_errno(e, "%s", folder);
	while (s->folder == NULL && (d = readdir(dir)) != NULL)
		if (d->d_name[0] != '.' &&
		    asprintf(&s->folder, "%s/%s/ust/pid", folder, d->d_name) < 0)
			s->folder = NULL;
	closedir(dir);
	return s->folder != NULL ? 0 : err_set(e, ERR_INPUT, "%s: there is no snapshot", folder);
}

int
snapshot_open(struct snapshot **ret, const char *folder, const char *channel,
    const struct keep *keeps, uint32_t nkeeps, const struct listed_users *users, struct err *e)
{
	struct snapshot *s = calloc(1, sizeof *s);
	int rc;

	assert(nkeeps <= KEEPS_MAX);
	if (s == NULL || (s->channel = strdup(channel)) == NULL ||
	    source_labels_init(&s->labels, LABELS_MAX) != 0) {
		snapshot_close(s);
		return err_set(e, ERR_MEMORY, "out of memory for a snapshot");
	}
	s->users = users;
	s->nkeeps = nkeeps;
	for (uint32_t i = 0; i < nkeeps; i++)
		s->keeps[i].asked = keeps[i];
	if ((rc = find_output(s, folder, e)) != 0 || (rc = list_folders(s, s->folder, e)) != 0) {
		snapshot_close(s);
		return rc;
	}
	*ret = s;
	return 0;
}

static void
close_process(struct snapshot *s)
{
	if (s->rings != NULL)
		closedir(s->rings);
	s->rings = NULL;
	if (s->open)
		ctf_trace_release(&s->trace);
	s->open = false;
}

void
snapshot_close(struct snapshot *s)
{
	if (s == NULL)
		return;
	close_process(s);
	source_labels_release(&s->labels);
	arena_release(&s->arena);
	free(s->records);
	free(s->processes);
	free(s->folder);
	free(s->channel);
	free(s);
}

/* ---- one process ---- */

static bool
is_listed(const struct snapshot *s, const char *name)
{
	struct folder_name process;
	uint32_t user;

	return s->users == NULL || s->users->n == 0 ||
	       (folder_name_read(name, &process) && process_real_user((pid_t)process.pid, &user) &&
		   listed_users_have(s->users, user));
}

/* All of the metadata's text; what does not parse is left out, and the records that it describes are not decoded. */
static bool
read_metadata(struct snapshot *s, const char *process)
{
	struct buf raw = { 0 }, text = { 0 };
	size_t at = 0, used = 0, len, step;
	const char *piece;
	char path[PATH_MAX];
	int64_t took;
	bool ok;

	snprintf(path, sizeof path, "%.3000s/%s/metadata", s->folder, process);
	if ((ok = read_file(path, SNAPSHOT_METADATA_MAX, &raw)))
		while ((took = ctf_metadata_unwrap(
			    raw.data + at, raw.len - at, &piece, &len, NULL)) > 0) {
			buf_bytes(&text, piece, len);
			at += (size_t)took;
		}
	ok = ok && at == raw.len && !text.failed;
	while (used < text.len) {
		int rc = ctf_metadata(
		    &s->trace, (const char *)text.data + used, text.len - used, &step, NULL);

		used += step;
		ok = ok && rc == 0;
		if (step == 0 || rc == ERR_MEMORY)
			break;
	}
	buf_release(&raw);
	buf_release(&text);
	s->undecoded += !ok && s->trace.nstreams == 0; /* its rings are not read */
	return s->trace.nstreams > 0;
}

/* Opens the next process that has rings to read. False: there is none left. */
static bool
next_process(struct snapshot *s)
{
	char path[PATH_MAX];

	close_process(s);
	while (s->at < s->nprocesses) {
		const char *name = s->processes[s->at++];

		if (!is_listed(s, name)) {
			s->unlisted++;
			continue;
		}
		ctf_trace_init(&s->trace, SNAPSHOT_METADATA_MAX);
		s->open = true;
		snprintf(path, sizeof path, "%.3000s/%s", s->folder, name);
		/* A program without any record has no description of its streams. */
		if (read_metadata(s, name) && (s->rings = opendir(path)) != NULL)
			return true;
		s->undecoded += s->trace.nstreams > 0;
		close_process(s);
	}
	return false;
}

/* ---- records ---- */

static uint32_t
keep_of(const struct snapshot *s, uint64_t trace_id)
{
	for (uint32_t i = 0; i < s->nkeeps; i++)
		if (s->keeps[i].asked.trace_id == trace_id)
			return i;
	return UINT32_MAX;
}

/* As record_merge.c has it. */
static uint32_t
label_of(struct snapshot *s, struct ctf_event *event, const struct value *name)
{
	const char *service = s->trace.procname != NULL ? s->trace.procname : "unknown";
	bool named = event->kind != RECORD_POINT;

	if (event->label == UINT32_MAX)
		event->label = named ? source_labels_base(&s->labels, event->kind, service,
					   event->name, event->fields, event->nfields)
		                     : source_labels_get(&s->labels, event->kind, service,
					   event->name, event->fields, event->nfields);
	if (!named || event->label == UINT32_MAX)
		return event->label;
	return source_labels_named(&s->labels, event->label, event->kind,
	    name->type == VALUE_TEXT ? name->text : "", name->type == VALUE_TEXT ? name->len : 0,
	    event->fields, event->nfields);
}

/* Copies values with their texts, which point into the packet. NULL: out of memory. */
static struct value *
copy_values(struct arena *a, const struct value *from, uint32_t n)
{
	struct value *to = arena_copy(a, from, n * sizeof *to);

	for (uint32_t i = 0; to != NULL && i < n; i++)
		if (to[i].type == VALUE_TEXT &&
		    (to[i].text = arena_text(a, to[i].text, to[i].len)) == NULL)
			return NULL;
	return to;
}

static void
take(struct snapshot *s, struct ctf_event *event, struct record *r, const struct value *values)
{
	uint32_t k = keep_of(s, r->trace_id);
	struct found_record *f;

	if (k == UINT32_MAX)
		return;
	r->label = label_of(s, event, &values[CTF_NAME]);
	if (s->nrecords == SNAPSHOT_RECORDS_MAX || r->label == UINT32_MAX ||
	    !array_reserve(s->records, s->records_cap, s->nrecords + 1) ||
	    (r->values = copy_values(&s->arena, values, r->nvalues)) == NULL) {
		s->keeps[k].cut++;
		return;
	}
	f = &s->records[s->nrecords];
	*f = (struct found_record){ *r, k, s->nrecords };
	s->nrecords++;
}

/* Records of the time from..to were replaced in this ring; of which keeps is noted in `hit`. */
static void
note_lost(const struct snapshot *s, int64_t from_ns, int64_t to_ns, bool hit[KEEPS_MAX])
{
	for (uint32_t i = 0; i < s->nkeeps; i++)
		hit[i] |= from_ns < s->keeps[i].asked.to_ns && to_ns > s->keeps[i].asked.from_ns;
}

static void
take_packet(struct snapshot *s, struct ctf_packet *p)
{
	struct value values[CTF_SLOTS];
	struct record r;
	int rc;

	while ((rc = ctf_packet_next(p, NULL)) > 0) {
		memset(&r, 0, sizeof r);
		r.pid = s->trace.vpid;
		if ((rc = ctf_packet_take(p, &r, values, NULL)) != 0)
			break;
		s->read++;
		if (r.trace_id != 0)
			take(s, p->event, &r, values);
	}
	s->undecoded += rc < 0;
}

static uint64_t
word(const uint8_t *at)
{
	uint64_t v = 0;

	for (int i = 7; i >= 0; i--)
		v = v << 8 | at[i];
	return v;
}

/*
 * The packets of one ring. What was replaced:
 *
 *	everything before the first packet, unless that has number 0
 *	everything between two packets whose numbers are not successive, and of which the second reports discarded records
 */
static void
take_ring(struct snapshot *s, const uint8_t *data, size_t len)
{
	bool hit[KEEPS_MAX] = { false };
	uint64_t next = 0, discarded = 0;
	int64_t last_ns = INT64_MIN, since_ns = 0;
	struct ctf_packet p;
	size_t at = 0;

	while (at < len) {
		if (ctf_packet_open(&p, &s->trace, data + at, len - at, NULL) != 0) {
			s->undecoded++;
			note_lost(s, last_ns, INT64_MAX, hit);
			break;
		}
		if (p.seq != next || p.discarded != discarded) {
			note_lost(s, last_ns, p.begin_ns, hit);
			since_ns = p.begin_ns;
		}
		next = p.seq + 1;
		discarded = p.discarded;
		last_ns = p.end_ns;
		s->bytes += (uint64_t)(p.end - p.base);
		uint64_t step = word(data + at + p.stream->size_at) / 8;

		take_packet(s, &p);
		if (step == 0 || step > len - at)
			break;
		at += (size_t)step;
	}
	for (uint32_t i = 0; i < s->nkeeps; i++)
		s->keeps[i].overwritten += hit[i];
	if (since_ns > s->horizon_ns)
		s->horizon_ns = since_ns;
	s->nrings++;
}

static bool
is_ring(const struct snapshot *s, const char *file)
{
	size_t len = strlen(s->channel);

	return strncmp(file, s->channel, len) == 0 && file[len] == '_' && file[len + 1] != '\0' &&
	       strspn(file + len + 1, "0123456789") == strlen(file + len + 1);
}

bool
snapshot_step(struct snapshot *s)
{
	struct dirent *d;
	char path[PATH_MAX];
	struct buf b = { 0 };

	while (s->rings != NULL || next_process(s)) {
		while ((d = readdir(s->rings)) != NULL && !is_ring(s, d->d_name))
			;
		if (d == NULL) {
			close_process(s);
			continue;
		}
		snprintf(path, sizeof path, "%.3000s/%s/%.255s", s->folder, s->processes[s->at - 1],
		    d->d_name);
		if (read_file(path, SNAPSHOT_RING_MAX, &b))
			take_ring(s, b.data, b.len);
		else
			s->undecoded++;
		buf_release(&b);
		return true;
	}
	return false;
}

/* ---- answers ---- */

static int
by_time(const void *a, const void *b)
{
	const struct found_record *x = a, *y = b;

	if (x->record.time_ns != y->record.time_ns)
		return x->record.time_ns < y->record.time_ns ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

/* Appends the records of keep i to the batch, as many as fit. */
static void
write_records(struct snapshot *s, uint32_t i, struct batch_writer *w, uint32_t *numbers)
{
	for (uint32_t k = 0; k < s->nrecords; k++) {
		struct record r = s->records[k].record;
		const struct batch_label *l = &s->labels.labels[r.label];

		if (s->records[k].keep != i)
			continue;
		if (w->nrecords == KEPT_RECORDS_MAX ||
		    batch_size(w) > KEPT_BATCH_MAX - (LABEL_TEXT_MAX + VALUE_TEXT_MAX) * 64) {
			s->keeps[i].cut++;
			continue;
		}
		if (numbers[r.label] == 0)
			numbers[r.label] = 1 + batch_label(w, l->kind, l->text, l->len, l->fields,
						   l->nfields);
		r.label = numbers[r.label] - 1;
		batch_record(w, &r);
	}
}

int
snapshot_kept(struct snapshot *s, uint32_t i, struct kept *ret, struct buf *batch, struct err *e)
{
	uint32_t *numbers = calloc(s->labels.count + 1, sizeof *numbers);
	struct snapshot_keep *k = &s->keeps[i];
	struct batch_writer w = { 0 };
	int rc;

	assert(i < s->nkeeps);
	if (numbers == NULL)
		return err_set(e, ERR_MEMORY, "out of memory for kept records");
	if (s->nrecords > 1 && !s->sorted)
		qsort(s->records, s->nrecords, sizeof *s->records, by_time);
	s->sorted = true;
	batch_begin(&w);
	write_records(s, i, &w, numbers);
	rc = batch_end(&w, k->asked.to_ns, batch, e);
	batch_release(&w);
	free(numbers);
	*ret = (struct kept){ .number = k->asked.number,
		.trace_id = k->asked.trace_id,
		.result = KEPT_READ,
		.rings = s->nrings,
		.overwritten = k->overwritten,
		.unlisted = s->unlisted,
		.undecoded = s->undecoded,
		.cut = k->cut,
		.horizon_ns = s->horizon_ns,
		.batch = batch->data,
		.batch_len = batch->len };
	return rc;
}

void
snapshot_size(const struct snapshot *s, uint64_t *records, uint64_t *bytes)
{
	*records = s->read;
	*bytes = s->bytes;
}
