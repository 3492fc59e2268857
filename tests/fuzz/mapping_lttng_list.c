/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as LTTng's list of tracepoints: memory stays bounded, and entries are complete. */
#include <stdlib.h>
#include <string.h>

#include "mapping/lttng_list.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct lttng_list l;
	struct err e;

	if (lttng_list_read(&l, (const char *)data, len, &e) != 0)
		return 0;
	if (l.nprograms == 0 || l.arena.total_bytes > 64 * len + (64 << 10))
		abort();
	for (uint32_t i = 0; i < l.nprograms; i++)
		for (uint32_t j = 0; j < l.programs[i].nevents; j++) {
			const struct map_event *v = &l.programs[i].events[j];

			if (strchr(v->name, ':') == NULL)
				abort();
			for (uint32_t k = 0; k < v->nfields; k++)
				if (v->fields[k].name[0] == '\0' ||
				    v->fields[k].type > MAP_FIELD_TEXT)
					abort();
		}
	lttng_list_release(&l);
	return 0;
}
