/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Labels, the alphabet of paths: "service/provider:event", for structure records followed by
 * their name in brackets. Equal texts have equal numbers for the lifetime of the table; the
 * layers above use numbers only.
 *
 * One thread adds labels. Other threads may read labels whose numbers they were given (through
 * a queue, for example): a label neither moves nor changes.
 */
#ifndef ANALYSIS_LABEL_H
#define ANALYSIS_LABEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "wire/record.h"

enum { LABEL_NONE = UINT32_MAX };

struct label {
	const char *text;  /* terminated */
	const char *event; /* within text: "provider:event", event_len bytes */
	/* Within text: the part in brackets, name_len bytes; "" without. */
	const char *name;
	uint32_t service_len, event_len, name_len;
	uint32_t nfields;
	const char *const *fields; /* terminated */
	uint8_t kind;              /* enum record_kind */
	bool silent;               /* links units, but is no step of a path; its text is "" */
};

struct labels;

struct labels *labels_new(void); /* NULL: out of memory */
void labels_free(struct labels *l);

/* The number of a label, from 0; a new label is added. Kind and fields are those of the first
 * call with this text. LABEL_NONE: out of memory, more than 4,194,304 labels, or malformed (no
 * service, a NUL, longer than LABEL_TEXT_MAX). O(length). */
uint32_t labels_intern(struct labels *l, enum record_kind kind, const char *text, size_t len,
    const char *const *fields, uint32_t nfields);
/* The silent label of this kind, for structure that no program recorded but that a reader of
 * trace files derived. LABEL_NONE: out of memory. */
uint32_t labels_silent(struct labels *l, enum record_kind kind);
/* Or LABEL_NONE */
uint32_t labels_find(const struct labels *l, const char *text, size_t len);
/* Id < labels_count(l); valid while l lives. */
const struct label *labels_get(const struct labels *l, uint32_t id);
bool label_of_service(const struct label *l, const char *service);
struct hash128 labels_hash(
    const struct labels *l, uint32_t id); /* of its text: the same on every run */
uint32_t labels_count(const struct labels *l);

/* Kinds of all labels as dense arrays, for loops over events: kind_in(labels_kinds(l), id) is
 * the kind of the label, with bit KIND_SILENT set if it is silent. Valid while l lives, also
 * for labels added later. */
enum { KINDS_EACH = 512, KIND_SILENT = 64 };

const uint8_t *const *labels_kinds(const struct labels *l);

static inline uint8_t
kind_in(const uint8_t *const *kinds, uint32_t id)
{
	return kinds[id / KINDS_EACH][id % KINDS_EACH];
}

/* A set of labels; all zeroes is empty. Adding and copying return false when out of memory, and
 * leave the set as it was. Memory: largest id / 8 bytes. */
struct label_set {
	uint64_t *words;
	uint32_t nwords;
};

static inline bool
label_set_has(const struct label_set *s, uint32_t id)
{
	return id / 64 < s->nwords && (s->words[id / 64] >> (id % 64) & 1);
}

bool label_set_add(struct label_set *s, uint32_t id);
void label_set_del(struct label_set *s, uint32_t id);
bool label_set_copy(struct label_set *to, const struct label_set *from);
void label_set_release(struct label_set *s);

#endif
