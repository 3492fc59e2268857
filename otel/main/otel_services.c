/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "otel/main/otel_services.h"

#include <string.h>

#include "otel/spans/event_names.h"
#include "otel/spans/services.h"
#include "wire/frame.h"

/* Of the programs from `from` on, those whose service has a gate, and no events, are left out: it is in the list already, with its tracepoints. */
static void
drop_gated(struct programs *p, uint32_t from)
{
	uint32_t kept = from;

	for (uint32_t i = from; i < p->nprograms; i++) {
		bool gated = false;

		for (uint32_t k = 0; k < from && !gated; k++)
			gated = strncmp(p->programs[k].service, p->programs[i].service,
				    SERVICE_NAME_MAX) == 0;
		if (!gated || p->programs[i].count > 0)
			p->programs[kept++] = p->programs[i];
	}
	p->nprograms = kept;
}

void
otel_services_turn(struct otel *o, struct mono now)
{
	struct services *s = otel_source_services(o->source);
	const struct event_names *events = otel_source_events(o->source);
	struct programs p = { 0 };
	struct arena a = { 0 };
	struct buf b = { 0 };
	uint32_t gated;
	struct err e;

	services_turn(s, now);
	if ((services_changes(s) + event_names_changes(events) == o->services.told &&
		gate_table_changes(o->gates) == o->services.told_gates) ||
	    mono_since_ns(now, o->services.told_at) < SECOND)
		return;
	if (gate_table_programs(o->gates, &p, &a, &e) == 0 && (gated = p.nprograms, true) &&
	    services_programs(s, &p, &a) && event_names_fill(events, &p, gated, &a)) {
		drop_gated(&p, gated);
		programs_encode(&p, &b);
		link_post(o->link, FRAME_PROGRAMS, &b);
		o->services.told = services_changes(s) + event_names_changes(events);
		o->services.told_gates = gate_table_changes(o->gates);
		o->services.told_at = now;
		o->services.programs = p.nprograms;
	}
	arena_release(&a);
}
