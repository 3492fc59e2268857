/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "otel/main/otel_services.h"

#include <string.h>

#include "otel/spans/event_names.h"
#include "otel/spans/services.h"
#include "wire/frame.h"

/* Of the programs from `from` on, those whose service has a lever, and no events, are left out: it is in the list already, with its tracepoints. */
static void
drop_switched(struct programs *p, uint32_t from)
{
	uint32_t kept = from;

	for (uint32_t i = from; i < p->nprograms; i++) {
		bool known = false;

		for (uint32_t k = 0; k < from && !known; k++)
			known = strncmp(p->programs[k].service, p->programs[i].service,
				    SERVICE_NAME_MAX) == 0;
		if (!known || p->programs[i].count > 0)
			p->programs[kept++] = p->programs[i];
	}
	p->nprograms = kept;
}

/* What is switched comes first: its services are not listed again without it. */
static bool
list_programs(struct otel *o, struct programs *p, struct arena *a)
{
	uint32_t gated, levers;
	struct err e;

	if (gate_table_programs(o->gates, p, a, &e) != 0)
		return false;
	for (gated = 0; gated < p->nprograms; gated++)
		p->programs[gated].lever = LEVER_GATE;
	if (!opamp_table_programs(o->opamp, p, a) || !remote_sampling_programs(o->rates, p, a))
		return false;
	levers = p->nprograms;
	if (!services_programs(otel_source_services(o->source), p, a))
		return false;
	for (uint32_t i = levers; i < p->nprograms; i++)
		p->programs[i].lever = LEVER_NONE;
	if (!event_names_fill(otel_source_events(o->source), p, levers, a))
		return false;
	drop_switched(p, levers);
	return span_levels_fill(&o->levels, p, a);
}

void
otel_services_turn(struct otel *o, struct mono now)
{
	struct services *s = otel_source_services(o->source);
	uint64_t seen, levers = gate_table_changes(o->gates) + opamp_table_changes(o->opamp) +
	                        remote_sampling_changes(o->rates);
	struct programs p = { 0 };
	struct arena a = { 0 };
	struct buf b = { 0 };

	services_turn(s, now);
	seen = services_changes(s) + event_names_changes(otel_source_events(o->source));
	if ((seen == o->services.told && levers == o->services.told_levers) ||
	    mono_since_ns(now, o->services.told_at) < SECOND)
		return;
	if (list_programs(o, &p, &a)) {
		programs_encode(&p, &b);
		link_post(o->link, FRAME_PROGRAMS, &b);
		o->services.told = seen;
		o->services.told_levers = levers;
		o->services.told_at = now;
		o->services.programs = p.nprograms;
	}
	arena_release(&a);
}
