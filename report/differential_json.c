/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/differential_json.h"

#include <string.h>

#include "report/document_inside.h"
#include "wire/below.h"

static json_t *
item_json(const struct difference *i)
{
	static const char *const of[] = { [DIFFERENCE_STATE] = "state",
		[DIFFERENCE_SELF] = "self",
		[DIFFERENCE_INCLUSIVE] = "inclusive" };
	const char *name = i->of == DIFFERENCE_STATE ? below_state_word((enum below_state)i->state)
	                                             : i->function;
	json_t *o = json_object();

	put(o, "of", json_string(of[i->of]));
	put(o, "name", text_json(name, strlen(name)));
	put_ms(o, "usual_ms", i->usual_ns);
	put_ms(o, "slow_ms", i->slow_ns);
	put_ms(o, "low_ms", i->more_ns.low);
	put_ms(o, "high_ms", i->more_ns.high);
	put_number(o, "p", i->p);
	put_count(o, "slow", i->slow);
	put_count(o, "usual", i->usual);
	return o;
}

static json_t *
node_json(const struct difference_node *x, bool root)
{
	json_t *o = json_object();

	put(o, "entry", text_json(x->text, strlen(x->text)));
	put(o, "parent", root ? json_null() : json_integer(x->parent));
	put_ms(o, "usual_ms", x->usual_ns);
	put_ms(o, "slow_ms", x->slow_ns);
	return o;
}

json_t *
differential_json(const struct differential *d, const struct difference_node *tree, uint32_t count)
{
	json_t *o = json_object(), *items = json_array(), *stacks = json_array();

	if (o == NULL || items == NULL || stacks == NULL) {
		json_decref(o);
		json_decref(items);
		json_decref(stacks);
		return NULL;
	}
	for (uint32_t i = 0; i < d->count; i++)
		json_array_append_new(items, item_json(&d->items[i]));
	for (uint32_t i = 0; i < count; i++)
		json_array_append_new(stacks, node_json(&tree[i], i == 0));
	put_count(o, "slow", d->nslow);
	put_count(o, "usual", d->nusual);
	put_ms(o, "slow_ms", d->slow_ns);
	put_ms(o, "usual_ms", d->usual_ns);
	put_ms(o, "slow_from_ms", d->slow_from_ns);
	put_number(o, "confidence", d->confidence);
	put(o, "items", items);
	put(o, "stacks", stacks);
	return o;
}
