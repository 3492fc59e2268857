/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The labels of a source, each once, with indexes that do not change. */
#ifndef AGENT_READER_SOURCE_LABELS_H
#define AGENT_READER_SOURCE_LABELS_H

#include "base/arena.h"
#include "base/hash_table.h"
#include "base/texts.h"
#include "wire/record.h"

struct source_labels {
	struct texts *keys;  /* label texts with kind and fields; their numbers are the labels */
	struct texts *bases; /* the same of structure labels without their names */
	struct batch_label *labels;
	uint32_t *base_of; /* of each label; UINT32_MAX: it has no name */
	uint32_t count, cap, base_cap, max;
	struct hash_table named; /* base and name -> label */
	struct arena arena;      /* fields of labels */
	struct texts *services;  /* of bases */
	uint32_t *service_of;    /* of each base */
	uint32_t *names_of;      /* of each service, labels with a name in the second half */
	uint32_t service_cap, names_cap;
};

/*
 * max: number of labels from which on new names share the label "other". Programs name things as they like, so that one which
 * invents names must not take those of others: half of the labels are for whoever comes first, and of the other half each service
 * has an equal part, as if there were 16 of them or more. 0 or ERR_MEMORY; in both cases source_labels_release() may be called.
 */
int source_labels_init(struct source_labels *l, uint32_t max);
void source_labels_release(struct source_labels *l);

/* The index of the label "service/event". The same text with other fields is another label. Control
 * characters, and a slash in the service, become '_'. UINT32_MAX: out of memory. O(length). */
uint32_t source_labels_get(struct source_labels *l, enum record_kind kind, const char *service,
    const char *event, const char **fields, uint32_t nfields);

/* The base of structure labels of one service and event, for source_labels_named(). UINT32_MAX: out
 * of memory. */
uint32_t source_labels_base(struct source_labels *l, enum record_kind kind, const char *service,
    const char *event, const char **fields, uint32_t nfields);
/* The index of the label "service/event(name)", for the base of the same kind and fields. A name is
 * cut to 63 bytes; once there are `max` labels, or enough of this service, new names become "other". UINT32_MAX: out of memory.
 * O(len) expected. */
uint32_t source_labels_named(struct source_labels *l, uint32_t base, enum record_kind kind,
    const char *name, size_t len, const char **fields, uint32_t nfields);

#endif
