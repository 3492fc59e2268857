/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How the response times of each request type are distributed, as counts that only grow: a client that asks again has, by their
 * difference, what came in between. */
#include "controlplane/answers/answer_inside.h"

/* Five bounds a decade, from 100 us to 100 s: a column of a heat map has 31 cells. */
enum { BOUNDS = 31 };
static const double FIRST_NS = 1e5, STEP = 1.5848931924611136; /* 10^(1/5) */

static json_t *
type_json(const struct engine *g, const struct request_type *t, const int64_t bounds_ns[BOUNDS])
{
	const struct label *l = labels_get(engine_parts_of(g)->labels, t->label);
	double median_ns = sketch_quantile(t->sketch, 0.5);
	uint64_t counts[BOUNDS];
	json_t *list = json_array();

	sketch_counts(t->sketch, bounds_ns, BOUNDS, counts);
	for (int i = 0; i < BOUNDS; i++)
		json_array_append_new(list, json_integer((json_int_t)counts[i]));
	return json_pack("{s:o, s:o, s:I, s:f, s:f, s:o}", "type", answer_text(t->name), "service",
	    text_json(l->text, l->service_len), "requests", (json_int_t)t->sketch->n,
	    "requests_per_second", t->offered, "beyond_median_ms",
	    sketch_beyond(t->sketch, median_ns) / 1e6, "counts", list);
}

json_t *
ask_times(struct engine *g, struct forest *f, const struct answer_context *c, const json_t *ask)
{
	const struct request_types *types = &engine_parts_of(g)->types;
	json_t *bounds = json_array(), *list = json_array();
	int64_t bounds_ns[BOUNDS];
	double at_ns = FIRST_NS;

	(void)f;
	(void)c;
	(void)ask;
	for (int i = 0; i < BOUNDS; i++, at_ns *= STEP) {
		bounds_ns[i] = (int64_t)(at_ns + 0.5);
		json_array_append_new(bounds, json_real((double)bounds_ns[i] / 1e6));
	}
	for (uint32_t i = 0; i < types->n; i++)
		json_array_append_new(list, type_json(g, &types->items[i], bounds_ns));
	return json_pack("{s:o, s:o}", "up_to_ms", bounds, "types", list);
}
