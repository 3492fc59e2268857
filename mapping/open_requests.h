/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The open requests of a mapper: on which threads they are, and by which ids they are known. */
#ifndef MAPPING_OPEN_REQUESTS_H
#define MAPPING_OPEN_REQUESTS_H

#include "mapping/mapper_state.h"

/* The hash of the id in a field; `kind`: which of the rule's ids. False: neither number nor
 * text. */
bool requests_id_hash(const struct mapper *p, const struct mapper_event *v, uint32_t rule,
    uint32_t kind, uint32_t field, struct id_hash *ret);
uint32_t requests_find(const struct mapper *p,
    const struct id_hash *name); /* the open request with this id; ITEM_NONE: none */

/* Adds an open request; at the limit the oldest is abandoned. ITEM_NONE: out of memory. */
uint32_t requests_add(struct mapper *p, const struct mapper_event *v, uint32_t rule, uint32_t type);
/* Adds an id to the request; another request that had it is abandoned. A request has up to 64; more
 * are ignored. ERR_MEMORY. */
int requests_add_id(struct mapper *p, uint32_t request, const struct id_hash *name, struct err *e);
void requests_drop(struct mapper *p, uint32_t request);
void requests_lose(struct mapper *p, uint32_t request,
    uint64_t *count); /* the same; *count is incremented if it was followed */

uint32_t requests_thread(const struct mapper *p,
    const struct mapper_event *v); /* the thread of an event; ITEM_NONE: it is in no request */
uint32_t requests_thread_add(
    struct mapper *p, const struct mapper_event *v); /* ITEM_NONE: out of memory */
/* From now on this thread carries the request (of correlate = field): no other thread does, and it
 * carries no other request. ERR_MEMORY. */
int requests_enter(struct mapper *p, const struct mapper_event *v, uint32_t request, struct err *e);
void requests_leave(struct mapper *p,
    uint32_t thread); /* the thread carries no request; the one that it carried stays open */

#endif
