/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a tracepoint means to the rules of a mapping. */
#ifndef MAPPING_MAPPER_ROLES_H
#define MAPPING_MAPPER_ROLES_H

#include "mapping/mapper_state.h"

/* Looked up once. NULL: no memory. */
const struct name_roles *roles_plan(struct mapper *p, const struct mapper_event *v);

/* The number of the type of a request that begins so. ITEM_NONE: no memory. */
uint32_t roles_type(struct mapper *p, const struct mapper_event *v, const struct event_role *role);

#endif
