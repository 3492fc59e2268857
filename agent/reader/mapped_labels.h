/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Labels of a stage of mapped programs: the inner source's, and those that begin and end requests.
 */
#ifndef AGENT_READER_MAPPED_LABELS_H
#define AGENT_READER_MAPPED_LABELS_H

#include <stdint.h>

#include "base/err.h"
#include "wire/record.h"

struct mapped_source;

/* Takes notice of the inner source's new labels. ERR_MEMORY: the next call continues. */
int mapped_labels_learn(struct mapped_source *s, struct err *e);
/* The label "service/hone:request_begin(type)" or another one of structure, as `base` (of a mapped_program) and `kind` say. UINT32_MAX: out of memory. */
uint32_t mapped_own_label(
    struct mapped_source *s, uint32_t base, enum record_kind kind, const char *type);
void mapped_labels_release(struct mapped_source *s);

#endif
