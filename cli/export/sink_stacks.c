/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Call stacks, added up over all requests: the frames are units, from the request's first to the one in which the critical path was. A frame is
 * "service name". At most STACKS_MAX different stacks; the time of further ones is in the stack "(other)".
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/texts.h"
#include "cli/export/gzip.h"
#include "cli/export/sink.h"

enum { STACKS_MAX = 1 << 18, DEPTH_MAX = 128, FRAME_MAX = 2 * LABEL_TEXT_MAX };

struct stack_sum {
	uint64_t path_ns, spans;
};

struct stack_sink {
	struct export_sink sink;
	FILE *to;
	struct texts *all; /* "frame;frame;frame", root first */
	struct stack_sum *sums;
	uint32_t nsums, sums_cap;
	struct buf key; /* of the stack at hand */
	int64_t from_ns, to_ns;
};

/* A frame has no ';' and no control character, which divide stacks and lines. */
static void
put_frame(struct buf *to, const struct span *s)
{
	char name[FRAME_MAX];
	int n = snprintf(name, sizeof name, "%.*s %.*s", (int)s->service.len, s->service.s,
	    (int)s->name.len, s->name.s);

	if (n >= FRAME_MAX)
		n = FRAME_MAX - 1;
	for (int i = 0; i < n; i++)
		if ((unsigned char)name[i] < 0x20 || name[i] == 0x7f)
			name[i] = ' ';
		else if (name[i] == ';')
			name[i] = ',';
	if (to->len > 0)
		buf_u8(to, ';');
	buf_bytes(to, name, (size_t)n);
}

/* Sets k->key to the frames around the unit and its own; of more than DEPTH_MAX the outer ones. */
static void
set_key(struct stack_sink *k, const struct exported *x, uint32_t unit)
{
	uint32_t chain[DEPTH_MAX], n = 0, at;

	/* A chain of n units is kept in a ring, so that its outer end is there. Parents of malformed requests may form a circle. */
	for (uint32_t u = unit; u != EXPORTED_NONE && n < x->n; u = x->units[u].parent)
		chain[n++ % DEPTH_MAX] = u;
	buf_reset(&k->key);
	for (at = n; at-- > 0 && n - at <= DEPTH_MAX;)
		put_frame(&k->key, &x->units[chain[at % DEPTH_MAX]].span);
}

static bool
add(struct stack_sink *k, int64_t path_ns)
{
	const char *key = (const char *)k->key.data;
	size_t len = k->key.len;
	uint32_t id;

	if (k->key.failed)
		return false;
	if (texts_count(k->all) >= STACKS_MAX && texts_find(k->all, key, len) == UINT32_MAX) {
		key = "(other)";
		len = strlen(key);
	}
	if ((id = texts_intern(k->all, key, len)) == UINT32_MAX ||
	    !array_reserve(k->sums, k->sums_cap, id + 1))
		return false;
	for (; k->nsums <= id; k->nsums++)
		k->sums[k->nsums] = (struct stack_sum){ 0 };
	k->sums[id].path_ns += (uint64_t)path_ns;
	k->sums[id].spans++;
	return true;
}

static int
put(struct export_sink *s, const struct exported *x, struct err *e)
{
	struct stack_sink *k = (struct stack_sink *)s;

	if (k->from_ns == 0 || x->begin_ns < k->from_ns)
		k->from_ns = x->begin_ns;
	if (x->end_ns > k->to_ns)
		k->to_ns = x->end_ns;
	for (uint32_t i = 0; i < x->n; i++) {
		if (x->units[i].path_ns <= 0)
			continue;
		set_key(k, x, i);
		if (!add(k, x->units[i].path_ns))
			return err_set(e, ERR_MEMORY, "out of memory");
	}
	return 0;
}

static int
written(const struct stack_sink *k, struct err *e)
{
	return fflush(k->to) != 0 || ferror(k->to) ? err_errno(e, "the stacks cannot be written")
	                                           : 0;
}

static void
release(struct stack_sink *k)
{
	texts_free(k->all);
	buf_release(&k->key);
	free(k->sums);
	free(k);
}

static int
open_stacks(struct export_sink **ret, FILE *to, int (*close)(struct export_sink *, struct err *),
    struct err *e)
{
	struct stack_sink *k = calloc(1, sizeof *k);

	if (k == NULL || (k->all = texts_new()) == NULL) {
		free(k);
		return err_set(e, ERR_MEMORY, "out of memory");
	}
	k->sink = (struct export_sink){ put, close };
	k->to = to;
	*ret = &k->sink;
	return 0;
}

/* ---- folded ---- */

static int
close_folded(struct export_sink *s, struct err *e)
{
	struct stack_sink *k = (struct stack_sink *)s;
	int rc;

	for (uint32_t i = 0; i < k->nsums; i++)
		fprintf(k->to, "%s %" PRIu64 "\n", texts_get(k->all, i), k->sums[i].path_ns);
	rc = written(k, e);
	release(k);
	return rc;
}

int
sink_open_folded(struct export_sink **ret, FILE *to, struct err *e)
{
	return open_stacks(ret, to, close_folded, e);
}

/* ---- pprof: google/pprof proto/profile.proto ---- */

enum { WIRE_VARINT = 0, WIRE_BYTES = 2 };
enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING = 6,
	PROFILE_TIME_NS = 9,
	PROFILE_DURATION_NS = 10,
	PROFILE_DEFAULT_TYPE = 14
};

static void
put_number(struct buf *b, unsigned field, uint64_t v)
{
	buf_uint(b, field << 3 | WIRE_VARINT);
	buf_uint(b, v);
}

static void
put_bytes(struct buf *b, unsigned field, const void *bytes, size_t len)
{
	buf_uint(b, field << 3 | WIRE_BYTES);
	buf_uint(b, len);
	buf_bytes(b, bytes, len);
}

static void
put_message(struct buf *b, unsigned field, struct buf *message)
{
	put_bytes(b, field, message->data, message->len);
	b->failed |= message->failed;
	buf_reset(message);
}

/* Location and function of a frame have the number of its text. The leaf comes first. */
static void
put_sample(struct buf *b, struct texts *strings, const char *stack, const struct stack_sum *sum,
    struct buf *packed, struct buf *sample)
{
	const char *end = stack + strlen(stack);

	while (end >= stack) {
		const char *begin = end;
		uint32_t id;

		while (begin > stack && begin[-1] != ';')
			begin--;
		id = texts_intern(strings, begin, (size_t)(end - begin));
		packed->failed |= id == UINT32_MAX;
		buf_uint(packed, id);
		end = begin - 1;
	}
	put_message(sample, 1, packed);
	buf_uint(packed, sum->spans);
	buf_uint(packed, sum->path_ns);
	put_message(sample, 2, packed);
	put_message(b, PROFILE_SAMPLE, sample);
}

static void
put_type(struct buf *b, struct texts *strings, const char *type, const char *unit, struct buf *m)
{
	put_number(m, 1, texts_intern(strings, type, strlen(type)));
	put_number(m, 2, texts_intern(strings, unit, strlen(unit)));
	put_message(b, PROFILE_SAMPLE_TYPE, m);
}

static void
make_profile(struct stack_sink *k, struct texts *strings, struct buf *b)
{
	struct buf m = { 0 }, packed = { 0 };
	uint32_t first;

	texts_intern(strings, "", 0);
	put_type(b, strings, "spans", "count", &m);
	put_type(b, strings, "critical_path", "nanoseconds", &m);
	put_number(b, PROFILE_DEFAULT_TYPE, 3); /* critical_path: after "", spans, count */
	first = texts_count(strings);
	for (uint32_t i = 0; i < k->nsums; i++)
		put_sample(b, strings, texts_get(k->all, i), &k->sums[i], &packed, &m);
	for (uint32_t id = first; id < texts_count(strings); id++) {
		put_number(&packed, 1, id); /* the line's function */
		put_number(&m, 1, id);
		put_message(&m, 4, &packed);
		put_message(b, PROFILE_LOCATION, &m);
		put_number(&m, 1, id);
		put_number(&m, 2, id);
		put_message(b, PROFILE_FUNCTION, &m);
	}
	for (uint32_t id = 0; id < texts_count(strings); id++)
		put_bytes(
		    b, PROFILE_STRING, texts_get(strings, id), strlen(texts_get(strings, id)));
	put_number(b, PROFILE_TIME_NS, (uint64_t)k->from_ns);
	put_number(
	    b, PROFILE_DURATION_NS, (uint64_t)(k->to_ns > k->from_ns ? k->to_ns - k->from_ns : 0));
	b->failed |= m.failed | packed.failed;
	buf_release(&m);
	buf_release(&packed);
}

static int
write_gzip(FILE *to, const struct buf *b, struct err *e)
{
	struct buf out = { 0 };
	int rc = gzip_bytes(&out, b->data, b->len, e);

	if (rc == 0)
		fwrite(out.data, 1, out.len, to);
	buf_release(&out);
	return rc;
}

static int
close_pprof(struct export_sink *s, struct err *e)
{
	struct stack_sink *k = (struct stack_sink *)s;
	struct texts *strings = texts_new();
	struct buf profile = { 0 };
	int rc = 0;

	if (strings != NULL)
		make_profile(k, strings, &profile);
	if (strings == NULL || profile.failed)
		rc = err_set(e, ERR_MEMORY, "out of memory");
	if (rc == 0 && (rc = write_gzip(k->to, &profile, e)) == 0)
		rc = written(k, e);
	texts_free(strings);
	buf_release(&profile);
	release(k);
	return rc;
}

int
sink_open_pprof(struct export_sink **ret, FILE *to, struct err *e)
{
	return open_stacks(ret, to, close_pprof, e);
}
