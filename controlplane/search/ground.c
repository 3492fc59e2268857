/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/search/ground.h"

#include <string.h>

enum verdict_ground
ground_of(const struct ground_facts *f)
{
	/* 1 */
	if (!f->looks || !f->followed)
		return GROUND_OPEN;
	/* 2 */
	if (!f->told)
		return GROUND_NONE;
	/* 3 and 4 */
	return f->top == BELOW_READY ? GROUND_PROCESSOR : GROUND_STATE;
}

static bool
same_service(const struct label *a, const struct label *b)
{
	return a->service_len == b->service_len && memcmp(a->text, b->text, a->service_len) == 0;
}

bool
ground_is_followed(const struct shape *s, const struct labels *labels, uint32_t label)
{
	const struct label *of = labels_get(labels, label);

	for (uint32_t i = 0; i < s->ntokens; i++) {
		const struct label *l = labels_get(labels, s->tokens[i]);

		if ((l->kind != RECORD_UNIT_END && l->kind != RECORD_REQUEST_END) ||
		    !same_service(l, of))
			continue;
		for (uint32_t k = 0; k < l->nfields; k++)
			if (strcmp(l->fields[k], "ready_ns") == 0)
				return true;
	}
	return false;
}
