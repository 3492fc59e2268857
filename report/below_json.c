/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/below_json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/document_inside.h"
#include "wire/below.h"

#define TREE_SHARE_MIN 1e-3

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
stacks_json(const struct difference_node *tree, uint32_t count)
{
	uint32_t *number = calloc(
	    (size_t)count + 1, sizeof *number); /* in the JSON, from 1; 0: left out */
	json_t *stacks = number != NULL ? json_array() : NULL;
	double least = count > 0 ? TREE_SHARE_MIN * fmax(tree[0].slow_ns, tree[0].usual_ns) : 0;

	for (uint32_t i = 0;
	     stacks != NULL && i < count && json_array_size(stacks) < BELOW_STACKS_MAX; i++) {
		json_t *o;

		if (i > 0 && (number[tree[i].parent] == 0 ||
				 fmax(tree[i].slow_ns, tree[i].usual_ns) < least))
			continue;
		o = json_object();
		put(o, "entry", text_json(tree[i].text, strlen(tree[i].text)));
		put(o, "parent", i > 0 ? json_integer(number[tree[i].parent] - 1) : json_null());
		put_ms(o, "usual_ms", tree[i].usual_ns);
		put_ms(o, "slow_ms", tree[i].slow_ns);
		json_array_append_new(stacks, o);
		number[i] = (uint32_t)json_array_size(stacks);
	}
	free(number);
	return stacks;
}

json_t *
below_json(const struct differential *d, const struct difference_node *tree, uint32_t count,
    double confidence, double p_max)
{
	json_t *o = json_object(), *items = json_array(), *stacks = stacks_json(tree, count);
	int functions = 0;

	if (o == NULL || items == NULL || stacks == NULL) {
		json_decref(o);
		json_decref(items);
		json_decref(stacks);
		return NULL;
	}
	for (uint32_t i = 0; i < d->count; i++)
		if (d->items[i].of == DIFFERENCE_STATE ||
		    (d->items[i].p <= p_max && functions++ < BELOW_ITEMS_MAX))
			json_array_append_new(items, item_json(&d->items[i]));
	put_count(o, "slow", d->nslow);
	put_count(o, "usual", d->nusual);
	put_ms(o, "slow_ms", d->slow_ns);
	put_ms(o, "usual_ms", d->usual_ns);
	put_number(o, "confidence", confidence);
	put(o, "items", items);
	put(o, "stacks", stacks);
	return o;
}
