/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From what spans are called to labels. A label's fields are fixed when it is
 * made; so a name gathers the keys of its spans' attributes until the first
 * trace with it is built, and keeps them from then on. Used by span_set.c alone.
 */
#ifndef FORMATS_SPAN_NAMES_H
#define FORMATS_SPAN_NAMES_H

#include "analysis/label.h"
#include "base/arena.h"
#include "formats/trace_span.h"

enum { /* further ones are called "(other)": some tools put ids into names */
	SPAN_NAMES_MAX = 65536,
	SPAN_NAMES_MAX_BYTES =
	    16 << 20 /* of their texts and fields; their labels take as much again */
};

enum span_name_use {
	NAME_REQUEST_BEGIN,
	NAME_REQUEST_END,
	NAME_UNIT_BEGIN,
	NAME_UNIT_END,
	NAME_USES
};

struct span_name {
	struct text_view service,
	    name; /* at most LABEL_TEXT_MAX bytes of each: more does not go into a label */
	uint32_t labels[NAME_USES]; /* LABEL_NONE: not made yet */
	bool fixed;                 /* no field is added any more */
	uint32_t nfields, fields_cap;
	uint32_t failed;     /* which field says whether a span failed; UINT32_MAX: none */
	const char **fields; /* terminated, UTF-8 */
	const char **keys;   /* as they came */
	uint32_t *lens;      /* of both */
};

struct span_names;

struct span_names *span_names_new(struct labels *l); /* NULL: out of memory */
void span_names_free(struct span_names *n);

/* The span's name; it stays where it is. *other: it is one too many. NULL: out of memory.
 * O(length). */
struct span_name *span_names_of(struct span_names *n, const struct span *s, bool *other);

/* The span's attributes in the order of the name's fields, copied into the arena, with `failed`.
 * *nvalues may be less than the name's fields are in the end; NULL with *nvalues 0: it has none.
 * False: out of memory. Texts are made UTF-8: what is not becomes '?'. O(attributes) where they
 * come in the same order as before. */
bool span_names_values(struct span_names *n, struct span_name *name, const struct span *s,
    struct arena *a, const struct value **values, uint32_t *nvalues);

/* Makes it if need be, and fixes the fields. LABEL_NONE: out of memory. */
uint32_t span_names_label(struct span_names *n, struct span_name *name, enum span_name_use use);

/* Makes bytes UTF-8 in place: what is not becomes '?'. O(len). */
void text_clean(char *s, size_t len);

#endif
