/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The programs that searches look below: what WANT asks agents for. All zeroes: none. */
#ifndef CONTROLPLANE_ENGINE_BELOW_ASKED_H
#define CONTROLPLANE_ENGINE_BELOW_ASKED_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/toggle.h"

struct below_asked {
	uint32_t n;
	struct {
		char service[TOGGLE_NAME_MAX + 1];
		uint32_t searches,
		    before; /* before: of these, about an edge to the begin of a unit */
	} items[WANT_BELOW_MAX];
};

/* One search more, or one less, looks below the program; before: also at what its threads do before they begin a unit. When there are WANT_BELOW_MAX others, it is left out. O(n). */
void below_asked_set(struct below_asked *b, const char *service, bool before, bool on);

#endif
