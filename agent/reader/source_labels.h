/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The labels of a source, each once, with numbers that stay. */
#ifndef AGENT_READER_SOURCE_LABELS_H
#define AGENT_READER_SOURCE_LABELS_H

#include "base/arena.h"
#include "base/texts.h"
#include "wire/record.h"

struct label_slot {
	uint64_t hash;
	uint32_t base, label; /* label + 1; 0: free */
};

struct source_labels {
	struct texts *keys; /* numbers are those of the labels */
	struct batch_label *labels;
	uint32_t count, cap, max;
	struct texts *bases; /* structure labels without their names */
	struct label_slot *slots;
	uint32_t nslots, used;
	struct arena arena;
};

int source_labels_init(struct source_labels *l, uint32_t max); /* 0 or ERR_MEMORY */
void source_labels_release(struct source_labels *l);

/* The number of "service/event"; the same text with other fields is another label. UINT32_MAX: out
 * of memory. */
uint32_t source_labels_get(struct source_labels *l, enum record_kind kind, const char *service,
    const char *event, const char **fields, uint32_t nfields);

/* The number of "service/event(name)". base: what source_labels_base() said for the
 * same kind and fields. At most 63 bytes of a name count; when
 * there are max labels, further names are "other". O(len of the name), expected. */
uint32_t source_labels_base(struct source_labels *l, enum record_kind kind, const char *service,
    const char *event, const char **fields, uint32_t nfields);
uint32_t source_labels_named(struct source_labels *l, uint32_t base, enum record_kind kind,
    const char *name, size_t len, const char **fields, uint32_t nfields);

#endif
