/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agent/reader/mapped_labels.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/reader/mapped_state.h"
#include "base/array.h"
#include "base/glob.h"
#include "base/hash.h"

static const char *const BEGIN[BEGIN_FIELDS] = { "trace_id_high", "probed" };

static bool
choose(void *of, const char *type)
{
	struct mapped_source *s = of;

	s->chosen = s->o.choose != NULL ? s->o.choose(s->o.of, type) : MAPPED_PROBED;
	return s->chosen != MAPPED_NOT;
}

static bool
follows(void *of, uint64_t trace_id)
{
	struct mapped_source *s = of;

	return map_get(&s->followed, trace_id) != NULL;
}

/* The bases of the labels of spans. False: out of memory. */
static bool
make_span_bases(struct mapped_source *s, struct mapped_program *p)
{
	const char **fields = (const char **)(uintptr_t)BEGIN;

	p->fork = source_labels_base(&s->own, RECORD_FORK, p->service, "hone:fork", fields, 0);
	p->unit_begin = source_labels_base(
	    &s->own, RECORD_UNIT_BEGIN, p->service, "hone:unit_begin", fields, BEGIN_FIELDS);
	p->unit_end = source_labels_base(
	    &s->own, RECORD_UNIT_END, p->service, "hone:unit_end", fields, 0);
	p->join = source_labels_base(&s->own, RECORD_JOIN, p->service, "hone:join", fields, 0);
	return p->fork != UINT32_MAX && p->unit_begin != UINT32_MAX && p->unit_end != UINT32_MAX &&
	       p->join != UINT32_MAX;
}

static int
program_make(struct mapped_source *s, struct mapped_program *p, const char *service, struct err *e)
{
	const struct mapping *m = maps_of(s->maps, service);
	struct mapper_options o = { .requests_max = s->o.requests_max,
		.sampled = choose,
		.follows = follows,
		.of = s,
		.seed = s->o.seed ^ hash_bytes(0, service, strlen(service)) };
	const char **fields = (const char **)(uintptr_t)BEGIN;

	*p = (struct mapped_program){ 0 };
	snprintf(p->service, sizeof p->service, "%s", service);
	if (m == NULL)
		return 0;
	p->begin = source_labels_base(
	    &s->own, RECORD_REQUEST_BEGIN, service, "hone:request_begin", fields, BEGIN_FIELDS);
	p->end = source_labels_base(
	    &s->own, RECORD_REQUEST_END, service, "hone:request_end", fields, 0);
	if (p->begin == UINT32_MAX || p->end == UINT32_MAX || !make_span_bases(s, p))
		return err_set(e, ERR_MEMORY, "out of memory for the requests of %s", service);
	return mapper_new(&p->mapper, m, &o, e);
}

/* The index of a label's program, which is created if it is new. UINT32_MAX: out of memory. */
static uint32_t
program_of(struct mapped_source *s, const struct batch_label *l, struct err *e)
{
	const char *slash = memchr(l->text, '/', l->len);
	size_t len = slash != NULL ? (size_t)(slash - l->text) : l->len;
	char service[SERVICE_BYTES];

	len = len < sizeof service - 1 ? len : sizeof service - 1;
	memcpy(service, l->text, len);
	service[len] = '\0';
	for (uint32_t i = 0; i < s->nprograms; i++)
		if (strcmp(s->programs[i].service, service) == 0)
			return i;
	if (!array_reserve(s->programs, s->programs_cap, s->nprograms + 1)) {
		err_set(e, ERR_MEMORY, "out of memory for %s", service);
		return UINT32_MAX;
	}
	if (program_make(s, &s->programs[s->nprograms], service, e) != 0)
		return UINT32_MAX;
	return s->nprograms++;
}

static bool
label_add(struct mapped_source *s, const struct batch_label *l)
{
	if (!array_reserve(s->labels, s->labels_cap, s->nlabels + 1))
		return false;
	s->labels[s->nlabels++] = *l;
	return true;
}

static uint32_t
field_bit(const struct batch_label *l, const char *field)
{
	for (uint32_t i = 0; field != NULL && i < l->nfields && i < RECORD_VALUES_MAX; i++)
		if (strcmp(l->fields[i], field) == 0)
			return UINT32_C(1) << i;
	return 0;
}

static uint32_t
ids_of(const struct mapping *m, const struct batch_label *l, const char *name)
{
	uint32_t ids = 0;

	for (uint32_t i = 0; i < m->nrules; i++) {
		const struct map_rule *r = &m->rules[i];

		if (glob_matches(r->begin, name))
			ids |= field_bit(l, r->begin_id);
		if (glob_matches(r->end, name))
			ids |= field_bit(l, r->end_id);
		for (uint32_t k = 0; k < r->nsteps; k++)
			if (glob_matches(r->steps[k].event, name))
				ids |= field_bit(l, r->steps[k].id) |
				       field_bit(l, r->steps[k].gives);
	}
	return ids;
}

int
mapped_labels_learn(struct mapped_source *s, struct err *e)
{
	uint32_t count;
	const struct batch_label *labels = s->inner.labels(s->inner.state, &count);

	if (!array_reserve(s->infos, s->infos_cap, count))
		return err_set(e, ERR_MEMORY, "out of memory for labels");
	for (; s->ninfos < count; s->ninfos++) {
		const struct batch_label *l = &labels[s->ninfos];
		const char *slash = memchr(l->text, '/', l->len);
		struct label_info k = { .program = program_of(s, l, e),
			.label = s->nlabels,
			.name = slash != NULL ? slash + 1 : "" };

		if (k.program == UINT32_MAX)
			return ERR_MEMORY;
		if (s->programs[k.program].mapper != NULL) {
			const struct mapping *m = maps_of(s->maps, s->programs[k.program].service);

			k.needed = map_needs(m, k.name);
			k.ids = ids_of(m, l, k.name);
		}
		if (!label_add(s, l))
			return err_set(e, ERR_MEMORY, "out of memory for labels");
		s->infos[s->ninfos] = k;
	}
	return 0;
}

uint32_t
mapped_own_label(struct mapped_source *s, uint32_t base, enum record_kind kind, const char *type)
{
	const char **fields = (const char **)(uintptr_t)BEGIN;
	uint32_t id = source_labels_named(&s->own, base, kind, type, strlen(type), fields,
	    kind == RECORD_REQUEST_BEGIN || kind == RECORD_UNIT_BEGIN ? BEGIN_FIELDS : 0);

	if (id == UINT32_MAX || !array_reserve(s->own_at, s->own_cap, s->own.count))
		return UINT32_MAX;
	for (; s->nown < s->own.count; s->nown++) {
		s->own_at[s->nown] = s->nlabels;
		if (!label_add(s, &s->own.labels[s->nown]))
			return UINT32_MAX;
	}
	return s->own_at[id];
}

void
mapped_labels_release(struct mapped_source *s)
{
	for (uint32_t i = 0; i < s->nprograms; i++)
		mapper_free(s->programs[i].mapper);
	source_labels_release(&s->own);
	free(s->programs);
	free(s->infos);
	free(s->labels);
	free(s->own_at);
}
