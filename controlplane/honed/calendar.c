/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/honed/calendar.h"

#include <stdlib.h>

void
calendar_begin(struct calendar *c, struct wall newest, struct wall wall, struct mono mono)
{
	int64_t from_ns = wall.ns;

	if (newest.ns != 0 && newest.ns + CALENDAR_TRUST_NS < from_ns)
		from_ns = newest.ns + CALENDAR_TRUST_NS;
	*c = (struct calendar){ .known = true, .offset_ns = from_ns - mono.ns };
}

struct wall
calendar_now(struct calendar *c, struct wall wall, struct mono mono)
{
	int64_t offset_ns = wall.ns - mono.ns;
	bool same = c->ahead_since.ns != 0 &&
	            llabs(offset_ns - c->ahead_offset_ns) <= CALENDAR_SLACK_NS;

	/* 1 and 2 */
	if (!c->known || offset_ns - c->offset_ns <= CALENDAR_SLACK_NS ||
	    (same && mono_since_ns(mono, c->ahead_since) >= CALENDAR_TRUST_NS)) {
		*c = (struct calendar){ .known = true, .offset_ns = offset_ns };
		return wall;
	}
	/* 3 */
	if (!same)
		c->ahead_since = mono;
	c->ahead_offset_ns = offset_ns;
	return (struct wall){ mono.ns + c->offset_ns };
}
