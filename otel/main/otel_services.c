/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "otel/main/otel_services.h"

#include "otel/spans/services.h"
#include "wire/frame.h"

void
otel_services_turn(struct otel *o, struct mono now)
{
	struct services *s = otel_source_services(o->source);
	struct programs p = { 0 };
	struct arena a = { 0 };
	struct buf b = { 0 };

	services_turn(s, now);
	if (services_changes(s) == o->services.told ||
	    mono_since_ns(now, o->services.told_at) < SECOND)
		return;
	if (services_programs(s, &p, &a)) {
		programs_encode(&p, &b);
		link_post(o->link, FRAME_PROGRAMS, &b);
		o->services.told = services_changes(s);
		o->services.told_at = now;
	}
	arena_release(&a);
}
