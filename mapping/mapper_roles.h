/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a tracepoint means to the rules of a mapping. */
#ifndef MAPPING_MAPPER_ROLES_H
#define MAPPING_MAPPER_ROLES_H

#include "mapping/mapper_state.h"

/* The roles of a tracepoint; computed once for each name_id. NULL: out of memory. */
const struct name_roles *roles_plan(struct mapper *p, const struct mapper_event *v);

/* The number of the request type, in p->types, of a request that begins with this tracepoint.
 * ITEM_NONE: out of memory. */
uint32_t roles_type(struct mapper *p, const struct mapper_event *v, const struct event_role *role);

#endif
