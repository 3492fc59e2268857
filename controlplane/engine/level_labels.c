/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/engine/level_labels.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "wire/loglevel.h"

void
level_labels_release(struct level_labels *x)
{
	texts_free(x->services);
	free(x->labels);
	*x = (struct level_labels){ 0 };
}

uint32_t
level_labels_service(struct level_labels *x, const char *service)
{
	if (x->services == NULL && (x->services = texts_new()) == NULL)
		return UINT32_MAX;
	if (texts_count(x->services) >= LEVEL_SERVICES_MAX)
		return texts_find(x->services, service, strlen(service));
	return texts_intern(x->services, service, strlen(service));
}

static bool
is_named(const char *name, const struct label *l)
{
	return strncmp(name, l->event, l->event_len) == 0 && name[l->event_len] == '\0';
}

static struct label_level
look_up(struct level_labels *x, const struct label *l, const struct binaries *binaries)
{
	struct label_level ret = { .service = UINT32_MAX, .level = LOGLEVEL_NONE, .known = true };

	for (uint32_t i = 0; i < binaries->n; i++) {
		const struct binary *b = binaries->items[i];

		if (b == NULL || !label_of_service(l, b->service))
			continue;
		for (uint32_t k = 0; k < b->n; k++)
			if (is_named(b->names[k], l)) {
				ret.service = level_labels_service(x, b->service);
				ret.level = b->levels[k];
				return ret;
			}
	}
	return ret;
}

struct label_level *
level_labels_of(struct level_labels *x, const struct labels *labels,
    const struct binaries *binaries, uint32_t label)
{
	const struct label *l = labels_get(labels, label);
	uint32_t was = x->cap;

	if (l->kind != RECORD_POINT || l->silent || !array_reserve(x->labels, x->cap, label + 1))
		return NULL;
	memset(x->labels + was, 0, (x->cap - was) * sizeof *x->labels);
	if (x->changes != binaries->changes)
		memset(x->labels, 0, x->cap * sizeof *x->labels);
	x->changes = binaries->changes;
	if (!x->labels[label].known)
		x->labels[label] = look_up(x, l, binaries);
	return x->labels[label].service != UINT32_MAX ? &x->labels[label] : NULL;
}
