/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The source of LTTng records through libbabeltrace2, for LTTng versions that Hone's own decoder
 * does not understand. It is a shared object, which sources.c loads.
 *
 * libbabeltrace2 reads complete traces, not files that grow. So every READ_EVERY_NS this source
 *
 *  1. reads the new entries of all packet indexes below FOLDER/N/out (any buffering domain:
 *     ust/pid, ust/uid, kernel);
 *  2. copies these packets and the metadata of one trace at a time to a folder of their own, and
 *     runs a graph over it;
 *  3. keeps the records until the watermark passes them.
 *
 *	out/ust/pid/NAME/metadata, CHANNEL_CPU, index/CHANNEL_CPU.idx
 *	shm/ust/pid/NAME/metadata (newer, as text, while the process lives)
 *		--copy--> FOLDER/babeltrace2-XXXXXX/
 *
 * Limits, compared with source_lttng.h:
 *  - The rings' state is not used: a record is assumed to be in the files SETTLE_NS after its time,
 *    so the watermark is that much behind, and with a stalled daemon or process records are late.
 *    The fill of the rings is reported only if ring.h understands their layout.
 *  - Packet indexes must be of version 1.1 (LTTng 2.8 and later write it), times in nanoseconds.
 *  - Processes that share buffers (ust/uid) are not listed; their service needs the context procname.
 *  - A lock's address is not replaced by its name, and processes that run untraced are not
 *    reported.
 *  - Cost: in each round, a child process and a graph for each trace with new packets: some ms, and
 *    some us a record. poll() waits for each child, one after another, 20 s for each that hangs. A
 *    child that hangs for longer than agent.hang makes the guardian end the node's sessions.
 */
#define _GNU_SOURCE
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
#include "agent/ctf/ctf_lex.h"
#include "agent/reader/packets_babeltrace2.h"
#include "agent/reader/record_list.h"
#include "agent/reader/ring.h"
#include "agent/reader/source.h"
#include "agent/reader/source_labels.h"
#include "agent/reader/source_losses.h"
#include "base/array.h"

#define MS INT64_C(1000000)
#define READ_EVERY_NS (200 * MS)
#define SETTLE_NS (1500 * MS) /* the switch timer is at most 1 s */
#define RETIRE_NS (2000 * MS) /* from the death of a process to the removal of its folder */
#define RETRY_NS (3000 * MS)  /* metadata may be behind the packets for this long */

enum { DEPTH_MAX = 6 };

struct packet_file { /* one stream of a trace */
	char *name;
	int data_fd, index_fd;
	uint32_t entry_bytes; /* of the index; 0: its head has not been read */
	uint64_t index_at, data_at;
	uint64_t next_seq, discarded;
	int64_t last_end_ns;
	struct ring ring;
	struct ctf_index *unread; /* packets that the index has announced, by time */
	uint32_t nunread, unread_cap;
	uint32_t nchosen; /* how many of them are in the copy */
};

struct ctf_folder {         /* a folder with metadata */
	char *output, *shm; /* paths */
	char service[64];   /* of the folder's name, then of the last record */
	uint32_t pid;       /* 0: processes share the buffers */
	bool seen, live, finished, outside;
	int64_t died_ns, failing_ns; /* 0: not so */
	struct packet_file *files;
	uint32_t nfiles, files_cap;
};

struct babeltrace2_source {
	struct source_options options;
	char *folder, *copy; /* copy: where the packets of one trace are put for libbabeltrace2 */
	struct packet_reader *reader;
	struct ctf_folder **traces;
	uint32_t ntraces, traces_cap;
	struct ctf_folder *current; /* whose records are being read */

	struct source_labels labels;
	struct record_list records, scratch; /* sorted; from `at` on not delivered */
	uint32_t at;
	struct arena arena[2]; /* values of records; turn: of the present ones */
	int turn;
	struct source_losses losses;
	int64_t read_ns, watermark_ns;
	struct source_stats stats;
	struct source_process *processes;
	uint32_t nprocesses, processes_cap;
};

/* ---- traces and their files ---- */

static void
trace_free(struct ctf_folder *t)
{
	for (uint32_t i = 0; i < t->nfiles; i++) {
		struct packet_file *f = &t->files[i];
		if (f->data_fd >= 0)
			close(f->data_fd);
		if (f->index_fd >= 0)
			close(f->index_fd);
		ring_unmap(&f->ring);
		free(f->unread);
		free(f->name);
	}
	free(t->files);
	free(t->output);
	free(t->shm);
	free(t);
}

/* From the folder's name, "comm-PID-DATE-TIME" in ust/pid. */
static void
name_trace(struct ctf_folder *t)
{
	const char *name = strrchr(t->output, '/') + 1, *at = name + strlen(name);

	for (int dashes = 0; dashes < 3 && at > name; dashes++)
		while (at > name && *--at != '-')
			;
	if (at == name)
		return;
	t->pid = (uint32_t)strtoul(at + 1, NULL, 10);
	snprintf(t->service, sizeof t->service, "%.*s", (int)(at - name), name);
}

static void
found_trace(struct babeltrace2_source *src, const char *output, const char *shm)
{
	struct ctf_folder *t;

	for (uint32_t i = 0; i < src->ntraces; i++)
		if (strcmp(src->traces[i]->output, output) == 0) {
			src->traces[i]->seen = true;
			return;
		}
	if (!array_reserve(src->traces, src->traces_cap, src->ntraces + 1) ||
	    (t = calloc(1, sizeof *t)) == NULL)
		return;
	t->output = strdup(output);
	t->shm = strdup(shm);
	if (t->output == NULL || t->shm == NULL) {
		trace_free(t);
		return;
	}
	t->seen = t->live = true;
	name_trace(t);
	t->outside = src->options.wants_outside != NULL && t->service[0] != '\0' &&
	             src->options.wants_outside(src->options.of, t->service);
	src->traces[src->ntraces++] = t;
	src->stats.changes++;
}

/* Finds all folders with metadata at or below `output`; those below `shm` lie like them. */
static void
find_traces(struct babeltrace2_source *src, const char *output, const char *shm, int depth)
{
	char path[PATH_MAX], other[PATH_MAX];
	struct dirent *d;
	DIR *dir;

	if (snprintf(path, sizeof path, "%s/metadata", output) < PATH_MAX &&
	    access(path, F_OK) == 0) {
		found_trace(src, output, shm);
		return;
	}
	if (depth == DEPTH_MAX || (dir = opendir(output)) == NULL)
		return;
	while ((d = readdir(dir)) != NULL)
		if (d->d_name[0] != '.' && d->d_type != DT_REG &&
		    snprintf(path, sizeof path, "%s/%s", output, d->d_name) < PATH_MAX &&
		    snprintf(other, sizeof other, "%s/%s", shm, d->d_name) < PATH_MAX)
			find_traces(src, path, other, depth + 1);
	closedir(dir);
}

static void
list_traces(struct babeltrace2_source *src, int64_t now_ns)
{
	DIR *dir = opendir(src->folder);
	char output[PATH_MAX], shm[PATH_MAX];
	struct dirent *d;

	for (uint32_t i = 0; i < src->ntraces; i++)
		src->traces[i]->seen = false;
	while (dir != NULL && (d = readdir(dir)) != NULL)
		if (strspn(d->d_name, "0123456789") == strlen(d->d_name) &&
		    snprintf(output, sizeof output, "%s/%s/out", src->folder, d->d_name) <
			PATH_MAX &&
		    snprintf(shm, sizeof shm, "%s/%s/shm", src->folder, d->d_name) < PATH_MAX)
			find_traces(src, output, shm, 0);
	if (dir != NULL)
		closedir(dir);
	for (uint32_t i = 0; i < src->ntraces; i++) {
		struct ctf_folder *t = src->traces[i];
		if (t->live && (!t->seen || access(t->shm, F_OK) != 0)) {
			t->live = false;
			t->died_ns = now_ns;
			src->stats.changes++;
		}
	}
}

/* The stream files that an index names; the ring of each, if its layout is known. */
static void
list_files(struct ctf_folder *t)
{
	char path[PATH_MAX];
	struct dirent *d;
	DIR *dir;

	snprintf(path, sizeof path, "%.4000s/index", t->output);
	if ((dir = opendir(path)) == NULL)
		return;
	while ((d = readdir(dir)) != NULL) {
		size_t len = strlen(d->d_name);
		uint32_t i = 0;
		int shm;

		if (len <= 4 || strcmp(d->d_name + len - 4, ".idx") != 0)
			continue;
		while (i < t->nfiles && (strlen(t->files[i].name) != len - 4 ||
					    memcmp(t->files[i].name, d->d_name, len - 4) != 0))
			i++;
		if (i < t->nfiles || !array_reserve(t->files, t->files_cap, t->nfiles + 1))
			continue;
		t->files[i] = (struct packet_file){
			.name = strndup(d->d_name, len - 4), .data_fd = -1, .index_fd = -1
		};
		if (t->files[i].name == NULL)
			continue;
		t->nfiles++;
		if ((shm = open(t->shm, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) >= 0) {
			ring_map(&t->files[i].ring, shm, t->files[i].name, NULL);
			close(shm);
		}
	}
	closedir(dir);
}

/* ---- packet indexes ---- */

static bool
open_files(struct babeltrace2_source *src, const struct ctf_folder *t, struct packet_file *f)
{
	uint8_t head[CTF_INDEX_HEAD];
	char path[PATH_MAX];
	struct err e;
	int bytes;

	if (f->entry_bytes != 0)
		return true;
	if (f->data_fd < 0) {
		snprintf(path, sizeof path, "%.3800s/%.255s", t->output, f->name);
		/* opened for writing only to punch holes */
		f->data_fd = open(path, (src->options.keep ? O_RDONLY : O_RDWR) | O_CLOEXEC);
	}
	if (f->index_fd < 0) {
		snprintf(path, sizeof path, "%.3800s/index/%.255s.idx", t->output, f->name);
		f->index_fd = open(path, O_RDONLY | O_CLOEXEC);
	}
	if (f->data_fd < 0 || f->index_fd < 0 ||
	    pread(f->index_fd, head, sizeof head, 0) != sizeof head)
		return false;
	if ((bytes = ctf_index_head(head, &e)) < 0) {
		trouble_set(&src->losses, &e);
		return false;
	}
	f->entry_bytes = (uint32_t)bytes;
	f->index_at = sizeof head;
	return true;
}

/* Losses before the packet of an index entry: by its counter, and by gaps in the numbers. */
static void
report_losses(struct babeltrace2_source *src, struct packet_file *f, const struct ctf_index *index)
{
	int64_t from_ns = f->last_end_ns != 0 ? f->last_end_ns : (int64_t)index->begin_ns;

	if (index->seq > f->next_seq && index->seq - f->next_seq < 1 << 20)
		losses_add(&src->losses, LOSS_RING, index->seq - f->next_seq, from_ns,
		    (int64_t)index->end_ns);
	f->next_seq = index->seq + 1;
	if (index->discarded > f->discarded && index->discarded - f->discarded < UINT64_C(1)
										     << 48) {
		losses_add(&src->losses, LOSS_RING, index->discarded - f->discarded, from_ns,
		    (int64_t)index->end_ns);
		f->discarded = index->discarded;
	}
	f->last_end_ns = (int64_t)index->end_ns;
}

static void
read_index(struct babeltrace2_source *src, struct ctf_folder *t, struct packet_file *f)
{
	uint8_t entry[CTF_INDEX_ENTRY];
	struct ctf_index index;
	struct err e;

	if (!open_files(src, t, f))
		return;
	while (pread(f->index_fd, entry, sizeof entry, (off_t)f->index_at) == sizeof entry) {
		if (ctf_index_entry(&index, entry, &e) != 0 ||
		    index.packet_bytes > src->options.packet_max_bytes) {
			err_set(&e, ERR_INPUT, "%.200s: an invalid index entry", f->name);
			trouble_set(&src->losses, &e);
			losses_add(&src->losses, LOSS_DECODE, 1, f->last_end_ns, f->last_end_ns);
		} else {
			if (!array_reserve(f->unread, f->unread_cap, f->nunread + 1))
				return;
			report_losses(src, f, &index);
			src->stats.packets++;
			src->stats.bytes += index.packet_bytes;
			f->unread[f->nunread++] = index;
		}
		f->index_at += f->entry_bytes;
	}
}

/* ---- one trace's packets, copied and read ---- */

/* The whole of a file; the caller frees it. NULL: it cannot be read. */
static char *
read_file(const char *path, size_t max_bytes, size_t *len)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	struct stat st;
	char *data = NULL;

	if (fd >= 0 && fstat(fd, &st) == 0 && (size_t)st.st_size <= max_bytes &&
	    (data = malloc((size_t)st.st_size + 1)) != NULL) {
		ssize_t n = pread(fd, data, (size_t)st.st_size, 0);
		*len = n > 0 ? (size_t)n : 0;
	}
	if (fd >= 0)
		close(fd);
	return data;
}

static bool
write_copy(
    const struct babeltrace2_source *src, const char *name, const void *data, size_t len, int flags)
{
	char path[PATH_MAX];
	bool ok;
	int fd;

	snprintf(path, sizeof path, "%.3800s/%.255s", src->copy, name);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0600);
	ok = fd >= 0 && write(fd, data, len) == (ssize_t)len;
	if (fd >= 0)
		close(fd);
	return ok;
}

/* Copies the metadata as it is now. *events: it describes an event; while it does not, no record was
 * written, and libbabeltrace2 2.0.4 aborts. The text in the shm folder may end within a statement, which describes
 * no record that was written yet: it is cut there. */
static bool
copy_metadata(const struct babeltrace2_source *src, const struct ctf_folder *t, bool *events)
{
	char path[PATH_MAX], *text;
	size_t len = 0, whole = 0, step;
	bool ok;

	snprintf(path, sizeof path, "%.4000s/metadata", t->shm);
	text = read_file(path, src->options.metadata_max_bytes, &len);
	if (text != NULL && len > 0 && text[0] == '/') {
		while ((step = ctf_lex_statement(text + whole, len - whole)) > 0)
			whole += step;
		len = whole;
		if (len < src->options.metadata_max_bytes)
			text[len++] = '\n';
	} else {
		free(text);
		snprintf(path, sizeof path, "%.4000s/metadata", t->output);
		text = read_file(path, src->options.metadata_max_bytes, &len);
	}
	*events = text != NULL && (memmem(text, len, "event {", 7) != NULL ||
				      memmem(text, len, "event-record-class", 18) != NULL);
	ok = text != NULL && len > 0 && write_copy(src, "metadata", text, len, O_TRUNC);
	free(text);
	return ok;
}

static bool
copy_packet(const struct babeltrace2_source *src, const struct packet_file *f,
    const struct ctf_index *index)
{
	uint8_t *data = malloc(index->packet_bytes);
	bool ok = data != NULL && pread(f->data_fd, data, index->packet_bytes,
				      (off_t)index->offset) == (ssize_t)index->packet_bytes;

	ok = ok && write_copy(src, f->name, data, index->packet_bytes, O_APPEND);
	free(data);
	return ok;
}

static void
clear_copy(const struct babeltrace2_source *src, const struct ctf_folder *t)
{
	char path[PATH_MAX];

	for (uint32_t i = 0; i < t->nfiles; i++) {
		snprintf(path, sizeof path, "%.3800s/%.255s", src->copy, t->files[i].name);
		unlink(path);
	}
}

static int
take_record(void *ctx, const struct packet_record *v)
{
	struct babeltrace2_source *src = ctx;
	struct ctf_folder *t = src->current;
	struct record r = v->record;

	if (v->service[0] != '\0' &&
	    (strcmp(t->service, v->service) != 0 || (t->pid != 0 && t->pid != r.pid))) {
		snprintf(t->service, sizeof t->service, "%s", v->service);
		t->outside = src->options.wants_outside != NULL &&
		             src->options.wants_outside(src->options.of, t->service);
		if (t->pid != 0) {
			t->pid = r.pid;
			src->stats.changes++;
		}
	}
	if (r.trace_id == 0 && !src->options.outside && !t->outside) {
		src->stats.outside_dropped++;
		return 0;
	}
	const char *service = t->service[0] != '\0' ? t->service : "unknown";
	if (v->kind == RECORD_POINT) {
		r.label = source_labels_get(
		    &src->labels, v->kind, service, v->event, v->fields, v->nfields);
	} else {
		uint32_t base = source_labels_base(
		    &src->labels, v->kind, service, v->event, v->fields, v->nfields);
		r.label = base == UINT32_MAX ? base
		                             : source_labels_named(&src->labels, base, v->kind,
						   v->name.type == VALUE_TEXT ? v->name.text : "",
						   v->name.type == VALUE_TEXT ? v->name.len : 0,
						   v->fields, v->nfields);
	}
	if (r.label == UINT32_MAX || !record_list_copy(&src->records, &src->arena[src->turn], &r))
		losses_add(&src->losses, LOSS_DECODE, 1, r.time_ns, r.time_ns);
	return 0;
}

static void
punch(const struct babeltrace2_source *src, struct packet_file *f, uint64_t to)
{
	to -= to % 4096;
	if (src->options.keep || to <= f->data_at)
		return;
	fallocate(f->data_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)f->data_at,
	    (off_t)(to - f->data_at));
	f->data_at = to;
}

/* Removes the packets that were read, or given up, from the lists. */
static void
consume(const struct babeltrace2_source *src, struct ctf_folder *t)
{
	for (uint32_t i = 0; i < t->nfiles; i++) {
		struct packet_file *f = &t->files[i];
		if (f->nchosen == 0)
			continue;
		punch(src, f,
		    f->unread[f->nchosen - 1].offset + f->unread[f->nchosen - 1].packet_bytes);
		f->nunread -= f->nchosen;
		memmove(f->unread, f->unread + f->nchosen, f->nunread * sizeof *f->unread);
		f->nchosen = 0;
	}
}

/*
 * Reads the chosen packets of a trace. If libbabeltrace2 fails, the metadata may not be complete
 * yet: the packets stay, and are tried again for RETRY_NS; then they are lost.
 */
static void
read_trace(struct babeltrace2_source *src, struct ctf_folder *t, int64_t now_ns)
{
	uint32_t before = src->records.count;
	bool any = false, events = true;
	struct err e;
	int rc = 0;

	for (uint32_t i = 0; i < t->nfiles && rc == 0; i++)
		for (uint32_t k = 0; k < t->files[i].nchosen && rc == 0; k++) {
			any = true;
			if (!copy_packet(src, &t->files[i], &t->files[i].unread[k]))
				rc = err_errno(&e, "%.100s: a packet", t->files[i].name);
		}
	if (!any)
		return;
	src->current = t;
	if (rc == 0 && !copy_metadata(src, t, &events))
		rc = err_set(&e, ERR_INPUT, "%.200s: no metadata", t->output);
	if (rc == 0 && !events && !t->live)
		rc = err_set(&e, ERR_INPUT, "%.200s: incomplete metadata", t->output);
	if (rc == 0 && events)
		rc = packet_reader_run(src->reader, src->copy, take_record, src, &e);
	clear_copy(src, t);
	if (rc == 0) {
		t->failing_ns = 0;
		consume(src, t);
		return;
	}
	if (events)
		trouble_set(&src->losses, &e);
	if (t->failing_ns == 0)
		t->failing_ns = now_ns;
	if (now_ns - t->failing_ns < RETRY_NS) {
		src->records.count = before;
		for (uint32_t i = 0; i < t->nfiles; i++)
			t->files[i].nchosen = 0;
		return;
	}
	for (uint32_t i = 0; events && i < t->nfiles; i++)
		for (uint32_t k = 0; k < t->files[i].nchosen; k++)
			losses_add(&src->losses, LOSS_DECODE, 1,
			    (int64_t)t->files[i].unread[k].begin_ns,
			    (int64_t)t->files[i].unread[k].end_ns);
	consume(src, t);
}

/* Chooses the oldest unread packets, at least one, as many as memory permits. */
static void
choose_packets(struct babeltrace2_source *src)
{
	size_t held = src->arena[src->turn].total_bytes;

	for (bool first = true;; first = false) {
		struct packet_file *oldest = NULL;

		for (uint32_t i = 0; i < src->ntraces; i++)
			for (uint32_t k = 0; k < src->traces[i]->nfiles; k++) {
				struct packet_file *f = &src->traces[i]->files[k];
				if (f->nchosen < f->nunread &&
				    (oldest == NULL ||
					f->unread[f->nchosen].begin_ns <
					    oldest->unread[oldest->nchosen].begin_ns))
					oldest = f;
			}
		if (oldest == NULL || (!first && held >= src->options.memory_bytes))
			return;
		/* decoded records take several times the space of the packet */
		held += 4 * oldest->unread[oldest->nchosen++].content_bytes;
	}
}

/* Removes the files of a trace that LTTng wrote, and its folder if it is empty then. */
static void
remove_trace(const struct ctf_folder *t)
{
	char path[PATH_MAX];

	for (uint32_t i = 0; i < t->nfiles; i++) {
		snprintf(
		    path, sizeof path, "%.3800s/index/%.200s.idx", t->output, t->files[i].name);
		unlink(path);
		snprintf(path, sizeof path, "%.3800s/%.255s", t->output, t->files[i].name);
		unlink(path);
	}
	snprintf(path, sizeof path, "%.4000s/index", t->output);
	rmdir(path);
	snprintf(path, sizeof path, "%.4000s/metadata", t->output);
	unlink(path);
	rmdir(t->output);
}

/* Frees traces whose process is dead and of which everything was read. */
static void
retire(struct babeltrace2_source *src, int64_t now_ns)
{
	for (uint32_t i = 0; i < src->ntraces; i++) {
		struct ctf_folder *t = src->traces[i];
		bool unread = false;

		for (uint32_t k = 0; k < t->nfiles; k++)
			unread |= t->files[k].nunread > 0;
		if (t->live || unread || now_ns - t->died_ns < RETIRE_NS)
			continue;
		if (t->seen && src->options.keep)
			continue;
		if (t->seen)
			remove_trace(t);
		trace_free(t);
		src->traces[i--] = src->traces[--src->ntraces];
	}
}

/* One round: steps 1 to 3 of the head of this file. */
static void
read_round(struct babeltrace2_source *src, int64_t now_ns)
{
	struct record_list old = src->records;

	list_traces(src, now_ns);
	for (uint32_t i = 0; i < src->ntraces; i++) {
		list_files(src->traces[i]);
		for (uint32_t k = 0; k < src->traces[i]->nfiles; k++)
			read_index(src, src->traces[i], &src->traces[i]->files[k]);
	}
	src->turn = !src->turn;
	arena_release(&src->arena[src->turn]);
	src->records = (struct record_list){ 0 };
	for (uint32_t i = src->at; i < old.count; i++)
		if (!record_list_copy(&src->records, &src->arena[src->turn], &old.list[i]))
			losses_add(
			    &src->losses, LOSS_QUEUE, 1, old.list[i].time_ns, old.list[i].time_ns);
	record_list_release(&old);
	src->at = 0;
	choose_packets(src);
	for (uint32_t i = 0; i < src->ntraces; i++)
		read_trace(src, src->traces[i], now_ns);
	if (!record_list_sort(&src->records, &src->scratch)) {
		losses_add(&src->losses, LOSS_QUEUE, src->records.count, src->watermark_ns, now_ns);
		src->records.count = 0;
	}
	retire(src, now_ns);
	src->read_ns = now_ns;
}

/* ---- the interface ---- */

/* All records that were in files at read_ns are in the list, but those of unread packets. */
static int64_t
watermark_of(const struct babeltrace2_source *src)
{
	int64_t least = src->read_ns - SETTLE_NS;

	for (uint32_t i = 0; i < src->ntraces; i++)
		for (uint32_t k = 0; k < src->traces[i]->nfiles; k++) {
			const struct packet_file *f = &src->traces[i]->files[k];
			if (f->nunread > 0 && (int64_t)f->unread[0].begin_ns - 1 < least)
				least = (int64_t)f->unread[0].begin_ns - 1;
		}
	return least > src->watermark_ns ? least : src->watermark_ns;
}

static int
babeltrace2_poll(void *state, struct mono now, struct source_output *ret, struct err *e)
{
	struct babeltrace2_source *src = state;
	int64_t before_ns = src->watermark_ns, watermark_ns;
	uint32_t n = 0, late = 0;
	const struct record *first;
	(void)e;

	losses_begin(&src->losses);
	if (now.ns - src->read_ns >= READ_EVERY_NS || src->read_ns == 0)
		read_round(src, now.ns);
	watermark_ns = watermark_of(src);
	first = src->records.list + src->at;
	while (n < src->options.records_max && src->at + n < src->records.count &&
	       first[n].time_ns <= watermark_ns)
		n++;
	if (src->at + n < src->records.count && first[n].time_ns <= watermark_ns) {
		ret->more = true;
		watermark_ns = first[n].time_ns - 1 > before_ns ? first[n].time_ns - 1 : before_ns;
	} else {
		ret->more = false;
	}
	while (late < n && first[late].time_ns <= before_ns)
		late++;
	src->at += n;
	src->watermark_ns = watermark_ns;
	src->stats.records += n;
	src->stats.late += late;
	ret->records = first;
	ret->nrecords = n;
	ret->nlate = late;
	ret->losses = src->losses.list;
	ret->nlosses = src->losses.count;
	ret->watermark_ns = watermark_ns;
	return 0;
}

static void
babeltrace2_stats(void *state, struct source_stats *ret)
{
	struct babeltrace2_source *src = state;
	int64_t waiting = 0;

	*ret = src->stats;
	src->nprocesses = 0;
	for (uint32_t i = 0; i < src->ntraces; i++) {
		const struct ctf_folder *t = src->traces[i];

		for (uint32_t k = 0; k < t->nfiles; k++) {
			const struct packet_file *f = &t->files[k];
			struct stat st;

			if (f->data_fd >= 0 && fstat(f->data_fd, &st) == 0 && f->nunread > 0)
				waiting += st.st_size - (off_t)f->unread[0].offset;
			if (f->ring.head == NULL || !t->live)
				continue;
			uint64_t consumed = ring_consumed(&f->ring),
				 produced = ring_produced(&f->ring);
			double fill = produced > consumed
			                  ? (double)(produced - consumed) / (double)f->ring.bytes
			                  : 0;
			ret->rings++;
			ret->ring_bytes += (int64_t)f->ring.bytes;
			if (fill > ret->fullest)
				ret->fullest = fill > 1 ? 1 : fill;
		}
		if (!t->live || t->pid == 0 ||
		    !array_reserve(src->processes, src->processes_cap, src->nprocesses + 1))
			continue;
		bool twice = false;
		for (uint32_t k = 0; k < src->nprocesses; k++)
			twice |= src->processes[k].pid == t->pid &&
			         strcmp(src->processes[k].service, t->service) == 0;
		if (!twice)
			src->processes[src->nprocesses++] = (struct source_process){ t->service,
				t->pid, t->outside };
	}
	ret->files_bytes = waiting + (int64_t)src->arena[src->turn].total_bytes;
	ret->processes = src->processes;
	ret->nprocesses = src->nprocesses;
	memcpy(ret->lost, src->losses.total, sizeof ret->lost);
	ret->trouble = src->losses.trouble.text;
}

static const struct batch_label *
babeltrace2_labels(void *state, uint32_t *count)
{
	struct babeltrace2_source *src = state;

	*count = src->labels.count;
	return src->labels.labels;
}

static void
babeltrace2_close(void *state)
{
	struct babeltrace2_source *src = state;

	for (uint32_t i = 0; i < src->ntraces; i++)
		trace_free(src->traces[i]);
	if (src->copy != NULL) {
		char path[PATH_MAX];

		snprintf(path, sizeof path, "%.4000s/metadata", src->copy);
		unlink(path);
		rmdir(src->copy);
	}
	packet_reader_free(src->reader);
	source_labels_release(&src->labels);
	record_list_release(&src->records);
	record_list_release(&src->scratch);
	arena_release(&src->arena[0]);
	arena_release(&src->arena[1]);
	losses_release(&src->losses);
	free(src->traces);
	free(src->processes);
	free(src->folder);
	free(src->copy);
	free(src);
}

source_open_fn source_babeltrace2_open;

int
source_babeltrace2_open(struct source *ret, const struct source_place *place,
    const struct source_options *options, struct err *e)
{
	struct babeltrace2_source *src = calloc(1, sizeof *src);
	int rc;

	assert(place != NULL && place->folder != NULL);
	if (src == NULL)
		return err_set(e, ERR_MEMORY, "out of memory for a source");
	if (options != NULL)
		src->options = *options;
	if (src->options.memory_bytes == 0)
		src->options.memory_bytes = 64 << 20;
	if (src->options.records_max == 0)
		src->options.records_max = 65536;
	if (src->options.labels_max == 0)
		src->options.labels_max = 32768;
	if (src->options.packet_max_bytes == 0)
		src->options.packet_max_bytes = 64 << 20;
	if (src->options.metadata_max_bytes == 0)
		src->options.metadata_max_bytes = 64 << 20;
	if (strlen(place->folder) > 3700 || (src->folder = strdup(place->folder)) == NULL ||
	    asprintf(&src->copy, "%s/babeltrace2-XXXXXX", place->folder) < 0 ||
	    source_labels_init(&src->labels, src->options.labels_max) != 0)
		rc = err_set(e, ERR_MEMORY, "out of memory for a source, or too long a path");
	else if (mkdtemp(src->copy) == NULL)
		rc = err_errno(e, "%s", src->copy);
	else
		rc = packet_reader_new(&src->reader, e);
	if (rc != 0) {
		babeltrace2_close(src);
		return rc;
	}
	*ret = (struct source){ src, babeltrace2_poll, babeltrace2_stats, babeltrace2_labels,
		babeltrace2_close };
	return 0;
}
