/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agent/reader/source_labels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/hash.h"

enum { NAME_MAX_BYTES = 63, KEY_MAX = 8192 };

int
source_labels_init(struct source_labels *l, uint32_t max)
{
	memset(l, 0, sizeof *l);
	l->max = max;
	l->keys = texts_new();
	l->bases = texts_new();
	return l->keys == NULL || l->bases == NULL ? ERR_MEMORY : 0;
}

void
source_labels_release(struct source_labels *l)
{
	texts_free(l->keys);
	texts_free(l->bases);
	free(l->labels);
	free(l->slots);
	arena_release(&l->arena);
	memset(l, 0, sizeof *l);
}

/* A label is shown to people and split at its slash, so a program's name must not bring either
 * harm. */
static size_t
put_clean(char *out, const char *text, size_t len, bool slash)
{
	for (size_t i = 0; i < len; i++)
		out[i] = (unsigned char)text[i] < 0x20 || text[i] == 0x7f ||
		                 (slash && text[i] == '/')
		             ? '_'
		             : text[i];
	return len;
}

static size_t
put_base(char *out, const char *service, const char *event)
{
	size_t len = put_clean(out, service, strnlen(service, 63), true);

	out[len++] = '/';
	return len + put_clean(out + len, event, strnlen(event, 255), false);
}

/* Room for one more; the entry is filled in from the key, which begins with the label's text. */
static bool
add(struct source_labels *l, enum record_kind kind, uint32_t len, const char **fields,
    uint32_t nfields)
{
	if (l->count == l->cap) {
		uint32_t cap = l->cap > 0 ? l->cap * 2 : 64;
		struct batch_label *grown = realloc(l->labels, cap * sizeof *grown);
		if (grown == NULL)
			return false;
		l->labels = grown;
		l->cap = cap;
	}
	const char **copy = arena_alloc(&l->arena, (nfields + 1) * sizeof *copy);
	if (copy == NULL)
		return false;
	for (uint32_t i = 0; i < nfields; i++)
		if ((copy[i] = arena_text(&l->arena, fields[i], strlen(fields[i]))) == NULL)
			return false;
	l->labels[l->count] = (struct batch_label){
		.kind = (uint8_t)kind,
		.len = len,
		.nfields = nfields,
		.text = texts_get(l->keys, l->count),
		.fields = copy,
	};
	l->count++;
	return true;
}

/* Makes a text a key: text, 0, kind, and the fields' names, each with its 0. */
static size_t
put_fields(char *key, size_t at, enum record_kind kind, const char **fields, uint32_t nfields)
{
	key[at++] = '\0';
	key[at++] = (char)('0' + kind);
	for (uint32_t i = 0; i < nfields; i++) {
		size_t n = strlen(fields[i]) + 1;
		if (at + n > KEY_MAX)
			break;
		memcpy(key + at, fields[i], n);
		at += n;
	}
	return at;
}

static uint32_t
intern(struct source_labels *l, char *key, size_t len, enum record_kind kind, const char **fields,
    uint32_t nfields)
{
	size_t at = put_fields(key, len, kind, fields, nfields);

	uint32_t id = texts_find(l->keys, key, at);
	if (id != UINT32_MAX)
		return id;
	if (texts_intern(l->keys, key, at) != l->count ||
	    !add(l, kind, (uint32_t)len, fields, nfields))
		return UINT32_MAX;
	return l->count - 1;
}

uint32_t
source_labels_get(struct source_labels *l, enum record_kind kind, const char *service,
    const char *event, const char **fields, uint32_t nfields)
{
	char key[KEY_MAX];

	return intern(l, key, put_base(key, service, event), kind, fields, nfields);
}

uint32_t
source_labels_base(struct source_labels *l, enum record_kind kind, const char *service,
    const char *event, const char **fields, uint32_t nfields)
{
	char key[KEY_MAX];

	return texts_intern(
	    l->bases, key, put_fields(key, put_base(key, service, event), kind, fields, nfields));
}

static bool
grow_slots(struct source_labels *l)
{
	uint32_t n = l->nslots > 0 ? l->nslots * 2 : 256;
	struct label_slot *slots = calloc(n, sizeof *slots);

	if (slots == NULL)
		return false;
	for (uint32_t i = 0; i < l->nslots; i++) {
		uint32_t at = (uint32_t)l->slots[i].hash & (n - 1);
		if (l->slots[i].label == 0)
			continue;
		while (slots[at].label != 0)
			at = (at + 1) & (n - 1);
		slots[at] = l->slots[i];
	}
	free(l->slots);
	l->slots = slots;
	l->nslots = n;
	return true;
}

/* Does this label say base(name)? */
static bool
is_label(const struct batch_label *label, size_t base_len, const char *clean, size_t len)
{
	return label->len == base_len + len + 2 &&
	       memcmp(label->text + base_len + 1, clean, len) == 0;
}

static uint32_t
make_named(struct source_labels *l, uint32_t base, enum record_kind kind, const char *clean,
    size_t len, const char **fields, uint32_t nfields)
{
	char key[KEY_MAX];
	const char *text = texts_get(l->bases, base);

	if (l->count >= l->max) {
		clean = "other";
		len = 5;
	}
	size_t at = strlen(text);
	memcpy(key, text, at);
	key[at++] = '(';
	memcpy(key + at, clean, len);
	at += len;
	key[at++] = ')';
	return intern(l, key, at, kind, fields, nfields);
}

uint32_t
source_labels_named(struct source_labels *l, uint32_t base, enum record_kind kind, const char *name,
    size_t len, const char **fields, uint32_t nfields)
{
	char clean[NAME_MAX_BYTES];

	if (len > NAME_MAX_BYTES)
		len = NAME_MAX_BYTES;
	put_clean(clean, name, len, false);
	if (l->used * 4 >= l->nslots * 3 && !grow_slots(l))
		return UINT32_MAX;
	uint64_t hash = hash_bytes(base, clean, len);
	size_t base_len = strlen(texts_get(l->bases, base));
	uint32_t at = (uint32_t)hash & (l->nslots - 1);
	for (; l->slots[at].label != 0; at = (at + 1) & (l->nslots - 1))
		if (l->slots[at].hash == hash && l->slots[at].base == base &&
		    is_label(&l->labels[l->slots[at].label - 1], base_len, clean, len))
			return l->slots[at].label - 1;
	uint32_t id = make_named(l, base, kind, clean, len, fields, nfields);
	if (id != UINT32_MAX && l->count <= l->max &&
	    is_label(&l->labels[id], base_len, clean, len)) {
		l->slots[at] = (struct label_slot){ hash, base, id + 1 };
		l->used++;
	}
	return id;
}
