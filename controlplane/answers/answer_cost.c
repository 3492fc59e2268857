/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The cost of Hone: of each node and of all, now and since honed started. */
#include "controlplane/engine/overhead.h"
#include "controlplane/answers/answer_inside.h"

#include <string.h>

enum limit {
#define LIMIT(name, word, text) LIMIT_##name,
#include "wire/limits.tbl.h"
#undef LIMIT
};
static const char *const limit_words[] = {
#define LIMIT(name, word, text) [LIMIT_##name] = word,
#include "wire/limits.tbl.h"
#undef LIMIT
};

static json_t *
limit_json(enum limit limit, double measured, double permitted, const char *spender)
{
	json_t *j = json_pack("{s:s, s:f, s:f, s:n}", "limit", limit_words[limit], "measured",
	    measured, "permitted", permitted, "spender");

	if (spender != NULL)
		json_object_set_new(j, "spender", json_string(spender));
	return j;
}

/* The limit that the node exceeds although its sampling shares are at their least; null if none. */
static json_t *
over_json(const struct engine *g, uint32_t node)
{
	const struct engine_options *limits = &engine_parts_of(g)->options;
	struct sampler_over o = sampler_over(engine_parts_of(g)->sampler, node);
	double permitted = sampler_core_max(engine_parts_of(g)->sampler);
	int64_t ring_bytes = engine_parts_of(g)->nodes.items[node].status.ring_bytes;

	if (o.over && o.bytes > 0)
		return limit_json(LIMIT_NETWORK, o.bytes, (double)limits->network_max, NULL);
	if (o.over && o.idle > permitted)
		return limit_json(
		    LIMIT_IDLE_CORE, o.idle * 100, permitted * 100, spender_name(o.most));
	if (o.over)
		return limit_json(LIMIT_CORE, o.core * 100, permitted * 100, spender_name(o.most));
	if (limits->rings_max_bytes > 0 && ring_bytes > limits->rings_max_bytes)
		return limit_json(
		    LIMIT_MEMORY, (double)ring_bytes, (double)limits->rings_max_bytes, NULL);
	return json_null();
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

	if (s == NULL)
		return json_null();
	return json_pack("{s:o, s:o, s:o, s:f, s:o}", "node", answer_text(n->name), "now",
	    now_json(n->connected ? &s->now : &NOTHING,
		n->connected ? (double)n->status.ring_bytes / 1048576 : 0),
	    "all", all_json(&s->all, (double)mono_since_ns(c->now, s->since) / 1e9), "budget_pct",
	    sampler_core_max(engine_parts_of(g)->sampler) * 100, "over", over_json(g, node));
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
