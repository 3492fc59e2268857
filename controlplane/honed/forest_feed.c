/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/honed/forest_feed.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/hash.h"
#include "base/log.h"
#include "controlplane/honed/forest_files.h"

#define SECOND_NS INT64_C(1000000000)
#define STATE_EACH_NS (86400 * SECOND_NS)
#define STATE_AGAIN_NS (5 * SECOND_NS)
#define ASKED_AGAIN_NS (60 * SECOND_NS)
#define STUCK_NS (60 * SECOND_NS)
#define BEHIND_NS (5 * SECOND_NS)
#define LOOK_NS SECOND_NS
#define LOOK_HEALTHY_NS (600 * SECOND_NS) /* it changes all the time */
#define STEP_NS INT64_C(10000000)

enum {
	PIECE_BYTES = 256 << 10, /* of a state or a file, in a message */
	WAITING_MAX = 16,        /* messages; more: states and files wait */
	REST = 10                /* a state that was asked for takes a tenth of the time */
};

struct feed_file {
	char *path;
	struct timespec changed; /* of the file that was looked at last */
	off_t size;
	uint64_t hash; /* of what was put last; 0: nothing */
	struct mono looked;
	bool again;       /* is to be put though it is the same */
	struct buf bytes; /* that are being put, from `at` on */
	size_t at;
};

struct forest_feed {
	struct kafka_link *kafka;
	const struct config *config;
	uint64_t term, number, before;
	struct forest_place from;        /* of the next state */
	struct buf commit;               /* rows of the commit under way */
	struct store_snapshot *snapshot; /* the state under way; NULL: none */
	struct buf rows;                 /* of it */
	bool begun;                      /* its first entry was put */
	bool due, asked;
	struct mono stated;  /* when the last one was complete, or failed, */
	int64_t took_ns;     /* and how long it took */
	struct mono began;   /* the one that is under way, */
	struct mono piece;   /* and when a piece of it was put last */
	struct mono granted; /* when the last one began that was asked for */
	struct feed_file files[FOREST_FILES];
	uint64_t put, delivered;
	uint64_t whole;   /* with so many entries the log has all again, after one that was lost */
	bool decides;     /* the commit under way has runs, switches or audit rows */
	uint64_t decided; /* as `put` was after the last such commit */
	bool lacking;     /* Kafka has not taken an entry, and no full state since */
	uint64_t lost_before; /* counts.lost when the state under way began */
	struct mono had;      /* when Kafka had all decisions, for the last time */
	bool told;            /* that it has not */
	struct forest_feed_counts counts;
};

/* ---- entries ---- */

static bool
put_entry(struct kafka_link *k, struct relay_head *h, const struct forest_entry *x, uint64_t token)
{
	struct buf b = { 0 };
	bool ok;

	h->kind = RELAY_FOREST;
	h->epoch = k->epoch;
	memcpy(h->source, k->name, sizeof h->source);
	forest_entry_encode(h, x, &b);
	ok = !b.failed && kafka_link_put(k, TOPIC_FOREST, 0, &b, token);
	buf_release(&b);
	return ok;
}

bool
forest_feed_begin(struct kafka_link *k, uint64_t term)
{
	const struct forest_entry x = { .term = term, .kind = FOREST_BEGIN };

	return put_entry(k, &(struct relay_head){ .number = 1 }, &x, 0);
}

/* An entry that cannot be put has its number all the same: the reader sees the gap, and a state is due. */
static void
put(struct forest_feed *f, struct forest_entry *x, uint64_t items)
{
	struct relay_head h = { .number = ++f->number, .before = f->before, .items = items };

	x->term = f->term;
	f->before += items;
	if (put_entry(f->kafka, &h, x, 1)) {
		f->put++;
		f->counts.entries++;
	} else {
		f->counts.lost++;
		f->due = f->lacking = true;
	}
}

static void
take_deliveries(struct forest_feed *f)
{
	struct kafka_delivery d;

	while (f->kafka->calls->delivered(f->kafka->connection, 0, &d)) {
		f->delivered++;
		if (!d.failed)
			continue;
		f->counts.lost++;
		f->due = f->lacking = true;
		limited_log(&f->kafka->log, clock_mono(), LOG_ERROR,
		    "Kafka did not take an entry of the forest: %s", d.why);
	}
}

/* ---- the feed ---- */

static void begin_state(struct forest_feed *f, struct mono now);

int
forest_feed_open(struct forest_feed **ret, struct kafka_link *k, const struct config *c,
    uint64_t term, const struct forest_place *from, struct err *e)
{
	struct forest_feed *f = calloc(1, sizeof *f);
	int rc = 0;

	if (f == NULL)
		return err_set(e, ERR_MEMORY, "out of memory");
	*f = (struct forest_feed){
		.kafka = k, .config = c, .term = term, .number = 1, .from = *from, .due = true
	};
	/* Nothing is on top of any copy before the first state is complete. */
	f->lacking = from->term == 0;
	f->had = clock_mono();
	for (uint32_t i = 0; i < FOREST_FILES && rc == 0; i++) {
		rc = forest_file_path(&f->files[i].path, c, i, e);
		f->files[i].again = true;
	}
	if (rc != 0) {
		forest_feed_close(f);
		return rc;
	}
	begin_state(f, clock_mono());
	*ret = f;
	return 0;
}

void
forest_feed_close(struct forest_feed *f)
{
	if (f == NULL)
		return;
	store_snapshot_close(f->snapshot);
	for (uint32_t i = 0; i < FOREST_FILES; i++) {
		free(f->files[i].path);
		buf_release(&f->files[i].bytes);
	}
	buf_release(&f->commit);
	buf_release(&f->rows);
	free(f);
}

/* ---- commits ---- */

int
forest_feed_changes(
    struct forest_feed *f, const struct forest_changes *c, struct store_place *at, struct err *e)
{
	size_t left;
	uint64_t n;
	int rc;

	buf_reset(&f->commit);
	f->decides = c->nruns + c->nswitched + c->naudit > 0;
	*at = (struct store_place){ f->term, f->kafka->epoch, f->number };
	if ((rc = changes_encode(c, &f->commit, e)) != 0)
		return rc;
	for (left = f->commit.len; left > 0; at->number++)
		left -= rows_fitting(
		    f->commit.data + (f->commit.len - left), left, FOREST_MESSAGE_MAX, &n);
	return 0;
}

void
forest_feed_committed(struct forest_feed *f)
{
	for (size_t done = 0, len; done < f->commit.len; done += len) {
		struct forest_entry x = { .kind = FOREST_ROWS, .schema = (uint32_t)store_schema() };
		uint64_t n;

		x.body = f->commit.data + done;
		x.len = len = rows_fitting(x.body, f->commit.len - done, FOREST_MESSAGE_MAX, &n);
		x.flags = done + len < f->commit.len ? FOREST_MORE : 0;
		put(f, &x, n);
	}
	if (f->decides)
		f->decided = f->put;
	buf_reset(&f->commit);
}

uint64_t
forest_feed_put(const struct forest_feed *f)
{
	return f->put;
}

bool
forest_feed_has(const struct forest_feed *f, uint64_t put)
{
	put = put > f->whole ? put : f->whole;
	return !f->lacking && f->delivered >= put;
}

bool
forest_feed_has_decisions(const struct forest_feed *f)
{
	return forest_feed_has(f, f->decided);
}

static void
tell_whether_behind(struct forest_feed *f, struct mono now)
{
	if (forest_feed_has_decisions(f)) {
		if (f->told)
			log_line(LOG_INFO, "Kafka has the log of the forest again");
		f->told = false;
		f->had = now;
	} else if (!f->told && mono_since_ns(now, f->had) >= BEHIND_NS) {
		log_line(LOG_WARN,
		    "Kafka has not taken what was decided into the log of the forest for 5 s: no more tracepoints are enabled until it has");
		f->told = true;
	}
}

/* ---- states ---- */

void
forest_feed_asked(struct forest_feed *f)
{
	if (f->snapshot == NULL)
		f->asked = true;
}

static void
end_state(struct forest_feed *f, struct mono now)
{
	store_snapshot_close(f->snapshot);
	f->snapshot = NULL;
	buf_release(&f->rows);
	f->stated = now;
	f->took_ns = mono_since_ns(now, f->began);
}

/* One entry of the state that is under way. */
static void
continue_state(struct forest_feed *f, struct mono now)
{
	struct forest_entry x = { .kind = FOREST_STATE, .schema = (uint32_t)store_schema() };
	uint64_t n = 0;
	struct err e;
	int rc;

	buf_reset(&f->rows);
	if ((rc = store_snapshot_next(f->snapshot, PIECE_BYTES, &f->rows, &e)) < 0) {
		limited_log(&f->kafka->log, now, LOG_ERROR,
		    "%s; those that stand by have no full state", e.text);
		f->due = true;
		end_state(f, now);
		return;
	}
	rows_fitting(f->rows.data, f->rows.len, SIZE_MAX, &n);
	x.body = f->rows.data;
	x.len = f->rows.len;
	x.flags = (uint8_t)((f->begun ? 0 : FOREST_FIRST) | (rc == 0 ? FOREST_LAST : 0));
	x.from = f->from;
	f->begun = true;
	f->piece = now;
	put(f, &x, n);
	if (rc > 0)
		return;
	end_state(f, now);
	f->counts.states++;
	if (f->lacking && f->counts.lost == f->lost_before) {
		f->lacking = false;
		f->whole = f->put;
	}
	f->from = (struct forest_place){ f->term, f->kafka->epoch, f->number };
	for (uint32_t i = 0; i < FOREST_FILES; i++)
		f->files[i].again = true;
}

/* Who asks may never have enough, and each state is the whole database: once a minute, and a tenth of the time, is the most. */
static bool
state_is_due(const struct forest_feed *f, struct mono now)
{
	int64_t rest_ns = mono_since_ns(now, f->stated);

	if (f->stated.ns == 0)
		return f->due;
	if (rest_ns >= STATE_EACH_NS || (f->due && rest_ns >= STATE_AGAIN_NS))
		return true;
	return f->asked && rest_ns >= STATE_AGAIN_NS && rest_ns >= REST * f->took_ns &&
	       (f->granted.ns == 0 || mono_since_ns(now, f->granted) >= ASKED_AGAIN_NS);
}

/* Its first entry is put at once: the snapshot must not lack rows that have lower numbers than that. */
static void
begin_state(struct forest_feed *f, struct mono now)
{
	struct err e;

	if (!state_is_due(f, now))
		return;
	if (store_snapshot_open(&f->snapshot, f->config->database, &e) != 0) {
		limited_log(&f->kafka->log, now, LOG_ERROR,
		    "%s; those that stand by have no full state", e.text);
		f->stated = now;
		return;
	}
	if (f->asked)
		f->granted = now;
	f->began = now;
	f->lost_before = f->counts.lost;
	f->due = f->asked = f->begun = false;
	continue_state(f, now);
}

/* While Kafka takes nothing, the snapshot keeps the database's write-ahead log from being written back, and that grows. */
static void
end_stuck_state(struct forest_feed *f, struct mono now)
{
	if (f->snapshot == NULL || mono_since_ns(now, f->piece) < STUCK_NS)
		return;
	limited_log(&f->kafka->log, now, LOG_WARN,
	    "Kafka has taken nothing of a full state of the forest for 60 s: the state ends, and begins anew when Kafka does");
	f->due = true;
	end_state(f, now);
}

/* ---- files ---- */

static bool
has_changed(struct feed_file *l)
{
	struct stat is;

	if (stat(l->path, &is) != 0)
		return false;
	if (is.st_mtim.tv_sec == l->changed.tv_sec && is.st_mtim.tv_nsec == l->changed.tv_nsec &&
	    is.st_size == l->size)
		return false;
	l->changed = is.st_mtim;
	l->size = is.st_size;
	return true;
}

static void
look_at_file(struct forest_feed *f, uint32_t which, struct mono now)
{
	struct feed_file *l = &f->files[which];
	bool healthy = which == FOREST_FILE_HEALTHY, changed;
	uint64_t hash;
	struct err e;
	int rc;

	if (!l->again && mono_since_ns(now, l->looked) < (healthy ? LOOK_HEALTHY_NS : LOOK_NS))
		return;
	l->looked = now;
	changed = healthy || has_changed(l); /* its log has what is new of that one */
	if (!l->again && !changed)
		return;
	if ((rc = forest_file_read(&l->bytes, l->path, which, &e)) != 0) {
		buf_release(&l->bytes);
		l->again = false;
		if (rc != ERR_MISSING)
			limited_log(&f->kafka->log, now, LOG_ERROR,
			    "%s; those that stand by do not get it", e.text);
		return;
	}
	hash = hash_bytes(0, l->bytes.data, l->bytes.len) | 1;
	if (hash == l->hash && !l->again)
		buf_release(&l->bytes);
	l->hash = hash;
	l->again = false;
	l->at = 0;
}

static void
put_file(struct forest_feed *f, uint32_t which)
{
	struct feed_file *l = &f->files[which];
	struct forest_entry x = { .kind = FOREST_FILE, .which = (uint8_t)which };

	x.body = l->bytes.data + l->at;
	x.len = l->bytes.len - l->at < PIECE_BYTES ? l->bytes.len - l->at : PIECE_BYTES;
	x.flags = l->at == 0 ? FOREST_FIRST : 0;
	l->at += x.len;
	if (l->at == l->bytes.len)
		x.flags |= FOREST_LAST;
	put(f, &x, 0);
	if (l->at == l->bytes.len)
		buf_release(&l->bytes);
}

static bool
has_room(const struct forest_feed *f)
{
	return f->put - f->delivered < WAITING_MAX;
}

/* That is being put; FOREST_FILES: none. */
static uint32_t
file_under_way(const struct forest_feed *f)
{
	uint32_t file = 0;

	while (file < FOREST_FILES && f->files[file].bytes.len == 0)
		file++;
	return file;
}

void
forest_feed_step(struct forest_feed *f, struct mono now)
{
	uint32_t file;

	take_deliveries(f);
	tell_whether_behind(f, now);
	if (!has_room(f))
		end_stuck_state(f, now);
	if (f->snapshot == NULL && has_room(f) && file_under_way(f) == FOREST_FILES)
		begin_state(f, now);
	for (file = 0; file < FOREST_FILES && f->snapshot == NULL && f->files[file].bytes.len == 0;
	     file++)
		look_at_file(f, file, now);
	while (has_room(f) && mono_since_ns(clock_mono(), now) < STEP_NS) {
		if ((file = file_under_way(f)) < FOREST_FILES) /* one after the other */
			put_file(f, file);
		else if (f->snapshot != NULL)
			continue_state(f, now);
		else
			break;
	}
}

void
forest_feed_counts(const struct forest_feed *f, struct forest_feed_counts *ret)
{
	*ret = f->counts;
}
