/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The cost of Hone: of each node and of all, now and since honed started. */
#include "controlplane/engine/overhead.h"
#include "controlplane/answers/answer_inside.h"

#include <stdio.h>
#include <string.h>

/* Text: which limit the node exceeds, and the remedy; "" if none. */
static const char *
over_text(const struct engine *g, uint32_t node, char *text, size_t size)
{
	struct sampler_over o = sampler_over(engine_parts_of(g)->sampler, node);
	double limit = sampler_core_max(engine_parts_of(g)->sampler);

	text[0] = '\0';
	if (o.over && o.bytes > 0)
		snprintf(text, size,
		    "%.0f kB/s to the controller, over agents.network_max (%.0f), at the lowest sampling share",
		    o.bytes / 1e3, (double)engine_parts_of(g)->options.network_max / 1e3);
	else if (o.over && o.idle > limit)
		snprintf(text, size,
		    "%.2f %% of a core without any record, over the permitted %.2f %%: most by the %s",
		    o.idle * 100, limit * 100, spender_name(o.most));
	else if (o.over)
		snprintf(text, size,
		    "%.2f %% of a core, over the permitted %.2f %%, at the lowest sampling share: most by the %s",
		    o.core * 100, limit * 100, spender_name(o.most));
	else if (engine_parts_of(g)->options.rings_max_bytes > 0 &&
		 engine_parts_of(g)->nodes.items[node].status.ring_bytes >
		     engine_parts_of(g)->options.rings_max_bytes)
		snprintf(text, size,
		    "%.0f MiB of the tracer's buffers, over agents.memory_max (%.0f): lower "
		    "tracer.sub_buffer_size",
		    (double)engine_parts_of(g)->nodes.items[node].status.ring_bytes / 1048576,
		    (double)engine_parts_of(g)->options.rings_max_bytes / 1048576);
	return text;
}

static json_t *
now_json(const struct outlay *p, double ring_mib)
{
	return json_pack("{s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "core_pct", outlay_core(p) * 100,
	    "programs_pct", p->core[SPEND_PROGRAMS] * 100, "agent_pct", p->core[SPEND_AGENT] * 100,
	    "tracer_pct", p->core[SPEND_TRACER] * 100, "ring_mib", ring_mib, "bytes_per_second",
	    p->bytes, "records_per_second", p->records);
}

static json_t *
all_json(const struct spent *a, double seconds)
{
	double cpu_ns = a->cpu_ns[SPEND_PROGRAMS] + a->cpu_ns[SPEND_AGENT] +
	                a->cpu_ns[SPEND_TRACER];

	return json_pack("{s:f, s:f, s:f, s:f, s:f, s:I, s:I, s:o}", "seconds", seconds, "cpu_s",
	    cpu_ns / 1e9, "programs_cpu_s", a->cpu_ns[SPEND_PROGRAMS] / 1e9, "agent_cpu_s",
	    a->cpu_ns[SPEND_AGENT] / 1e9, "tracer_cpu_s", a->cpu_ns[SPEND_TRACER] / 1e9, "bytes",
	    (json_int_t)a->bytes, "records", (json_int_t)a->records, "record_ns",
	    a->records > 0 ? json_real(cpu_ns / a->records) : json_null());
}

json_t *
answer_cost(const struct engine *g, uint32_t node, const struct answer_context *c)
{
	const struct spend *s = sampler_spend(engine_parts_of(g)->sampler, node);
	const struct node *n = &engine_parts_of(g)->nodes.items[node];
	static const struct outlay NOTHING = { 0 };
	char text[240];

	if (s == NULL)
		return json_null();
	return json_pack("{s:o, s:o, s:o, s:f, s:o}", "node", answer_text(n->name), "now",
	    now_json(n->connected ? &s->now : &NOTHING,
		n->connected ? (double)n->status.ring_bytes / 1048576 : 0),
	    "all", all_json(&s->all, (double)mono_since_ns(c->now, s->since) / 1e9), "budget_pct",
	    sampler_core_max(engine_parts_of(g)->sampler) * 100, "over",
	    answer_text(over_text(g, node, text, sizeof text)));
}

static void
outlay_add(struct outlay *sum, const struct outlay *p)
{
	for (int i = 0; i < SPENDERS; i++)
		sum->core[i] += p->core[i];
	sum->bytes += p->bytes;
	sum->records += p->records;
}

static void
spent_add(struct spent *sum, const struct spent *s)
{
	for (int i = 0; i < SPENDERS; i++)
		sum->cpu_ns[i] += s->cpu_ns[i];
	sum->bytes += s->bytes;
	sum->records += s->records;
}

json_t *
answer_costs(const struct engine *g, const struct answer_context *c)
{
	struct outlay now = { 0 };
	struct spent all = { 0 };
	double ring_mib = 0, seconds = 0;
	json_t *nodes = json_array();

	for (uint32_t i = 0; i < engine_parts_of(g)->nodes.n; i++) {
		const struct spend *s = sampler_spend(engine_parts_of(g)->sampler, i);
		double heard_s = s != NULL ? (double)mono_since_ns(c->now, s->since) / 1e9 : 0;

		if (s == NULL)
			continue;
		spent_add(&all, &s->all);
		seconds = heard_s > seconds ? heard_s : seconds;
		if (engine_parts_of(g)->nodes.items[i].connected) {
			outlay_add(&now, &s->now);
			ring_mib += (double)engine_parts_of(g)->nodes.items[i].status.ring_bytes /
			            1048576;
		}
		json_array_append_new(nodes, answer_cost(g, i, c));
	}
	return json_pack("{s:o, s:o, s:f, s:o}", "now", now_json(&now, ring_mib), "all",
	    all_json(&all, seconds), "budget_pct",
	    sampler_core_max(engine_parts_of(g)->sampler) * 100, "nodes", nodes);
}
