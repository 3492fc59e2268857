/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The open requests of a mapper: on which threads they are, and by which ids they are known. */
#ifndef MAPPING_OPEN_REQUESTS_H
#define MAPPING_OPEN_REQUESTS_H

#include "mapping/mapper_state.h"

/* What the field says, as an id of that kind. false: no number and no text. */
bool requests_id_hash(const struct mapper *p, const struct mapper_event *v, uint32_t rule,
    uint32_t kind, uint32_t field, struct id_hash *ret);
uint32_t requests_find(
    const struct mapper *p, const struct id_hash *name); /* the open request; ITEM_NONE: none */

/* Not followed, if it is of a type that is not sampled. The oldest one makes room. ITEM_NONE: no
 * memory. */
uint32_t requests_add(struct mapper *p, const struct mapper_event *v, uint32_t rule, uint32_t type);
/* From now on the request is known by this id as well; another one that was is lost. ERR_MEMORY. */
int requests_add_id(struct mapper *p, uint32_t request, const struct id_hash *name, struct err *e);
void requests_drop(struct mapper *p, uint32_t request);
void requests_lose(struct mapper *p, uint32_t request,
    uint64_t *count); /* the same, counted there if it was followed */

uint32_t requests_thread(
    const struct mapper *p, const struct mapper_event *v); /* ITEM_NONE: it is in no request */
uint32_t requests_thread_add(
    struct mapper *p, const struct mapper_event *v); /* ITEM_NONE: no memory */
/* A request of correlate = field is worked on by this thread now: no other carries it, and this one
 * no other. ERR_MEMORY. */
int requests_enter(struct mapper *p, const struct mapper_event *v, uint32_t request, struct err *e);
void requests_leave(struct mapper *p,
    uint32_t thread); /* the thread carries none; whichever it was is still open */

#endif
