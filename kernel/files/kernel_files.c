/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE
#include "kernel/files/kernel_files.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "formats/ctf_reader.h"
#include "formats/input.h"
#include "kernel/files/recording.h"
#include "kernel/files/thread_table.h"

enum { HEAD_BYTES = 1 << 16, SOURCES_MAX = 65536 };

struct text_format {
	const char *name;
	int (*sniff)(const char *head, size_t len);
	int (*open)(struct recording **ret, struct input *in, const char *path,
	    struct recording_setting *setting, struct err *e);
};

static const struct text_format text_formats[] = {
	{ "ftrace", recording_ftrace_sniff, recording_ftrace_open },
	{ "psv", recording_psv_sniff, recording_psv_open },
};

enum { TEXT_FORMATS = sizeof text_formats / sizeof *text_formats };

/* ---- which files ------------------------------------------------------------ */

/* Whether the metadata of a CTF trace is of the kernel: LTTng and perf say so, others have its events. */
static bool
is_kernel_metadata(const char *folder)
{
	char *head = malloc(HEAD_BYTES + 1), *path = NULL;
	bool is_kernel = false;
	FILE *f = NULL;
	size_t len;

	if (head != NULL && asprintf(&path, "%s/metadata", folder) > 0 &&
	    (f = fopen(path, "r")) != NULL) {
		len = fread(head, 1, HEAD_BYTES, f);
		is_kernel = memmem(head, len, "domain = \"kernel\"", 17) != NULL ||
		            (memmem(head, len, "domain = \"ust\"", 14) == NULL &&
				memmem(head, len, "sched_switch", 12) != NULL);
	}
	if (f != NULL)
		fclose(f);
	free(path);
	free(head);
	return is_kernel;
}

static bool
stop_at_kernel(void *of, const char *folder)
{
	(void)of;
	return !is_kernel_metadata(folder);
}

static const struct text_format *
sniff(const struct input *in)
{
	const struct text_format *best = NULL;
	int sure = 0;

	for (int i = 0; i < TEXT_FORMATS; i++) {
		int how = text_formats[i].sniff(in->at, (size_t)(in->end - in->at));

		if (how > sure) {
			sure = how;
			best = &text_formats[i];
		}
	}
	return best;
}

/* Reads the begin of a file, without moving on. */
static int
read_head(struct input *in, struct err *e)
{
	int rc = 0;

	while (rc == 0 && in->end - in->at < HEAD_BYTES)
		rc = input_more(in, e);
	return rc == 1 || rc == ERR_INPUT ? 0 : rc;
}

bool
kernel_files_is(const char *path)
{
	struct input in;
	struct stat st;
	struct err e;
	bool is;

	if (strcmp(path, "-") == 0 || stat(path, &st) != 0)
		return false;
	if (S_ISDIR(st.st_mode))
		return !ctf_each_trace(path, stop_at_kernel, NULL);
	if (!S_ISREG(st.st_mode) || input_open(&in, path, &e) != 0)
		return false;
	is = read_head(&in, &e) == 0 && sniff(&in) != NULL;
	input_close(&in);
	return is;
}

/* ---- sources ---------------------------------------------------------------- */

struct merge {
	const struct kernel_files_options *options;
	struct recording_setting setting;
	struct account account;
	struct recording **sources;
	uint32_t nsources, sources_cap;
	uint32_t *heap; /* sources that have items, the earliest first */
	uint32_t nheap;
	struct thread_table *threads;
	uint32_t found; /* CTF traces of the current path */
	bool started;   /* an event came, last at last_ns */
	bool gave;      /* an event was given */
	int64_t last_ns;
	struct err *e;
	int rc;
};

static bool
add_source(struct merge *m, struct recording *s)
{
	if (!array_reserve_max(m->sources, m->sources_cap, m->nsources + 1, SOURCES_MAX)) {
		s->close(s);
		m->rc = err_set(m->e, ERR_MEMORY, "over %d recordings, or no memory for their list",
		    SOURCES_MAX);
		return false;
	}
	m->sources[m->nsources++] = s;
	return true;
}

/* One that babeltrace2 rejects is counted; others of the same path may be read. */
static bool
add_folder(void *of, const char *folder)
{
	struct merge *m = of;
	struct recording *s;
	int rc;

	if (!is_kernel_metadata(folder))
		return true;
	if ((rc = recording_ctf_open(&s, folder, &m->setting, m->e)) == ERR_INPUT) {
		m->account.file = folder;
		account_odd(&m->account, ODDITY_MALFORMED, "%.150s", m->e->text);
		m->account.file = NULL;
		return true;
	}
	if (rc != 0) {
		m->rc = rc;
		return false;
	}
	m->found++;
	return add_source(m, s);
}

static int
open_folder(struct merge *m, const char *path, struct err *e)
{
	m->found = 0;
	e->text[0] = '\0';
	if (!ctf_each_trace(path, add_folder, m))
		return m->rc;
	if (m->found == 0)
		return err_set(e, ERR_INPUT,
		    "%s: the folder has no CTF trace of the kernel that can be read%s%s", path,
		    e->text[0] != '\0' ? ": " : "", e->text);
	return 0;
}

static int
open_text(struct merge *m, const char *path, struct err *e)
{
	const char *wanted = m->options->format;
	const struct text_format *format = NULL;
	struct recording *s;
	uint64_t read_bytes, size_bytes;
	struct input in;
	int rc = input_open(&in, path, e);

	if (rc == 0 && (rc = read_head(&in, e)) != 0)
		input_close(&in);
	if (rc != 0)
		return err_prefix(e, "%s", path);
	for (int i = 0; wanted != NULL && i < TEXT_FORMATS; i++)
		if (strcmp(wanted, text_formats[i].name) == 0)
			format = &text_formats[i];
	if (wanted == NULL && (format = sniff(&in)) == NULL) {
		input_close(&in);
		return err_set(e, ERR_INPUT, "%s: no recording of the kernel that is known", path);
	}
	if (format == NULL) {
		input_close(&in);
		return err_set(e, ERR_INPUT, "%s: CTF is in folders", path);
	}
	input_progress(&in, &read_bytes, &size_bytes);
	if (m->options->progress != NULL)
		m->options->progress->size_bytes += size_bytes;
	rc = format->open(&s, &in, path, &m->setting, e);
	if (rc != 0)
		return err_prefix(e, "%s", path);
	return add_source(m, s) ? 0 : m->rc;
}

static int
open_path(struct merge *m, const char *path, struct err *e)
{
	struct stat st;

	if (strcmp(path, "-") != 0 && stat(path, &st) != 0)
		return err_errno(e, "%s", path);
	if (strcmp(path, "-") != 0 && S_ISDIR(st.st_mode))
		return open_folder(m, path, e);
	return open_text(m, path, e);
}

/* ---- the merge -------------------------------------------------------------- */

static bool
is_before(const struct merge *m, uint32_t a, uint32_t b)
{
	const struct recording *x = m->sources[a], *y = m->sources[b];
	const struct recorded_item *p = &x->items[x->at], *q = &y->items[y->at];

	if (p->ev.time_ns != q->ev.time_ns)
		return p->ev.time_ns < q->ev.time_ns;
	return p->order != q->order ? p->order < q->order : a < b;
}

static void
sift_down(struct merge *m, uint32_t at)
{
	for (uint32_t child; (child = 2 * at + 1) < m->nheap; at = child) {
		uint32_t moved = m->heap[at];

		if (child + 1 < m->nheap && is_before(m, m->heap[child + 1], m->heap[child]))
			child++;
		if (!is_before(m, m->heap[child], moved))
			return;
		m->heap[at] = m->heap[child];
		m->heap[child] = moved;
	}
}

/* Makes the heap of the sources that have events. */
static int
begin(struct merge *m, struct err *e)
{
	if ((m->heap = calloc(m->nsources + 1, sizeof *m->heap)) == NULL)
		return err_set(e, ERR_MEMORY, "out of memory");
	for (uint32_t i = 0; i < m->nsources; i++) {
		struct recording *s = m->sources[i];
		int rc = s->more(s, e);

		if (rc != 0)
			return rc;
		if (s->count > 0)
			m->heap[m->nheap++] = i;
	}
	for (uint32_t i = m->nheap; i-- > 0;)
		sift_down(m, i);
	return 0;
}

static void
count_lost(struct merge *m, const struct kernel_event *ev)
{
	char many[48] = "an unknown number of", cpu[16] = "any CPU";

	if (ev->lost.count > 0)
		snprintf(many, sizeof many, "%" PRIu64, ev->lost.count);
	if (ev->cpu != KERNEL_CPU_ALL)
		snprintf(cpu, sizeof cpu, "CPU %u", ev->cpu);
	m->account.counts->lost += ev->lost.count;
	account_odd(&m->account, ODDITY_LOST, "%s events of %s of host %.60s, until %" PRId64 " ns",
	    many, cpu, account_host(&m->account, ev->host), ev->time_ns);
}

static int
give(struct merge *m, const struct kernel_event *ev, struct err *e)
{
	const struct kernel_files_options *o = m->options;
	struct kernel_files_counts *c = m->account.counts;
	struct kernel_event events[THREAD_TABLE_MAX];
	int n;

	if (m->started && ev->time_ns < m->last_ns) {
		account_odd(&m->account, ODDITY_CLOCK, "%" PRId64 " ns after %" PRId64 " ns",
		    ev->time_ns, m->last_ns);
		return 0;
	}
	m->started = true;
	m->last_ns = ev->time_ns;
	if ((n = thread_table_take(m->threads, ev, events, e)) <= 0)
		return n;
	if (!m->gave)
		c->first_ns = ev->time_ns;
	m->gave = true;
	c->last_ns = ev->time_ns;
	for (int i = 0; i < n; i++) {
		int rc = o->take != NULL ? o->take(o->of, &events[i], e) : 0;

		if (rc < 0)
			return rc;
		c->given[events[i].kind]++;
		if (events[i].kind == KERNEL_WAKING)
			c->given_new += events[i].waking.is_new;
		if (events[i].kind == KERNEL_LOST)
			count_lost(m, &events[i]);
	}
	return 0;
}

static int
run(struct merge *m, struct err *e)
{
	struct kernel_files_progress *p = m->options->progress;
	int rc = begin(m, e);

	while (rc == 0 && m->nheap > 0) {
		struct recording *s = m->sources[m->heap[0]];

		rc = give(m, &s->items[s->at].ev, e);
		if (rc == 0 && ++s->at == s->count) {
			rc = s->more(s, e);
			if (p != NULL)
				p->events = m->account.counts->events;
			if (s->count == 0)
				m->heap[0] = m->heap[--m->nheap];
		}
		sift_down(m, 0);
	}
	return rc;
}

/* Times of several hosts compare only if all clocks say where they are in the time since the epoch. */
static void
check_bases(struct merge *m)
{
	for (uint32_t i = 0; texts_count(m->setting.names->hosts) > 1 && i < m->nsources; i++)
		if (!m->sources[i]->has_base) {
			m->account.file = m->sources[i]->path;
			account_odd(&m->account, ODDITY_BASE,
			    "its times are as the clock of its host counts them");
		}
	m->account.file = NULL;
}

static int
check_options(const struct kernel_files_options *o, struct err *e)
{
	if (o->format == NULL || strcmp(o->format, "ctf") == 0)
		return 0;
	for (int i = 0; i < TEXT_FORMATS; i++)
		if (strcmp(o->format, text_formats[i].name) == 0)
			return 0;
	return err_set(e, ERR_MISSING, "no format \"%.60s\": ctf, ftrace or psv", o->format);
}

int
kernel_files_read(char *const *paths, int npaths, const struct kernel_files_options *o,
    struct kernel_names *names, struct kernel_files_counts *counts, struct err *e)
{
	size_t memory = o->memory_max_bytes != 0 ? o->memory_max_bytes : KERNEL_FILES_MEMORY_BYTES;
	struct merge m = { .account = { counts, names->hosts }, .options = o, .e = e };
	int rc = check_options(o, e);

	*counts = (struct kernel_files_counts){ 0 };
	m.setting = (struct recording_setting){
		.counted = o->counted,
		.meta = o->meta,
		.raw_times = o->raw_times,
		.read_bytes = o->progress != NULL ? &o->progress->read_bytes : NULL,
		.names = names,
		.account = &m.account,
		.texts_left = memory / 4,
		.waiting_left = memory / 2 / (size_t)(npaths > 0 ? npaths : 1),
	};
	if (rc == 0)
		rc = thread_table_new(&m.threads, memory / 4, &m.account, e);
	for (int i = 0; rc == 0 && i < npaths; i++)
		rc = open_path(&m, paths[i], e);
	if (rc == 0)
		rc = run(&m, e);
	check_bases(&m);
	if (m.threads != NULL)
		thread_table_end(m.threads);
	counts->hosts = texts_count(names->hosts);
	for (uint32_t i = 0; i < m.nsources; i++)
		m.sources[i]->close(m.sources[i]);
	thread_table_free(m.threads);
	free(m.sources);
	free(m.heap);
	return rc;
}
