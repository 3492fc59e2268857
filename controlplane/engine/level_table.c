/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/engine/level_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/hash_table.h"
#include "base/texts.h"

/* ---- services and their tracepoints ---- */

static int
by_name(const void *a, const void *b)
{
	const struct level_service *x = a, *y = b;

	return strcmp(x->name, y->name);
}

/* UINT32_MAX: it is not in the table. O(log services). */
static uint32_t
find_service(const struct level_table *t, const char *name)
{
	const struct level_service key = { .name = name },
				   *s = t->nservices > 0 ? bsearch(&key, t->services, t->nservices,
							       sizeof key, by_name)
	                                                 : NULL;

	return s != NULL ? (uint32_t)(s - t->services) : UINT32_MAX;
}

/* All services that binaries have, by name. */
static bool
list_services(struct level_table *t, const struct level_facts *f)
{
	const struct binaries *all = &f->nodes->binaries;
	struct texts *seen = texts_new();
	bool ok = seen != NULL && (t->services = arena_calloc(
				       &t->arena, (size_t)all->n + 1, sizeof *t->services)) != NULL;

	for (uint32_t i = 0; i < all->n && ok; i++) {
		const struct binary *b = all->items[i];
		uint32_t id;

		if (b == NULL)
			continue;
		id = texts_intern(seen, b->service, strlen(b->service));
		ok = id != UINT32_MAX;
		if (!ok || id != t->nservices)
			continue;
		t->services[t->nservices++] = (struct level_service){ .name = b->service,
			.number = level_labels_service(&f->levels->labels, b->service),
			.upto = level_rules_of(&f->levels->rules, b->service) };
	}
	texts_free(seen);
	qsort(t->services, t->nservices, sizeof *t->services, by_name);
	return ok;
}

/* Each name of a service counts once, whichever of its binaries have it. */
static bool
count_tracepoints(struct level_table *t, const struct level_facts *f)
{
	const struct binaries *all = &f->nodes->binaries;
	struct hash_table seen = { 0 };
	bool ok = true;

	for (uint32_t i = 0; i < all->n; i++) {
		const struct binary *b = all->items[i];
		uint32_t service = b != NULL ? find_service(t, b->service) : 0;

		for (uint32_t k = 0; b != NULL && k < b->n && ok; k++) {
			uint32_t before = seen.count;

			if (!level_is_eligible(f->preload, b->names[k], b->levels[k]))
				continue;
			ok = hash_table_claim(&seen,
				 hash_bytes(all->seed + service, b->names[k], strlen(b->names[k])),
				 before) != HASH_TABLE_NONE;
			t->services[service].tracepoints[b->levels[k]] += seen.count != before;
		}
	}
	hash_table_release(&seen);
	return ok;
}

/* ---- cells ---- */

static bool
list_cells(struct level_table *t, const struct level_facts *f)
{
	size_t most = 1;

	for (uint32_t i = 0; i < f->nodes->n; i++)
		most += f->nodes->items[i].nbinaries;
	if ((t->cells = arena_calloc(&t->arena, most, sizeof *t->cells)) == NULL)
		return false;
	for (uint32_t i = 0; i < f->nodes->n; i++) {
		const struct node *n = &f->nodes->items[i];
		uint32_t first = t->ncells;

		for (uint32_t b = 0; b < n->nbinaries && n->connected; b++) {
			uint32_t service = find_service(t, n->binaries[b]->service), k = first;

			while (k < t->ncells && t->cells[k].service != service)
				k++;
			if (k < t->ncells)
				continue;
			t->cells[t->ncells++] = (struct level_cell){ .node = i,
				.service = service };
			t->services[service].nodes++;
		}
	}
	return true;
}

/* ---- rates ---- */

struct passages { /* of one request type, by service */
	double per_request[LOGLEVELS];
	bool passed; /* some label of the service is in the space */
};

/* The passages of a learned type; of[] has one for each service, and is set. False: it was not learned. */
static bool
take_passages(const struct level_table *t, const struct level_facts *f,
    const struct request_type *type, struct passages *of)
{
	struct space_export x;

	memset(of, 0, t->nservices * sizeof *of);
	if (!space_export(f->space, type->label, &x) || x.traces == 0)
		return false;
	for (uint32_t i = 0; i < x.nplaces; i++) {
		const struct label *l = labels_get(f->labels, x.places[i].label);
		const struct label_level *level;
		char name[LABEL_TEXT_MAX + 1];
		uint32_t service;

		if (l->silent || l->service_len > LABEL_TEXT_MAX)
			continue;
		memcpy(name, l->text, l->service_len);
		name[l->service_len] = '\0';
		if ((service = find_service(t, name)) == UINT32_MAX)
			continue;
		of[service].passed = true;
		level = level_labels_of(
		    &f->levels->labels, f->labels, &f->nodes->binaries, x.places[i].label);
		if (level != NULL && level->level < LOGLEVELS)
			of[service].per_request[level->level] += (double)x.places[i].count /
			                                         (double)x.traces;
	}
	return true;
}

static void
add_type(struct level_table *t, const struct level_facts *f, const struct request_type *type,
    const struct passages *of)
{
	for (uint32_t i = 0; i < t->ncells; i++) {
		struct level_cell *c = &t->cells[i];
		const struct level_service *s = &t->services[c->service];
		bool plain = f->nodes->items[c->node].status.mapped > 0;
		double requests;

		if (!of[c->service].passed)
			continue;
		requests = type->offered * (plain ? 1 : sampler_share(f->sampler, type->index)) *
		           (s->nodes > 1 ? overhead_node_share(f->overhead, type, c->node) : 1);
		for (int l = 0; l < LOGLEVELS; l++)
			c->per_second[l] += requests * of[c->service].per_request[l];
	}
}

/* A service is known if a learned type passes it, and no type that comes now and was not learned. */
static bool
predict(struct level_table *t, const struct level_facts *f)
{
	struct passages *of = calloc((size_t)t->nservices + 1, sizeof *of);
	bool *unlearned = calloc((size_t)t->nservices + 1, sizeof *unlearned);
	bool ok = of != NULL && unlearned != NULL;

	for (uint32_t i = 0; i < f->types->n && ok; i++) {
		const struct request_type *type = &f->types->items[i];

		if (take_passages(t, f, type, of)) {
			add_type(t, f, type, of);
			for (uint32_t s = 0; s < t->nservices; s++)
				t->services[s].known |= of[s].passed;
			continue;
		}
		for (uint32_t s = 0; s < t->nservices && type->offered > 0; s++)
			unlearned[s] |= instrumentation_has(
			    f->instrumentation, type->label, f->labels, t->services[s].name);
	}
	for (uint32_t s = 0; s < t->nservices && ok; s++)
		t->services[s].known &= !unlearned[s];
	free(of);
	free(unlearned);
	return ok;
}

/* Of programs without libhone the agent sends only records of sampled requests: records that are made for each that is sent. */
static double
made_for_each(const struct status *s)
{
	return s->mapped > s->dropped ? (double)s->mapped / (double)(s->mapped - s->dropped) : 1;
}

/* What is on was counted. */
static void
take_counted(struct level_table *t, const struct level_facts *f)
{
	for (uint32_t i = 0; i < t->ncells && f->levels->held == LEVELS_ON; i++) {
		struct level_cell *c = &t->cells[i];
		const struct level_service *s = &t->services[c->service];

		double each = made_for_each(&f->nodes->items[c->node].status);

		for (int l = 0; l < LOGLEVELS; l++) {
			double counted;

			if (!level_rates_of(
				&f->levels->rates, c->node, s->number, (uint8_t)l, &counted))
				continue;
			c->counted[l] = level_covers(s->upto, (uint8_t)l);
			*(c->counted[l] ? &c->per_second[l] : &c->shared[l]) = counted * each;
		}
	}
}

int
level_table_make(struct level_table *ret, const struct level_facts *f, struct err *e)
{
	*ret = (struct level_table){ 0 };
	if (!list_services(ret, f) || !count_tracepoints(ret, f) || !list_cells(ret, f) ||
	    !predict(ret, f))
		return err_set(e, ERR_MEMORY, "log levels: out of memory");
	take_counted(ret, f);
	return 0;
}

void
level_table_release(struct level_table *t)
{
	arena_release(&t->arena);
	*t = (struct level_table){ 0 };
}

/* ---- prices ---- */

/* upto[]: of each service. */
static struct level_price
price(const struct level_table *t, const struct level_facts *f, const uint8_t *upto)
{
	struct level_price p = { .node = UINT32_MAX };
	double core = 0;
	bool any = false; /* is on; else nothing is on for another service, either */

	for (uint32_t s = 0; s < t->nservices; s++)
		any |= upto[s] < LOGLEVELS;
	for (uint32_t i = 0; i < t->ncells; i++) {
		const struct level_cell *c = &t->cells[i];
		double per_second = 0;
		bool assumed;

		if (i == 0 || c->node != t->cells[i - 1].node)
			core = 0;
		for (int l = 0; l < LOGLEVELS; l++)
			per_second += level_covers(upto[c->service], (uint8_t)l) ? c->per_second[l]
			              : any                                      ? c->shared[l]
			                                                         : 0;
		p.per_second += per_second;
		core += per_second * overhead_record_ns(f->overhead, c->node, &assumed) / 1e9;
		if (p.node == UINT32_MAX || core > p.core) {
			p.core = core;
			p.node = c->node;
		}
	}
	for (uint32_t s = 0; s < t->nservices; s++)
		for (int l = 0; l < LOGLEVELS; l++) {
			const struct level_service *x = &t->services[s];
			bool counted = f->levels->held == LEVELS_ON && f->levels->rates.measured &&
			               level_covers(x->upto, (uint8_t)l);

			if (!level_covers(upto[s], (uint8_t)l) || x->nodes == 0)
				continue;
			p.tracepoints += x->tracepoints[l];
			p.unknown += !x->known && !counted ? x->tracepoints[l] : 0;
		}
	return p;
}

static struct level_price
price_by(const struct level_table *t, const struct level_facts *f, const struct level_rules *rules,
    uint32_t but, uint8_t its)
{
	uint8_t *upto = calloc((size_t)t->nservices + 1, 1);
	struct level_price p = { .node = UINT32_MAX };

	for (uint32_t s = 0; s < t->nservices && upto != NULL; s++)
		upto[s] = s == but        ? its
		          : rules != NULL ? level_rules_of(rules, t->services[s].name)
		                          : t->services[s].upto;
	if (upto != NULL)
		p = price(t, f, upto);
	free(upto);
	return p;
}

struct level_price
level_table_price(
    const struct level_table *t, const struct level_facts *f, const struct level_rules *rules)
{
	return price_by(t, f, rules, UINT32_MAX, LOGLEVEL_NONE);
}

struct level_price
level_table_price_of(
    const struct level_table *t, const struct level_facts *f, uint32_t service, uint8_t upto)
{
	return price_by(t, f, NULL, service, upto);
}
