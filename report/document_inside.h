/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by document.c and document_group.c. */
#ifndef REPORT_DOCUMENT_INSIDE_H
#define REPORT_DOCUMENT_INSIDE_H

#include "base/buf.h"
#include "report/document.h"

struct document {
	const struct report *report;
	const struct document_options *o;
	json_t **labels;   /* by number, made when first used: each text is there once, however many
	                      edges name it */
	json_t **services; /* by a label of theirs */
	struct buf words;  /* for one text at a time */
	bool failed;       /* out of memory; checked once at the end */
};

json_t *document_label(
    struct document *d, uint32_t label); /* a new reference; null for LABEL_NONE */
json_t *document_service(struct document *d, uint32_t label);
json_t *document_group(struct document *d, const struct judged *j);
json_t *document_hash(const struct judged *j); /* 32 hex digits */
const char *problem_word(enum problem p);
/* A timeline as JSON; null without one. `problems`: its bins have a third number, the requests of groups
 * that are problems. */
json_t *document_times(
    struct document *d, const struct timeline *t, const struct report_type *problems);
json_t *document_worst(struct document *d, const struct timeline *t);
json_t *document_rollup(struct document *d);

static inline void
put(json_t *o, const char *key, json_t *value)
{
	json_object_set_new_nocheck(o, key, value);
}

static inline void
put_number(json_t *o, const char *key, double x)
{
	put(o, key, number_json(x));
}

static inline void
put_count(json_t *o, const char *key, uint64_t n)
{
	put(o, key, json_integer((json_int_t)n));
}

static inline void
put_ms(json_t *o, const char *key, double ns)
{
	put(o, key, number_json(ns / 1e6));
}

#endif
