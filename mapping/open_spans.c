/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "mapping/open_spans.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "mapping/mapper_roles.h"

enum { ID_DIGITS = 16 };

/* The number of an id; of a text of more than 16 hexadecimal digits that of the last 16, as of a W3C trace id; other texts are hashed. 0:
 * none. */
static uint64_t
id_of(const struct mapper_event *v, uint32_t field)
{
	const struct value *value = field < v->nfields ? &v->values[field] : NULL;
	uint64_t id = 0;

	if (value == NULL)
		return 0;
	if (value->type == VALUE_INT || value->type == VALUE_UINT)
		return value->u;
	if (value->type != VALUE_TEXT)
		return 0;
	for (uint32_t i = 0; i < value->len; i++) {
		char c = value->text[i];
		int digit = c >= '0' && c <= '9'   ? c - '0'
		            : c >= 'a' && c <= 'f' ? c - 'a' + 10
		            : c >= 'A' && c <= 'F' ? c - 'A' + 10
		                                   : -1;

		if (digit < 0)
			return hash_bytes(0, value->text, value->len);
		id = id << 4 | (uint64_t)digit;
	}
	return id;
}

static void
forget(struct mapper *p, struct open_mapped_span *o)
{
	map_take(&p->spans, o->key);
	*(o->older != NULL ? &o->older->newer : &p->oldest_span) = o->newer;
	*(o->newer != NULL ? &o->newer->older : &p->newest_span) = o->older;
	free(o);
}

void
mapped_spans_forget(struct mapper *p, int64_t before_ns, uint32_t pid)
{
	for (struct open_mapped_span *o = p->oldest_span, *next; o != NULL; o = next) {
		next = o->newer;
		if (pid == 0 && o->begin_ns >= before_ns)
			return;
		if (o->begin_ns < before_ns && (pid == 0 || o->pid == pid)) {
			p->counts.given_up += o->followed;
			forget(p, o);
		}
	}
}

void
mapped_spans_release(struct mapper *p)
{
	while (p->oldest_span != NULL)
		forget(p, p->oldest_span);
	map_release(&p->spans);
}

static void
answer(const struct mapper *p, const struct open_mapped_span *o, uint32_t type, bool begins,
    struct mapper_result *ret)
{
	*ret = (struct mapper_result){ .trace_id = o->trace,
		.unit_id = o->id,
		.span = true,
		.begins = begins && o->parent == 0,
		.ends = !begins && o->parent == 0,
		.unit_begins = begins && o->parent != 0,
		.unit_ends = !begins && o->parent != 0,
		.parent_id = o->parent,
		.type = texts_get(p->types, type) };
}

static int
start(struct mapper *p, const struct mapper_event *v, struct open_mapped_span o,
    const struct event_role *role, struct mapper_result *ret, struct err *e)
{
	struct open_mapped_span *made;

	o.parent = id_of(v, role->parent);
	if ((o.type = roles_type(p, v, role)) == ITEM_NONE)
		return err_set(e, ERR_MEMORY, "no memory to follow a program's spans");
	if (o.parent == 0)
		o.followed = p->options.sampled == NULL ||
		             p->options.sampled(p->options.of, texts_get(p->types, o.type));
	else
		o.followed = p->options.follows == NULL ||
		             p->options.follows(p->options.of, o.trace);
	p->counts.begun += o.followed;
	p->counts.unsampled += !o.followed;
	if (!o.followed)
		return 0;
	if ((made = map_get(&p->spans, o.key)) != NULL) {
		p->counts.clashes++;
		forget(p, made);
	}
	if (p->spans.count >= p->options.requests_max) {
		p->counts.given_up++;
		forget(p, p->oldest_span);
	}
	if ((made = malloc(sizeof *made)) == NULL || !map_put(&p->spans, o.key, made)) {
		free(made);
		return err_set(e, ERR_MEMORY, "no memory to follow a program's spans");
	}
	*made = o;
	made->older = p->newest_span;
	*(p->newest_span != NULL ? &p->newest_span->newer : &p->oldest_span) = made;
	p->newest_span = made;
	answer(p, made, o.type, true, ret);
	return 0;
}

int
mapped_spans_take(struct mapper *p, const struct mapper_event *v, const struct event_role *role,
    struct mapper_result *ret, struct err *e)
{
	struct open_mapped_span o = { .trace = id_of(v, role->gives),
		.id = id_of(v, role->id),
		.begin_ns = v->time_ns,
		.pid = v->pid };
	struct open_mapped_span *known;
	uint32_t type;

	if (o.trace == 0 || o.id == 0) {
		p->counts.idless++;
		return 0;
	}
	o.key = hash_u64(o.trace ^ p->base) ^ o.id;
	if (role->kind == SPAN_START)
		return start(p, v, o, role, ret, e);
	if ((known = map_get(&p->spans, o.key)) == NULL)
		return 0; /* not followed, or its start is not known */
	/* The name of a request is that of its start; that of a unit may come with its end. */
	type = known->parent != 0 && role->type != ITEM_NONE ? roles_type(p, v, role) : known->type;
	if (type == ITEM_NONE)
		return err_set(e, ERR_MEMORY, "no memory to follow a program's spans");
	answer(p, known, type, false, ret);
	p->counts.ended++;
	forget(p, known);
	return 0;
}
