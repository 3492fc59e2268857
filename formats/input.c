/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 *	file --read--> raw --inflate--> [ block ] [ block ] [ block ] --> window
 *	                 the thread              ready, in order          the parser
 *
 * A block has FRONT_BYTES in front of its bytes. When the window moves to the next block, the unread
 * bytes of the old block are copied there: usually a few, the begin of one token. If a token is
 * longer than FRONT_BYTES, the window becomes a large block, which doubles, and new bytes are
 * appended to it.
 *
 * While a hold is active, the blocks that the window leaves are kept unchanged.
 */
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <libdeflate.h>
#include <zlib.h>

#include "formats/input.h"

enum {
	BLOCK_BYTES = 256 << 10,
	SMALL_BYTES = 16 << 10, /* block of a file that is smaller than this */
	FRONT_BYTES = 64 << 10,
	RAW_BYTES = 128 << 10,
	READY_MAX = 4, /* blocks that wait for the parser */
	/* a gzip file is decompressed in one call if neither the file nor its content is larger */
	WHOLE_MAX_BYTES = 8 << 20,
	GZIP_LEAST_BYTES = 18 /* header and trailer */
};

struct input_block {
	struct input_block *next;
	size_t cap, len; /* of bytes[], without FRONT_BYTES */
	char *bytes;     /* FRONT_BYTES into the memory behind this */
};

/* The origin of the bytes. While the thread runs, only the thread uses it. */
struct input_source {
	int fd; /* -1: memory */
	bool regular;
	const uint8_t *memory;
	size_t memory_left, piece;
	bool sniffed, gzip, in_member, ended;
	z_stream z;
	uint8_t *raw;           /* [RAW_BYTES]; of a plain file only its first bytes */
	uint8_t *whole;         /* a small gzip file, or NULL */
	size_t raw_at, raw_len; /* of those first bytes */
	uint64_t raw_offset;    /* of raw's end in the file */
};

struct input_inside {
	struct input_source source;
	bool threaded;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	int wake[2]; /* closing wake[1] ends the wait for a pipe's bytes */
	/* under the lock */
	struct input_block *ready, **ready_end, *spare;
	unsigned nready;
	bool stop, finished;
	int code; /* why it finished: 0 at the end */
	struct err e;
	/* the parser's */
	struct input_block *current, *held;
	size_t held_bytes;
	bool hold;
	_Atomic uint64_t read_bytes, size_bytes;
};

/* ---- blocks ---- */

static struct input_block *
block_new(size_t cap)
{
	struct input_block *b = malloc(sizeof *b + FRONT_BYTES + cap + INPUT_PAD_BYTES);

	if (b == NULL)
		return NULL;
	b->next = NULL;
	b->cap = cap;
	b->len = 0;
	b->bytes = (char *)(b + 1) + FRONT_BYTES;
	return b;
}

static void
blocks_free(struct input_block *b)
{
	for (struct input_block *next; b != NULL; b = next) {
		next = b->next;
		free(b);
	}
}

static void
block_done(struct input_block *b, size_t len)
{
	b->len = len;
	memset(b->bytes + len, 0, INPUT_PAD_BYTES);
}

/* ---- the source ---- */

/* Reads bytes of the file: the number, 0 at the end; negative: failed, or the input is closed. */
static ssize_t
source_read(struct input_inside *in, void *to, size_t len, struct err *e)
{
	struct input_source *s = &in->source;
	struct pollfd polled[2] = { { s->fd, POLLIN, 0 }, { in->wake[0], 0, 0 } };
	ssize_t n;

	if (s->fd < 0) {
		n = (ssize_t)(len < s->memory_left ? len : s->memory_left);
		memcpy(to, s->memory, (size_t)n);
		s->memory += n;
		s->memory_left -= (size_t)n;
		in->read_bytes += (uint64_t)n;
		return n;
	}
	do {
		if (!s->regular && in->wake[0] >= 0 && poll(polled, 2, -1) > 0 &&
		    polled[1].revents != 0)
			return err_set(e, ERR_SYSTEM, "stopped");
		n = read(s->fd, to, len);
	} while (n < 0 && (errno == EINTR || errno == EAGAIN));
	if (n < 0)
		return err_errno(e, "cannot read");
	in->read_bytes += (uint64_t)n;
	return n;
}

static int
raw_more(struct input_inside *in, struct err *e)
{
	struct input_source *s = &in->source;
	ssize_t n = source_read(in, s->raw, RAW_BYTES, e);

	if (n < 0)
		return (int)n;
	s->z.next_in = s->raw;
	s->z.avail_in = (unsigned)n;
	s->raw_offset += (uint64_t)n;
	s->ended = n == 0;
	return 0;
}

/* Reads the first two bytes, which distinguish gzip. */
static int
source_sniff(struct input_inside *in, struct err *e)
{
	struct input_source *s = &in->source;
	ssize_t n = 1;

	while (s->raw_len < 2 && n > 0) {
		n = source_read(in, s->raw + s->raw_len, RAW_BYTES - s->raw_len, e);
		if (n < 0)
			return (int)n;
		s->raw_len += (size_t)n;
	}
	s->raw_offset = s->raw_len;
	s->ended = n == 0;
	s->sniffed = true;
	s->gzip = s->raw_len >= 2 && s->raw[0] == 0x1f && s->raw[1] == 0x8b;
	if (!s->gzip)
		return 0;
	s->z.next_in = s->raw;
	s->z.avail_in = (unsigned)s->raw_len;
	if (inflateInit2(&s->z, 15 + 16) == Z_OK)
		return 0;
	s->gzip = false;
	return err_set(e, ERR_MEMORY, "no memory to decompress the file");
}

static int
plain_fill(struct input_inside *in, char *to, size_t room, size_t *len, struct err *e)
{
	struct input_source *s = &in->source;
	size_t first = s->raw_len - s->raw_at;
	ssize_t n = 1;

	if (first > 0) {
		first = first < room ? first : room;
		memcpy(to, s->raw + s->raw_at, first);
		s->raw_at += first;
		*len = first;
	}
	while (*len < room && !s->ended && n > 0) {
		if ((n = source_read(in, to + *len, room - *len, e)) < 0)
			return (int)n;
		s->ended = n == 0;
		*len += (size_t)n;
	}
	return 0;
}

static int
damaged(const struct input_source *s, const char *what, struct err *e)
{
	return err_set(e, ERR_INPUT, "gzip: %s at byte %llu of the file", what,
	    (unsigned long long)(s->raw_offset - s->z.avail_in));
}

/* One step: decompresses some bytes, or reads more. */
static int
inflate_step(struct input_inside *in, struct err *e)
{
	struct input_source *s = &in->source;
	int z, rc;

	if (s->z.avail_in == 0 && (rc = raw_more(in, e)) != 0)
		return rc;
	if (s->ended)
		return s->in_member ? damaged(s, "the data ends in the middle", e) : 0;
	if (!s->in_member && *s->z.next_in == 0) { /* zeroes pad the last member to a tape block */
		s->z.next_in++;
		s->z.avail_in--;
		return 0;
	}
	s->in_member = true;
	z = inflate(&s->z, Z_NO_FLUSH);
	if (z == Z_STREAM_END) {
		s->in_member = false;
		return inflateReset(&s->z) == Z_OK ? 0 : damaged(s, "the data is damaged", e);
	}
	if (z == Z_MEM_ERROR)
		return err_set(e, ERR_MEMORY, "no memory to decompress the file");
	return z == Z_OK || z == Z_BUF_ERROR
	           ? 0
	           : damaged(s, s->z.msg != NULL ? s->z.msg : "the data is damaged", e);
}

static int
gzip_fill(struct input_inside *in, char *to, size_t room, size_t *len, struct err *e)
{
	struct input_source *s = &in->source;
	int rc = 0;

	s->z.next_out = (Bytef *)to;
	s->z.avail_out = (unsigned)room;
	while (rc == 0 && s->z.avail_out > 0 && !s->ended)
		rc = inflate_step(in, e);
	*len = room - s->z.avail_out;
	return rc;
}

/* Reads the rest of a small file after its first bytes; inflate() gets all of it at once. */
static int
read_whole(struct input_inside *in, struct err *e)
{
	struct input_source *s = &in->source;
	size_t size = (size_t)in->size_bytes, have = s->raw_len;
	ssize_t n = 1;

	if ((s->whole = malloc(size)) == NULL)
		return err_set(e, ERR_MEMORY, "no memory to read the file");
	memcpy(s->whole, s->raw, have);
	while (have < size && n > 0) {
		if ((n = source_read(in, s->whole + have, size - have, e)) < 0)
			return (int)n;
		have += (size_t)n;
	}
	s->z.next_in = s->whole;
	s->z.avail_in = (unsigned)have;
	s->raw_offset = have;
	return 0;
}

/*
 * Decompresses a whole file by libdeflate, which takes half the time of zlib, but handles only whole
 * members and returns no data of damaged ones. NULL: the file is not one intact member; zlib
 * decompresses it.
 */
static struct input_block *
inflate_whole(struct input_source *s)
{
	const uint8_t *tail = s->z.next_in + s->z.avail_in - 4;
	size_t size = s->z.avail_in < GZIP_LEAST_BYTES
	                  ? 0
	                  : (size_t)tail[0] | (size_t)tail[1] << 8 | (size_t)tail[2] << 16 |
	                        (size_t)tail[3] << 24;
	struct input_block *b = size > 0 && size <= WHOLE_MAX_BYTES ? block_new(size) : NULL;
	struct libdeflate_decompressor *d = b != NULL ? libdeflate_alloc_decompressor() : NULL;
	size_t used = 0, len = 0;

	if (d != NULL &&
	    libdeflate_gzip_decompress_ex(d, s->z.next_in, s->z.avail_in, b->bytes, size, &used,
		&len) == LIBDEFLATE_SUCCESS &&
	    used == s->z.avail_in) {
		s->z.avail_in = 0;
		block_done(b, len);
	} else {
		free(b);
		b = NULL;
	}
	libdeflate_free_decompressor(d);
	return b;
}

/* The first read of a file. 1: all of it is in *b, which was replaced by a larger block. */
static int
source_begin(struct input_inside *in, struct input_block **b, struct err *e)
{
	struct input_source *s = &in->source;
	struct input_block *whole;
	int rc = source_sniff(in, e);

	if (rc != 0 || !s->gzip || !s->regular || in->size_bytes < s->raw_len ||
	    in->size_bytes > WHOLE_MAX_BYTES)
		return rc;
	if ((rc = read_whole(in, e)) != 0 || (whole = inflate_whole(s)) == NULL)
		return rc;
	free(*b);
	*b = whole;
	return 1;
}

/* Fills a block. After a failure it holds the bytes before the failure. */
static int
source_fill(struct input_inside *in, struct input_block **b, struct err *e)
{
	struct input_source *s = &in->source;
	size_t room = s->piece != 0 && s->piece < (*b)->cap ? s->piece : (*b)->cap, len = 0;
	int rc = s->sniffed ? 0 : source_begin(in, b, e);

	if (rc == 1)
		return 0;
	if (rc == 0)
		rc = s->gzip ? gzip_fill(in, (*b)->bytes, room, &len, e)
		             : plain_fill(in, (*b)->bytes, room, &len, e);
	block_done(*b, len);
	return rc;
}

/* ---- reading ahead ---- */

/* Queues a block, or finishes. Under the lock, if there is a thread. */
static void
make_ready(struct input_inside *in, struct input_block *b, int code, const struct err *e)
{
	if (b->len > 0) {
		b->next = NULL;
		*in->ready_end = b;
		in->ready_end = &b->next;
		in->nready++;
	} else {
		b->next = in->spare;
		in->spare = b;
	}
	if (code != 0 || b->len == 0) {
		in->finished = true;
		in->code = code;
		if (code != 0)
			in->e = *e;
	}
}

static struct input_block *
take_spare(struct input_inside *in)
{
	struct input_block *b = in->spare;

	if (b != NULL)
		in->spare = b->next;
	return b;
}

static void *
read_ahead(void *arg)
{
	struct input_inside *in = arg;
	struct input_block *b;
	struct err e;
	int rc;

	pthread_mutex_lock(&in->lock);
	while (!in->stop && !in->finished) {
		if (in->nready >= READY_MAX) {
			pthread_cond_wait(&in->changed, &in->lock);
			continue;
		}
		b = take_spare(in);
		pthread_mutex_unlock(&in->lock);
		if (b == NULL)
			b = block_new(BLOCK_BYTES);
		rc = b != NULL ? source_fill(in, &b, &e)
		               : err_set(&e, ERR_MEMORY, "no memory to read the file");
		pthread_mutex_lock(&in->lock);
		if (b != NULL) {
			make_ready(in, b, rc, &e);
		} else {
			in->finished = true;
			in->code = rc;
			in->e = e;
		}
		pthread_cond_signal(&in->changed);
	}
	pthread_mutex_unlock(&in->lock);
	return NULL;
}

/* Reads the next block in the caller's thread. */
static void
read_now(struct input_inside *in)
{
	struct input_block *b = take_spare(in);
	struct err e;
	int rc;

	if (b == NULL)
		b = block_new(in->source.piece != 0          ? in->source.piece
			      : in->size_bytes < SMALL_BYTES ? SMALL_BYTES
							     : BLOCK_BYTES);
	if (b == NULL) {
		in->finished = true;
		in->code = err_set(&in->e, ERR_MEMORY, "no memory to read the file");
		return;
	}
	rc = source_fill(in, &b, &e);
	make_ready(in, b, rc, &e);
}

/* ---- the window ---- */

/* Keeps, recycles or frees a block that the window has left. */
static void
put_away(struct input_inside *in, struct input_block *b)
{
	if (b == NULL)
		return;
	if (in->hold) {
		b->next = in->held;
		in->held = b;
		in->held_bytes += b->cap;
	} else if (b->cap <= BLOCK_BYTES) {
		if (in->threaded)
			pthread_mutex_lock(&in->lock);
		b->next = in->spare;
		in->spare = b;
		if (in->threaded)
			pthread_mutex_unlock(&in->lock);
	} else {
		free(b);
	}
}

static void
window_set(struct input *in, struct input_block *b, const char *at, const char *end)
{
	uint64_t offset = input_offset(in);

	in->inside->current = b;
	in->at = in->base = at;
	in->offset = offset;
	in->end = end;
}

/* Moves a token longer than FRONT_BYTES to a block of twice the size needed. */
static int
window_grow(struct input *in, struct input_block *b, size_t tail, struct err *e)
{
	struct input_inside *inside = in->inside;
	struct input_block *large = block_new(2 * (tail + b->len));

	if (large == NULL)
		return err_set(e, ERR_MEMORY, "no memory for a piece of %zu bytes", tail);
	memcpy(large->bytes, in->at, tail);
	memcpy(large->bytes + tail, b->bytes, b->len);
	block_done(large, tail + b->len);
	put_away(inside, inside->current);
	window_set(in, large, large->bytes, large->bytes + large->len);
	return 0;
}

/* Adds the dequeued block b to the window. */
static int
window_move(struct input *in, struct input_block *b, struct err *e)
{
	struct input_inside *inside = in->inside;
	struct input_block *old = inside->current;
	size_t tail = (size_t)(in->end - in->at);
	int rc = 0;

	if (old != NULL && tail > 0 && old->cap - old->len >= b->len && old->cap > BLOCK_BYTES) {
		memcpy(old->bytes + old->len, b->bytes, b->len);
		block_done(old, old->len + b->len);
		in->end = old->bytes + old->len;
	} else if (tail > FRONT_BYTES) {
		rc = window_grow(in, b, tail, e);
	} else {
		if (tail > 0)
			memcpy(b->bytes - tail, in->at, tail);
		put_away(inside, old);
		window_set(in, b, b->bytes - tail, b->bytes + b->len);
		return 0;
	}
	if (inside->hold) /* its bytes were copied, and no caller has a pointer to them */
		free(b);
	else
		put_away(inside, b);
	return rc;
}

/* Dequeues the first block, unless the window would exceed its bound. */
static int
next_block(struct input *in, struct input_block **ret, struct err *e)
{
	struct input_inside *inside = in->inside;
	struct input_block *b = inside->ready;

	*ret = NULL;
	if (b == NULL) {
		in->over = inside->code == 0;
		in->cut = inside->code == ERR_INPUT && inside->source.ended;
		if (inside->code != 0 && e != NULL)
			*e = inside->e;
		return in->over ? 1 : inside->code;
	}
	if ((size_t)(in->end - in->at) + b->len + inside->held_bytes > INPUT_WINDOW_MAX_BYTES)
		return err_set(e, ERR_FULL, "a piece of over %d MiB", INPUT_WINDOW_MAX_BYTES >> 20);
	if ((inside->ready = b->next) == NULL)
		inside->ready_end = &inside->ready;
	inside->nready--;
	*ret = b;
	return 0;
}

int
input_more(struct input *in, struct err *e)
{
	struct input_inside *inside = in->inside;
	struct input_block *b;
	int rc;

	assert(inside != NULL && in->at <= in->end);
	if (inside->threaded)
		pthread_mutex_lock(&inside->lock);
	while (inside->ready == NULL && !inside->finished)
		if (inside->threaded)
			pthread_cond_wait(&inside->changed, &inside->lock);
		else
			read_now(inside);
	rc = next_block(in, &b, e);
	if (inside->threaded) {
		if (rc == 0)
			pthread_cond_signal(&inside->changed);
		pthread_mutex_unlock(&inside->lock);
	}
	return rc != 0 ? rc : window_move(in, b, e);
}

void
input_hold(struct input *in)
{
	assert(!in->inside->hold);
	in->inside->hold = true;
}

void
input_release(struct input *in)
{
	struct input_inside *inside = in->inside;

	inside->hold = false;
	for (struct input_block *b = inside->held, *next; b != NULL; b = next) {
		next = b->next;
		if (b->cap <= BLOCK_BYTES &&
		    inside->held_bytes <= 2 * READY_MAX * (size_t)BLOCK_BYTES)
			put_away(inside, b);
		else
			free(b);
	}
	inside->held = NULL;
	inside->held_bytes = 0;
}

/* ---- opening ---- */

static const char nothing[INPUT_PAD_BYTES];

static int
inside_new(struct input *in, struct err *e)
{
	struct input_inside *inside = calloc(1, sizeof *inside);

	*in = (struct input){ .at = nothing, .end = nothing, .base = nothing, .inside = inside };
	if (inside == NULL || (inside->source.raw = malloc(RAW_BYTES)) == NULL) {
		free(inside);
		in->inside = NULL;
		return err_set(e, ERR_MEMORY, "no memory to read the file");
	}
	pthread_mutex_init(&inside->lock, NULL);
	pthread_cond_init(&inside->changed, NULL);
	inside->ready_end = &inside->ready;
	inside->source.fd = inside->wake[0] = inside->wake[1] = -1;
	return 0;
}

int
input_memory(struct input *in, const void *data, size_t len, size_t piece, struct err *e)
{
	int rc = inside_new(in, e);

	if (rc != 0)
		return rc;
	in->inside->source.memory = data;
	in->inside->source.memory_left = len;
	in->inside->source.piece = piece;
	in->inside->size_bytes = len;
	return 0;
}

/* A small file is read in the caller's thread: starting a thread costs more. */
static int
start_thread(struct input_inside *inside, bool ahead, struct err *e)
{
	if (!ahead && inside->source.regular && inside->size_bytes <= BLOCK_BYTES)
		return 0;
	if (!inside->source.regular && pipe2(inside->wake, O_CLOEXEC) != 0)
		return err_errno(e, "cannot make a pipe");
	if ((errno = pthread_create(&inside->thread, NULL, read_ahead, inside)) != 0)
		return err_errno(e, "cannot start a thread to read ahead");
	inside->threaded = true;
	return 0;
}

static int
open_path(struct input *in, const char *path, bool ahead, struct err *e)
{
	struct input_source *s;
	struct stat st;
	int rc = inside_new(in, e);

	if (rc != 0)
		return rc;
	s = &in->inside->source;
	s->fd = strcmp(path, "-") == 0 ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
	                               : open(path, O_RDONLY | O_CLOEXEC);
	if (s->fd < 0 || fstat(s->fd, &st) != 0) {
		rc = err_errno(e, "%s", path);
	} else if (S_ISDIR(st.st_mode)) {
		rc = err_set(e, ERR_SYSTEM, "%s: this is a folder, not a file", path);
	} else {
		s->regular = S_ISREG(st.st_mode);
		in->inside->size_bytes = s->regular ? (uint64_t)st.st_size : 0;
		rc = start_thread(in->inside, ahead, e);
	}
	if (rc != 0)
		input_close(in);
	return rc;
}

int
input_open(struct input *in, const char *path, struct err *e)
{
	return open_path(in, path, false, e);
}

int
input_open_ahead(struct input *in, const char *path, struct err *e)
{
	return open_path(in, path, true, e);
}

void
input_close(struct input *in)
{
	struct input_inside *inside = in->inside;

	if (inside == NULL)
		return;
	if (inside->threaded) {
		pthread_mutex_lock(&inside->lock);
		inside->stop = true;
		pthread_cond_signal(&inside->changed);
		pthread_mutex_unlock(&inside->lock);
		if (inside->wake[1] >= 0)
			close(inside->wake[1]);
		inside->wake[1] = -1;
		pthread_join(inside->thread, NULL);
	}
	for (int i = 0; i < 2; i++)
		if (inside->wake[i] >= 0)
			close(inside->wake[i]);
	if (inside->source.gzip)
		inflateEnd(&inside->source.z);
	if (inside->source.fd >= 0)
		close(inside->source.fd);
	blocks_free(inside->ready);
	blocks_free(inside->spare);
	blocks_free(inside->held);
	free(inside->current);
	free(inside->source.raw);
	free(inside->source.whole);
	pthread_mutex_destroy(&inside->lock);
	pthread_cond_destroy(&inside->changed);
	free(inside);
	*in = (struct input){ .at = nothing, .end = nothing, .base = nothing };
}

void
input_progress(const struct input *in, uint64_t *read_bytes, uint64_t *size_bytes)
{
	*read_bytes = in->inside->read_bytes;
	*size_bytes = in->inside->size_bytes;
}
