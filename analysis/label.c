/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Labels. A label's number is the number of its text; what else is known of it stands in an array beside. */
#include <stdlib.h>
#include <string.h>

#include "analysis/label.h"
#include "base/arena.h"

enum { TEXT_HASH_SEED = 0x686f6e65 };	/* a constant: a label's hash is the same on every run */

struct entry {
	struct label label;
	struct hash128 hash;
};

struct labels {
	struct texts *texts;
	struct arena arena;	/* entries and fields; entries never move, so labels_get() stays valid */
	struct entry **entries;
	uint32_t count, cap;
};

struct labels *
labels_new(void)
{
	struct labels *l = calloc(1, sizeof *l);

	if (l == NULL)
		return NULL;
	if ((l->texts = texts_new()) == NULL) {
		free(l);
		return NULL;
	}
	return l;
}

void
labels_free(struct labels *l)
{
	if (l == NULL)
		return;
	texts_free(l->texts);
	arena_release(&l->arena);
	free(l->entries);
	free(l);
}

/*
 *	service/provider:event(name)
 *	        '--- event ---'
 *
 * Only structure records carry a name, and it may hold anything, brackets too.
 */
static bool
parse(struct label *ret, const char *text, size_t len, enum record_kind kind)
{
	const char *slash = memchr(text, '/', len), *open = NULL;

	if (slash == NULL || slash == text || slash + 1 == text + len || memchr(text, '\0', len) != NULL)
		return false;
	ret->text = text;
	ret->service_len = (uint32_t)(slash - text);
	ret->event = slash + 1;
	ret->event_len = (uint32_t)(text + len - ret->event);
	ret->name = text + len;
	ret->name_len = 0;
	ret->kind = (uint8_t)kind;
	if (kind != RECORD_POINT && text[len - 1] == ')')
		open = memchr(ret->event, '(', ret->event_len);
	if (open != NULL) {
		ret->event_len = (uint32_t)(open - ret->event);
		ret->name = open + 1;
		ret->name_len = (uint32_t)(text + len - 1 - ret->name);
	}
	return true;
}

static const char *const *
copy_fields(struct labels *l, const char *const *fields, uint32_t n)
{
	const char **copy = arena_calloc(&l->arena, n + 1, sizeof *copy);

	for (uint32_t i = 0; copy != NULL && i < n; i++)
		if ((copy[i] = arena_text(&l->arena, fields[i], strlen(fields[i]))) == NULL)
			return NULL;
	return copy;
}

static bool
make_room(struct labels *l)
{
	uint32_t cap = l->cap != 0 ? l->cap * 2 : 64;
	struct entry **more;

	if (l->count < l->cap)
		return true;
	if ((more = realloc(l->entries, cap * sizeof *more)) == NULL)
		return false;
	l->entries = more;
	l->cap = cap;
	return true;
}

uint32_t
labels_intern(struct labels *l, enum record_kind kind, const char *text, size_t len, const char *const *fields,
    uint32_t nfields)
{
	uint32_t id = texts_find(l->texts, text, len);
	struct label parsed;
	struct entry *e;

	if (id != UINT32_MAX)
		return id;
	if (len > LABEL_TEXT_MAX || !parse(&parsed, text, len, kind))
		return LABEL_NONE;
	e = arena_calloc(&l->arena, 1, sizeof *e);
	if (e == NULL || !make_room(l) || (e->label.fields = copy_fields(l, fields, nfields)) == NULL ||
	    (id = texts_intern(l->texts, text, len)) == UINT32_MAX)
		return LABEL_NONE;
	parse(&e->label, texts_get(l->texts, id), len, kind);
	e->label.nfields = nfields;
	e->hash = hash_bytes128(TEXT_HASH_SEED, text, len);
	l->entries[l->count++] = e;
	return id;
}

uint32_t
labels_find(const struct labels *l, const char *text, size_t len)
{
	return texts_find(l->texts, text, len);
}

const struct label *
labels_get(const struct labels *l, uint32_t id)
{
	return &l->entries[id]->label;
}

struct hash128
labels_hash(const struct labels *l, uint32_t id)
{
	return l->entries[id]->hash;
}

uint32_t
labels_count(const struct labels *l)
{
	return l->count;
}

static bool
set_room(struct label_set *s, uint32_t nwords)
{
	uint64_t *words;

	if (nwords <= s->nwords)
		return true;
	if ((words = realloc(s->words, nwords * sizeof *words)) == NULL)
		return false;
	memset(words + s->nwords, 0, (nwords - s->nwords) * sizeof *words);
	s->words = words;
	s->nwords = nwords;
	return true;
}

bool
label_set_add(struct label_set *s, uint32_t id)
{
	if (!set_room(s, id / 64 + 1))
		return false;
	s->words[id / 64] |= UINT64_C(1) << (id % 64);
	return true;
}

void
label_set_del(struct label_set *s, uint32_t id)
{
	if (id / 64 < s->nwords)
		s->words[id / 64] &= ~(UINT64_C(1) << (id % 64));
}

bool
label_set_copy(struct label_set *to, const struct label_set *from)
{
	if (!set_room(to, from->nwords))
		return false;
	if (from->nwords > 0)
		memcpy(to->words, from->words, from->nwords * sizeof *to->words);
	if (to->nwords > from->nwords)
		memset(to->words + from->nwords, 0, (to->nwords - from->nwords) * sizeof *to->words);
	return true;
}

void
label_set_release(struct label_set *s)
{
	free(s->words);
	*s = (struct label_set){ 0 };
}
