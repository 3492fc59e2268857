/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Labels. The number of a label is the number of its text. Everything else about a label is in
 * chunks that never move, and neither does the array of chunks: a thread that was given a
 * number finds the label while another thread adds new ones.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/label.h"
#include "base/arena.h"
#include "base/array.h"
#include "base/texts.h"

enum {
	/* Constant, so that the hash of a label is the same on every run. */
	TEXT_HASH_SEED = 0x686f6e65,
	CHUNK_LABELS = KINDS_EACH,
	CHUNKS_MAX = 8192,
	/* a silent label is stored under a text that no other label can have: NUL and its kind */
	SILENT_LEN = 2
};

struct label_entry {
	struct label label;
	struct hash128 hash;
};

struct label_chunk {
	struct label_entry entries[CHUNK_LABELS];
	uint8_t kinds[CHUNK_LABELS];
};

struct labels {
	struct texts *texts;
	struct arena arena; /* of field names */
	uint32_t count;
	struct label_chunk *chunks[CHUNKS_MAX];
	const uint8_t *kinds[CHUNKS_MAX]; /* of each chunk */
};

static inline struct label_entry *
entry_at(const struct labels *l, uint32_t id)
{
	return &l->chunks[id / CHUNK_LABELS]->entries[id % CHUNK_LABELS];
}

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
	for (uint32_t i = 0; i < CHUNKS_MAX && l->chunks[i] != NULL; i++)
		free(l->chunks[i]);
	free(l);
}

/*
 * Splits the text of a label:
 *
 *	service/provider:event(name)
 *	        '--- event ---'
 *
 * Only labels of structure records have a name; a name may contain any characters, brackets
 * too.
 */
static bool
parse(struct label *ret, const char *text, size_t len, enum record_kind kind)
{
	const char *slash = memchr(text, '/', len), *open = NULL;

	if (slash == NULL || slash == text || slash + 1 == text + len ||
	    memchr(text, '\0', len) != NULL)
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

/* Room for the label with the next number; NULL: out of memory or numbers. */
static struct label_entry *
make_room(struct labels *l)
{
	uint32_t at = l->count / CHUNK_LABELS;

	if (at == CHUNKS_MAX)
		return NULL;
	if (l->chunks[at] == NULL) { /* Written once: other threads read it. */
		if ((l->chunks[at] = calloc(1, sizeof *l->chunks[at])) == NULL)
			return NULL;
		l->kinds[at] = l->chunks[at]->kinds;
	}
	return entry_at(l, l->count);
}

/* Publishes the label in that room. Returns its number. */
static uint32_t
add(struct labels *l, const struct label_entry *e)
{
	l->chunks[l->count / CHUNK_LABELS]->kinds[l->count % CHUNK_LABELS] = e->label.kind |
	                                                                     (e->label.silent
										     ? KIND_SILENT
										     : 0);
	return l->count++;
}

uint32_t
labels_intern(struct labels *l, enum record_kind kind, const char *text, size_t len,
    const char *const *fields, uint32_t nfields)
{
	uint32_t id = texts_find(l->texts, text, len);
	struct label parsed;
	struct label_entry *e;

	if (id != UINT32_MAX)
		return id;
	if (len > LABEL_TEXT_MAX || !parse(&parsed, text, len, kind))
		return LABEL_NONE;
	if ((e = make_room(l)) == NULL ||
	    (parsed.fields = copy_fields(l, fields, nfields)) == NULL ||
	    (id = texts_intern(l->texts, text, len)) == UINT32_MAX)
		return LABEL_NONE;
	e->label = (struct label){ .fields = parsed.fields, .nfields = nfields };
	parse(&e->label, texts_get(l->texts, id), len, kind);
	e->hash = hash_bytes128(TEXT_HASH_SEED, text, len);
	return add(l, e);
}

uint32_t
labels_silent(struct labels *l, enum record_kind kind)
{
	static const char *const no_fields[1];
	const char text[SILENT_LEN] = { '\0', (char)kind };
	uint32_t id = texts_find(l->texts, text, sizeof text);
	struct label_entry *e;

	if (id != UINT32_MAX)
		return id;
	if ((e = make_room(l)) == NULL ||
	    (id = texts_intern(l->texts, text, sizeof text)) == UINT32_MAX)
		return LABEL_NONE;
	e->label = (struct label){ .text = "",
		.event = "",
		.name = "",
		.fields = no_fields,
		.kind = (uint8_t)kind,
		.silent = true };
	e->hash = hash_bytes128(TEXT_HASH_SEED, text, sizeof text);
	return add(l, e);
}

uint32_t
labels_find(const struct labels *l, const char *text, size_t len)
{
	return texts_find(l->texts, text, len);
}

const struct label *
labels_get(const struct labels *l, uint32_t id)
{
	return &entry_at(l, id)->label;
}

bool
label_of_service(const struct label *l, const char *service)
{
	return strlen(service) == l->service_len && memcmp(service, l->text, l->service_len) == 0;
}

struct hash128
labels_hash(const struct labels *l, uint32_t id)
{
	return entry_at(l, id)->hash;
}

const uint8_t *const *
labels_kinds(const struct labels *l)
{
	return l->kinds;
}

uint32_t
labels_count(const struct labels *l)
{
	return l->count;
}

/* The words are all in use or 0, so their number is also the capacity. */
static bool
set_room(struct label_set *s, uint32_t nwords)
{
	uint32_t n = s->nwords;

	if (!array_reserve(s->words, s->nwords, nwords))
		return false;
	for (; n < s->nwords; n++)
		s->words[n] = 0;
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
		memset(
		    to->words + from->nwords, 0, (to->nwords - from->nwords) * sizeof *to->words);
	return true;
}

void
label_set_release(struct label_set *s)
{
	free(s->words);
	*s = (struct label_set){ 0 };
}
