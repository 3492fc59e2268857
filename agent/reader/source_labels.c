/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agent/reader/source_labels.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"

enum {
	NAME_MAX_BYTES = 63,
	KEY_MAX = 8192,
	SERVICES_MIN = 16,   /* more may come */
	SERVICES_MAX = 1024, /* further ones count as one */
};

int
source_labels_init(struct source_labels *l, uint32_t max)
{
	memset(l, 0, sizeof *l);
	l->max = max;
	l->keys = texts_new();
	l->bases = texts_new();
	l->services = texts_new();
	return l->keys == NULL || l->bases == NULL || l->services == NULL ? ERR_MEMORY : 0;
}

void
source_labels_release(struct source_labels *l)
{
	texts_free(l->keys);
	texts_free(l->bases);
	texts_free(l->services);
	free(l->service_of);
	free(l->names_of);
	free(l->labels);
	free(l->base_of);
	hash_table_release(&l->named);
	arena_release(&l->arena);
	memset(l, 0, sizeof *l);
}

/* Labels are printed on terminals and split at their first slash. */
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

/* Appends the label of the last key, which begins with the label's text. */
static bool
add(struct source_labels *l, enum record_kind kind, uint32_t len, const char **fields,
    uint32_t nfields)
{
	if (!array_reserve(l->labels, l->cap, l->count + 1) ||
	    !array_reserve(l->base_of, l->base_cap, l->count + 1))
		return false;
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
	l->base_of[l->count] = UINT32_MAX;
	l->count++;
	return true;
}

/* Appends kind and names of the fields to the text of a label, which makes it a key. Returns its
 * length. */
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

/* The number of the service; UINT32_MAX: out of memory. */
static uint32_t
service_of(struct source_labels *l, const char *service)
{
	uint32_t n = texts_count(l->services),
		 id = texts_find(l->services, service, strlen(service));

	if (id != UINT32_MAX)
		return id;
	if (n == SERVICES_MAX)
		return n - 1;
	if (!array_reserve(l->names_of, l->names_cap, n + 1))
		return UINT32_MAX;
	l->names_of[n] = 0;
	return texts_intern(l->services, service, strlen(service));
}

uint32_t
source_labels_base(struct source_labels *l, enum record_kind kind, const char *service,
    const char *event, const char **fields, uint32_t nfields)
{
	char key[KEY_MAX];
	size_t len = put_fields(key, put_base(key, service, event), kind, fields, nfields);
	uint32_t id = texts_find(l->bases, key, len), its;

	if (id != UINT32_MAX)
		return id;
	if ((its = service_of(l, service)) == UINT32_MAX ||
	    !array_reserve(l->service_of, l->service_cap, texts_count(l->bases) + 1))
		return UINT32_MAX;
	l->service_of[texts_count(l->bases)] = its;
	return texts_intern(l->bases, key, len);
}

/* Whether a label with another name may be made for the base. */
static bool
has_room(const struct source_labels *l, uint32_t base)
{
	uint32_t half = l->max / 2, n = texts_count(l->services);

	return l->count < half ||
	       (l->count < l->max &&
		   l->names_of[l->service_of[base]] < half / (n > SERVICES_MIN ? n : SERVICES_MIN));
}

/* Whether the label's text is "base(clean)", for a label of that base. */
static bool
has_name(const struct batch_label *label, size_t base_len, const char *clean, size_t len)
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

	if (!has_room(l, base)) {
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
	const struct hash_slot *slot;
	char clean[NAME_MAX_BYTES];
	size_t base_len;
	uint64_t hash;
	uint32_t id;

	assert(base < texts_count(l->bases));
	if (len > NAME_MAX_BYTES)
		len = NAME_MAX_BYTES;
	put_clean(clean, name, len, false);
	hash = hash_bytes(base, clean, len);
	base_len = strlen(texts_get(l->bases, base));
	for (slot = hash_table_first(&l->named, hash); slot != NULL;
	     slot = hash_table_next(&l->named, slot))
		if (l->base_of[slot->entry] == base &&
		    has_name(&l->labels[slot->entry], base_len, clean, len))
			return slot->entry;
	id = make_named(l, base, kind, clean, len, fields, nfields);
	/* The label "other" stands for many names, so it is not found by name. */
	if (id != UINT32_MAX && has_name(&l->labels[id], base_len, clean, len)) {
		l->base_of[id] = base;
		l->names_of[l->service_of[base]] += l->count > l->max / 2;
		hash_table_put(&l->named, hash, id);
	}
	return id;
}
