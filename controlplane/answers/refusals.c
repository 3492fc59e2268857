/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/answers/refusals.h"

#include <stdio.h>
#include <string.h>

void
refusals_add(struct refusals *r, const char *words, uint64_t times, struct wall at)
{
	struct refusal *place = &r->all[0];

	for (uint32_t i = 0; i < r->n; i++) {
		if (strncmp(r->all[i].words, words, sizeof place->words - 1) == 0) {
			r->all[i].at = at;
			r->all[i].times += times;
			return;
		}
		if (r->all[i].at.ns < place->at.ns)
			place = &r->all[i];
	}
	if (r->n < REFUSALS_MAX)
		place = &r->all[r->n++];
	*place = (struct refusal){ .at = at, .times = times };
	snprintf(place->words, sizeof place->words, "%s", words);
}
