/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/engine/below_asked.h"

#include <stdio.h>
#include <string.h>

void
below_asked_set(struct below_asked *b, const char *service, bool before, bool on)
{
	uint32_t i = 0;

	while (i < b->n && strcmp(b->items[i].service, service) != 0)
		i++;
	if (on && i == b->n) {
		if (b->n == WANT_BELOW_MAX || strlen(service) > TOGGLE_NAME_MAX)
			return;
		b->n++;
		b->items[i].searches = b->items[i].before = 0;
		snprintf(b->items[i].service, sizeof b->items[i].service, "%s", service);
	}
	if (i == b->n)
		return;
	b->items[i].searches += on ? 1 : UINT32_MAX; /* - 1 */
	b->items[i].before += !before ? 0 : on ? 1 : UINT32_MAX;
	if (b->items[i].searches == 0)
		b->items[i] = b->items[--b->n];
}
