/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "searchspace/span.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

static const struct {
	const char *ending;
	uint8_t opens, closes;	/* sets of families */
} ENDINGS[] = {
	{ "_begin", 1, 0 },
	{ "_start", 2, 0 },
	{ "_entry", 4, 0 },
	{ "_enter", 8 | 4, 0 },
	{ "_end", 0, 1 | 2 },
	{ "_exit", 0, 4 | 8 },
	{ "_leave", 0, 8 },
};

struct span_role {
	bool known;
	uint8_t opens, closes;
	uint64_t base;		/* hash of service/provider:event without its ending */
};

static struct span_role
role_of(const struct label *l)
{
	size_t len = (size_t)(l->event - l->text) + l->event_len;

	for (size_t i = 0; l->kind == RECORD_POINT && i < sizeof ENDINGS / sizeof ENDINGS[0]; i++) {
		size_t ending = strlen(ENDINGS[i].ending);

		if (len > ending && memcmp(l->text + len - ending, ENDINGS[i].ending, ending) == 0)
			return (struct span_role){ true, ENDINGS[i].opens, ENDINGS[i].closes,
				hash_bytes(0, l->text, len - ending) };
	}
	return (struct span_role){ .known = true };
}

bool
span_enter(struct spans *s, struct span_stack *open, const struct labels *labels, uint32_t label, uint32_t *span)
{
	struct span_role *role;

	if (label >= s->n) {
		uint32_t n = labels_count(labels) + 64;
		struct span_role *more = realloc(s->roles, n * sizeof *more);

		if (more == NULL)
			return false;
		memset(more + s->n, 0, (n - s->n) * sizeof *more);
		s->roles = more;
		s->n = n;
	}
	role = &s->roles[label];
	if (!role->known)
		*role = role_of(labels_get(labels, label));
	for (uint32_t i = open->depth; role->closes != 0 && i > 0; i--) {
		const struct span_role *o = &s->roles[open->labels[i - 1]];

		if (o->base == role->base && (o->opens & role->closes) != 0) {
			open->depth = i - 1;	/* those above it have lost their ends */
			break;
		}
	}
	*span = open->depth > 0 ? open->labels[open->depth - 1] : LABEL_NONE;
	if (role->opens != 0 && open->depth < SPAN_DEPTH_MAX)
		open->labels[open->depth++] = label;
	return true;
}

void
spans_release(struct spans *s)
{
	free(s->roles);
	*s = (struct spans){ 0 };
}
