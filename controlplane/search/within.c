/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/search/within.h"

#include "searchspace/span.h"

/* Whether the token lies in the unit: edges say in which unit their ends are. */
static bool
is_in_unit(const struct shape *shape, uint32_t token, uint32_t unit)
{
	return token + 1 < shape->ntokens ? shape->edges[token].from_unit == unit
	                                  : shape->edges[token - 1].to_unit == unit;
}

static bool
is_pair(const struct shape *shape, const struct labels *labels, uint32_t begin, uint32_t end)
{
	return spans_pair(
	    labels_get(labels, shape->tokens[begin]), labels_get(labels, shape->tokens[end]));
}

/* What begins at the token has ended before the edge begins. */
static bool
has_ended(const struct shape *shape, const struct labels *labels, uint32_t begin, uint32_t before,
    uint32_t unit)
{
	uint32_t inside = 0; /* of the same name */

	for (uint32_t i = begin + 1; i <= before; i++) {
		if (!is_in_unit(shape, i, unit))
			continue;
		if (is_pair(shape, labels, begin, i)) {
			if (inside == 0)
				return true;
			inside--;
		}
		inside += shape->tokens[i] == shape->tokens[begin];
	}
	return false;
}

bool
within_span(const struct shape *shape, uint32_t edge, const struct labels *labels, uint32_t *begin,
    uint32_t *end)
{
	const struct shape_edge *e = &shape->edges[edge];

	if (e->from_unit != e->to_unit || e->to_token <= e->from_token)
		return false;
	for (uint32_t i = e->from_token + 1; i-- > 0;)
		for (uint32_t k = e->to_token; k < shape->ntokens; k++) {
			if (!is_in_unit(shape, i, e->from_unit) ||
			    !is_in_unit(shape, k, e->from_unit) || !is_pair(shape, labels, i, k))
				continue;
			if ((i == e->from_token && k == e->to_token) ||
			    has_ended(shape, labels, i, e->from_token, e->from_unit))
				break; /* the edge itself; or before it */
			*begin = shape->tokens[i];
			*end = shape->tokens[k];
			return true;
		}
	return false;
}
