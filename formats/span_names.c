/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Names are found by a keyed hash, because they come from outside. A direct-mapped cache with an
 * unkeyed hash in front of it serves most spans.
 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/texts.h"
#include "formats/span_names.h"

enum { RECENT = 1024, SERVICE_MAX = 100, FIELDS_FIRST = 4, FURTHER_MAX = 1024 };

struct span_names {
	struct labels *labels;
	struct arena arena;
	struct texts *texts; /* service, 0, name; the number of a text is its index in `all` */
	struct span_name **all;
	uint32_t count, cap;
	size_t text_bytes, max_bytes;
	uint32_t further; /* number of services with a name "(other)" */
	struct buf key;
	struct span_name *recent[RECENT];
};

struct span_names *
span_names_new(struct labels *l, size_t max_bytes)
{
	struct span_names *n = calloc(1, sizeof *n);

	if (n == NULL || (n->texts = texts_new()) == NULL) {
		free(n);
		return NULL;
	}
	n->labels = l;
	n->max_bytes = max_bytes;
	return n;
}

void
span_names_free(struct span_names *n)
{
	if (n == NULL)
		return;
	arena_release(&n->arena);
	texts_free(n->texts);
	buf_release(&n->key);
	free(n->all);
	free(n);
}

/* ---- UTF-8 ---- */

/* The length of the UTF-8 character at s; 0: invalid. */
static size_t
utf8_len(const unsigned char *s, size_t left)
{
	size_t n = s[0] < 0x80   ? 1
	           : s[0] < 0xc2 ? 0
	           : s[0] < 0xe0 ? 2
	           : s[0] < 0xf0 ? 3
	           : s[0] < 0xf5 ? 4
	                         : 0;

	if (n > left)
		return 0;
	for (size_t i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if (n == 3 && ((s[0] == 0xe0 && s[1] < 0xa0) ||
			  (s[0] == 0xed && s[1] >= 0xa0))) /* overlong; surrogate */
		return 0;
	if (n == 4 && ((s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] >= 0x90)))
		return 0;
	return n;
}

static bool
is_ascii(const char *s, size_t len)
{
	uint64_t word, seen = 0;
	unsigned char last = 0;

	for (; len >= sizeof word; s += sizeof word, len -= sizeof word) {
		memcpy(&word, s, sizeof word);
		seen |= word;
	}
	while (len-- > 0)
		last |= (unsigned char)*s++;
	return (seen & 0x8080808080808080) == 0 && last < 0x80;
}

void
text_clean(char *s, size_t len)
{
	size_t n;

	if (is_ascii(s, len))
		return;
	for (size_t i = 0; i < len; i += n) {
		n = utf8_len((const unsigned char *)s + i, len - i);
		if (n == 0) {
			s[i] = '?';
			n = 1;
		}
	}
}

/* Appends a part of a label: at most `max` bytes, valid UTF-8, printable. A service cannot contain
 * '/', which ends it in a label. */
static void
put_part(struct buf *b, struct text_view t, size_t max, bool service)
{
	size_t len = t.len, from = b->len;
	char *at;

	if (len > max)
		for (len = max; len > 0 && ((unsigned char)t.s[len] & 0xc0) == 0x80;)
			len--;
	if (len == 0) {
		t = (struct text_view){ "unknown", 7 };
		len = 7;
	}
	buf_bytes(b, t.s, len);
	if (b->failed)
		return;
	at = (char *)b->data + from;
	text_clean(at, len);
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)at[i] < ' ' || at[i] == 0x7f)
			at[i] = '?';
		else if (service && at[i] == '/')
			at[i] = '.';
}

/* ---- finding ---- */

static inline bool
same_text(struct text_view a, struct text_view b)
{
	return a.len == b.len && memcmp(a.s, b.s, a.len) == 0;
}

/* Makes the name of the text that was interned last. */
static struct span_name *
name_new(struct span_names *n, uint32_t service_len, uint32_t name_len)
{
	const char *text = texts_get(n->texts, n->count);
	struct span_name *name = arena_calloc(&n->arena, 1, sizeof *name);

	if (name == NULL || !array_reserve(n->all, n->cap, n->count + 1))
		return NULL;
	name->service = (struct text_view){ text, service_len };
	name->name = (struct text_view){ text + service_len + 1, name_len };
	n->text_bytes += service_len + name_len;
	for (int i = 0; i < NAME_USES; i++)
		name->labels[i] = LABEL_NONE;
	name->failed = UINT32_MAX;
	return n->all[n->count++] = name;
}

static bool
is_full(const struct span_names *n)
{
	return n->count >= SPAN_NAMES_MAX || n->arena.total_bytes + n->text_bytes > n->max_bytes;
}

static struct span_name *
find(struct span_names *n, struct text_view service, struct text_view what, bool *other)
{
	static const struct text_view others = { "(other)", 7 };
	uint32_t id;

	buf_reset(&n->key);
	buf_bytes(&n->key, service.s, service.len);
	buf_u8(&n->key, 0);
	buf_bytes(&n->key, what.s, what.len);
	if (n->key.failed)
		return NULL;
	id = texts_find(n->texts, (char *)n->key.data, n->key.len);
	if (id != UINT32_MAX)
		return n->all[id];
	if (is_full(n)) {
		if (!same_text(what, others)) {
			*other = true;
			return find(n, n->further < FURTHER_MAX ? service : others, others, other);
		}
		n->further++;
	}
	if (texts_intern(n->texts, (char *)n->key.data, n->key.len) == UINT32_MAX)
		return NULL;
	return name_new(n, service.len, what.len);
}

/* Hashes the first and last 8 bytes and the lengths, to an index of `recent`. */
static inline uint32_t
cheap_hash(struct text_view a, struct text_view b)
{
	uint64_t first = 0, last = 0, service = 0;

	memcpy(&first, b.s, b.len < 8 ? b.len : 8);
	if (b.len > 8)
		memcpy(&last, b.s + b.len - 8, 8);
	if (a.len >= 8)
		memcpy(&service, a.s + (a.len > 12 ? 4 : 0), 8);
	else
		memcpy(&service, a.s, a.len);
	return (uint32_t)(hash_u64(first ^ (last << 1 | last >> 63) ^ service * 0x9e3779b97f4a7c15 ^
				   (uint64_t)a.len << 32 ^ b.len) %
			  RECENT);
}

static inline struct text_view
cut(struct text_view t)
{
	return (struct text_view){ t.len > 0 ? t.s : "",
		t.len < LABEL_TEXT_MAX ? t.len : LABEL_TEXT_MAX };
}

struct span_name *
span_names_of(struct span_names *n, const struct span *s, bool *other)
{
	struct text_view service = cut(s->service), what = cut(s->name);
	struct span_name **place = &n->recent[cheap_hash(service, what)], *found;

	*other = false;
	if (*place != NULL && same_text((*place)->service, service) &&
	    same_text((*place)->name, what))
		return *place;
	found = find(n, service, what, other);
	if (found != NULL && !*other)
		*place = found;
	return found;
}

/* ---- values ---- */

/* Ensures space for one more field. */
static bool
fields_room(struct span_names *n, struct span_name *name)
{
	uint32_t cap = name->fields_cap != 0 ? 2 * name->fields_cap : FIELDS_FIRST;
	const char **fields, **keys;
	uint32_t *lens;

	if (name->nfields < name->fields_cap)
		return true;
	fields = arena_alloc(&n->arena, cap * sizeof *fields);
	keys = arena_alloc(&n->arena, cap * sizeof *keys);
	lens = arena_alloc(&n->arena, cap * sizeof *lens);
	if (fields == NULL || keys == NULL || lens == NULL)
		return false;
	for (uint32_t i = 0; i < name->nfields; i++) {
		fields[i] = name->fields[i];
		keys[i] = name->keys[i];
		lens[i] = name->lens[i];
	}
	name->fields = fields;
	name->keys = keys;
	name->lens = lens;
	name->fields_cap = cap;
	return true;
}

/* The index of a key's field, which is added if it is new. UINT32_MAX: the key cannot be added;
 * *failed: out of memory. */
static uint32_t
field_of(struct span_names *n, struct span_name *name, const char *key, uint32_t len, bool *failed)
{
	char *copy, *raw;

	for (uint32_t i = 0; i < name->nfields; i++)
		if (name->lens[i] == len && memcmp(name->keys[i], key, len) == 0)
			return i;
	if (name->fixed || name->nfields == RECORD_VALUES_MAX || len == 0 || len > VALUE_TEXT_MAX ||
	    memchr(key, 0, len) != NULL)
		return UINT32_MAX;
	copy = raw = arena_text(&n->arena, key, len);
	if (raw != NULL && !is_ascii(key, len) && (copy = arena_text(&n->arena, key, len)) != NULL)
		text_clean(copy, len);
	if (copy == NULL || !fields_room(n, name)) {
		*failed = true;
		return UINT32_MAX;
	}
	name->fields[name->nfields] = copy;
	name->keys[name->nfields] = raw;
	name->lens[name->nfields] = len;
	return name->nfields++;
}

static bool
copy_value(struct value *to, const struct value *from, struct arena *a)
{
	char *text;

	*to = *from;
	if (from->type != VALUE_TEXT)
		return true;
	to->len = from->len < VALUE_TEXT_MAX ? from->len : VALUE_TEXT_MAX;
	if ((text = arena_copy(a, from->len > 0 ? from->text : "", to->len)) == NULL)
		return false;
	text_clean(text, to->len);
	to->text = text;
	return true;
}

bool
span_names_values(struct span_names *n, struct span_name *name, const struct span *s,
    struct arena *a, const struct value **values, uint32_t *nvalues)
{
	struct value *v;
	bool failed = false;

	*nvalues = 0;
	*values = NULL;
	if (s->nattributes == 0 && !s->failed)
		return true;
	if (name->failed == UINT32_MAX)
		name->failed = field_of(n, name, "failed", 6, &failed);
	/* All fields are added before the array of values is allocated. */
	for (uint32_t i = 0; i < s->nattributes && !name->fixed; i++)
		field_of(n, name, s->attributes[i].key, s->attributes[i].key_len, &failed);
	if (failed)
		return false;
	if (name->nfields == 0)
		return true;
	if ((v = arena_calloc(a, name->nfields, sizeof *v)) == NULL)
		return false;
	for (uint32_t i = 0; i < s->nattributes; i++) {
		const struct attribute *at = &s->attributes[i];
		/* Attributes usually arrive in the order of the fields, after `failed`. */
		uint32_t f = i + 1 < name->nfields && name->lens[i + 1] == at->key_len &&
		                     memcmp(name->keys[i + 1], at->key, at->key_len) == 0
		                 ? i + 1
		                 : field_of(n, name, at->key, at->key_len, &failed);

		if (f < name->nfields && !copy_value(&v[f], &at->value, a))
			return false;
	}
	if (name->failed < name->nfields && v[name->failed].type == VALUE_NONE)
		v[name->failed] = (struct value){ .type = VALUE_UINT, .u = s->failed };
	*values = v;
	*nvalues = name->nfields;
	return true;
}

/* ---- labels ---- */

static bool
has_fields(const struct label *l, const struct span_name *name)
{
	bool same = l->nfields == name->nfields;

	for (uint32_t i = 0; i < name->nfields && same; i++)
		same = strcmp(l->fields[i], name->fields[i]) == 0;
	return same;
}

/* Writes "SERVICE/hone:EVENT(NAME)" to the key. */
static bool
put_label(struct span_names *n, struct text_view service, const char *event, struct text_view name)
{
	buf_reset(&n->key);
	put_part(&n->key, service, SERVICE_MAX, true);
	buf_printf(&n->key, "/hone:%s(", event);
	put_part(&n->key, name, LABEL_TEXT_MAX - n->key.len - 1, false);
	buf_u8(&n->key, ')');
	return !n->key.failed;
}

uint32_t
span_names_fork_label(
    struct span_names *n, const struct span_name *parent, const struct span_name *child)
{
	if (!put_label(n, parent->service, "fork", child->name))
		return LABEL_NONE;
	return labels_intern(n->labels, RECORD_FORK, (char *)n->key.data, n->key.len, NULL, 0);
}

uint32_t
span_names_label(struct span_names *n, struct span_name *name, enum span_name_use use)
{
	static const char *const events[] = { "request_begin", "request_end", "unit_begin",
		"unit_end" };
	static const uint8_t kinds[] = { RECORD_REQUEST_BEGIN, RECORD_REQUEST_END,
		RECORD_UNIT_BEGIN, RECORD_UNIT_END };
	bool begins = use == NAME_REQUEST_BEGIN || use == NAME_UNIT_BEGIN;
	uint32_t id = name->labels[use];

	if (id != LABEL_NONE)
		return id;
	if (!put_label(n, name->service, events[use], name->name))
		return LABEL_NONE;
	id = labels_intern(n->labels, kinds[use], (char *)n->key.data, n->key.len,
	    begins ? name->fields : NULL, begins ? name->nfields : 0);
	if (id == LABEL_NONE)
		return LABEL_NONE;
	name->fixed = true;
	/* Names that differ only in bytes that a label cannot contain share a label, with the fields of
	 * the first name. */
	if (begins && !has_fields(labels_get(n->labels, id), name))
		name->nfields = 0;
	return name->labels[use] = id;
}
