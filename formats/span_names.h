/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Names of spans, and their labels. The fields of a label are fixed when it is made. So a name
 * collects the attribute keys of its spans until the first trace with it is made, and keeps these
 * fields from then on. Used by span_set.c, tree.c and as_recorded.c.
 */
#ifndef FORMATS_SPAN_NAMES_H
#define FORMATS_SPAN_NAMES_H

#include "analysis/label.h"
#include "base/arena.h"
#include "formats/trace_span.h"

enum { /* names beyond these bounds become "(other)": some tools put ids into names */
	SPAN_NAMES_MAX = 65536,
	SPAN_NAMES_MAX_BYTES = 16 << 20 /* the default bound */
};

enum span_name_use {
	NAME_REQUEST_BEGIN,
	NAME_REQUEST_END,
	NAME_UNIT_BEGIN,
	NAME_UNIT_END,
	NAME_USES
};

struct span_name {
	/* the first LABEL_TEXT_MAX bytes of each; a label holds no more */
	struct text_view service, name;
	uint32_t labels[NAME_USES]; /* LABEL_NONE: not made yet */
	bool fixed;                 /* no further field is added */
	uint32_t nfields, fields_cap;
	uint32_t failed;     /* index of the field "failed"; UINT32_MAX: none */
	const char **fields; /* terminated, UTF-8 */
	const char **keys;   /* as read */
	uint32_t *lens;      /* of fields and keys */
};

struct span_names;

/* max_bytes: of texts and fields. NULL: out of memory. */
struct span_names *span_names_new(struct labels *l, size_t max_bytes);
void span_names_free(struct span_names *n);

/* The span's name; its address stays valid until span_names_free(). *other: the bounds are exceeded,
 * and the result is "(other)". NULL: out of memory. O(length). */
struct span_name *span_names_of(struct span_names *n, const struct span *s, bool *other);

/* The label of a fork of `parent` that begins `child`: "SERVICE/hone:fork(NAME)". LABEL_NONE: out of
 * memory. O(length). */
uint32_t span_names_fork_label(
    struct span_names *n, const struct span_name *parent, const struct span_name *child);

/* Copies the span's attributes, in the order of the name's fields, and `failed` into the arena. The
 * name can get more than *nvalues fields later. Without values *values is NULL. Texts become UTF-8
 * (text_clean()). False: out of memory. O(attributes) if they arrive in the order of the fields,
 * else O(attributes * fields). */
bool span_names_values(struct span_names *n, struct span_name *name, const struct span *s,
    struct arena *a, const struct value **values, uint32_t *nvalues);

/* The label of the name, made on first use, which fixes the name's fields. LABEL_NONE: out of
 * memory. */
uint32_t span_names_label(struct span_names *n, struct span_name *name, enum span_name_use use);

/* Makes bytes UTF-8 in place: each byte of an invalid sequence becomes '?'. O(len). */
void text_clean(char *s, size_t len);

#endif
