/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whether the instrumentation is right: how forks, units and requests pair, and the mistakes in it. */
#include "controlplane/answers/answer_inside.h"
#include "report/check.h"

enum { SECONDS_USUAL = 60 };

/* As many seconds as the engine keeps, less the window that is overwritten next. */
enum { SECONDS_MAX = (INSTRUMENTATION_WINDOWS - 1) * INSTRUMENTATION_WINDOW_S };

/* Whether a program of the label's service runs on a node with mapped programs: its requests may come
 * from a mapping. */
static bool
may_be_mapped(const void *ctx, const struct label *l)
{
	const struct nodes *nodes = ctx;

	for (uint32_t i = 0; i < nodes->n; i++) {
		const struct programs *p = &nodes->items[i].programs;

		for (uint32_t k = 0; k < p->nprograms && nodes->items[i].status.mapped > 0; k++)
			if (label_of_service(l, p->programs[k].service))
				return true;
	}
	return false;
}

json_t *
ask_check(struct engine *g, struct forest *f, const struct answer_context *c, const json_t *ask)
{
	const json_t *given = json_object_get(ask, "seconds");
	double seconds = given != NULL ? json_number_value(given) : SECONDS_USUAL;
	struct engine_parts *p = engine_parts(g);
	struct place_table facts = { 0 };
	struct arena arena = { 0 };
	const char **idle = NULL;
	json_t *a = NULL;

	(void)f;
	if (!(seconds >= 1 && seconds <= SECONDS_MAX))
		return answer_refuse(
		    ERR_INPUT, "\"seconds\" must be from 1 to %d", (int)SECONDS_MAX);
	if (instrumentation_facts(&facts, &p->instrumentation, p->assemble, &p->types, p->labels,
		(struct mono){ c->now.ns - (int64_t)(seconds * 1e9) }, c->now))
		idle = instrumentation_idle(&p->nodes, &facts, p->labels, &arena);
	if (idle != NULL)
		a = check_json(&facts, p->labels,
		    &(struct check_options){
			.type = json_string_value(json_object_get(ask, "type")),
			.seconds = seconds,
			.idle = idle,
			.is_mapped = may_be_mapped,
			.ctx = &p->nodes });
	place_table_release(&facts);
	arena_release(&arena);
	return a;
}
