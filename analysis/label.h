/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Labels: the words that paths are made of. "service/provider:event", for
 * structure records with their name in brackets. Equal texts have equal numbers
 * for as long as the table lives; everything above speaks in numbers.
 *
 * One thread makes labels; others may look up those whose numbers were handed to
 * them (by a queue, say): a label does not move and does not change.
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
	const char *event; /* in text: "provider:event", up to event_len */
	const char *name;  /* in text: what stands in the brackets, up to name_len; "" without */
	uint32_t service_len, event_len, name_len;
	uint32_t nfields;
	const char *const *fields; /* terminated */
	uint8_t kind;              /* enum record_kind */
	bool silent;               /* ties units, but is no step of a path; its text is "" */
};

struct labels;

struct labels *labels_new(void); /* NULL: out of memory */
void labels_free(struct labels *l);

/* The number of a label, from 0 up. Its fields are those it is first seen with. LABEL_NONE: out of
 * memory or malformed (no service, over LABEL_TEXT_MAX). O(length). */
uint32_t labels_intern(struct labels *l, enum record_kind kind, const char *text, size_t len,
    const char *const *fields, uint32_t nfields);
/* The label of structure that no program recorded: a reader put it in where it knows how units hang
 * together. */
uint32_t labels_silent(struct labels *l, enum record_kind kind); /* or LABEL_NONE: out of memory */
uint32_t labels_find(const struct labels *l, const char *text, size_t len); /* or LABEL_NONE */
const struct label *labels_get(const struct labels *l, uint32_t id); /* valid while l lives */
bool label_of_service(const struct label *l, const char *service);
struct hash128 labels_hash(
    const struct labels *l, uint32_t id); /* of its text: the same on every run */
uint32_t labels_count(const struct labels *l);

/* Kinds alone, dense, for those who look at every event: kind_in(labels_kinds(l), id) is the
 * label's kind, with KIND_SILENT beside it if it is silent. Valid while l lives, also for labels
 * that are made later. */
enum { KINDS_EACH = 512, KIND_SILENT = 64 };

const uint8_t *const *labels_kinds(const struct labels *l);

static inline uint8_t
kind_in(const uint8_t *const *kinds, uint32_t id)
{
	return kinds[id / KINDS_EACH][id % KINDS_EACH];
}

/* A set of labels; all zeroes is empty. */
struct label_set {
	uint64_t *words;
	uint32_t nwords;
};

static inline bool
label_set_has(const struct label_set *s, uint32_t id)
{
	return id / 64 < s->nwords && (s->words[id / 64] >> (id % 64) & 1);
}

bool label_set_add(struct label_set *s, uint32_t id); /* false: out of memory */
void label_set_del(struct label_set *s, uint32_t id);
bool label_set_copy(struct label_set *to, const struct label_set *from);
void label_set_release(struct label_set *s);

#endif
