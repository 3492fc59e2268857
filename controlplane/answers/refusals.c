/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/answers/refusals.h"

#include <stdio.h>
#include <string.h>

void
refusals_add(struct refusals *r, const char *words, uint64_t times, struct wall at)
{
	struct refusal *entry = &r->all[0];

	for (uint32_t i = 0; i < r->n; i++) {
		if (strncmp(r->all[i].words, words, sizeof entry->words - 1) == 0) {
			r->all[i].at = at;
			r->all[i].times += times;
			return;
		}
		if (r->all[i].at.ns < entry->at.ns)
			entry = &r->all[i];
	}
	if (r->n < REFUSALS_MAX)
		entry = &r->all[r->n++];
	*entry = (struct refusal){ .at = at, .times = times };
	snprintf(entry->words, sizeof entry->words, "%s", words);
}
