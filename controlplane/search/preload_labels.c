/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/search/preload_labels.h"

#include <fnmatch.h>
#include <string.h>

#include "wire/below.h"

void
preload_init(struct preload_labels *p, const char *const *patterns, const struct labels *labels)
{
	*p = (struct preload_labels){ .patterns = patterns, .labels = labels };
}

void
preload_release(struct preload_labels *p)
{
	label_set_release(&p->set);
}

bool
preload_provider_is(const char *pattern, const char *name, size_t len)
{
	char provider[LABEL_TEXT_MAX + 1];
	const char *colon = memchr(name, ':', len);

	if (colon == NULL || colon - name > LABEL_TEXT_MAX)
		return false;
	memcpy(provider, name, (size_t)(colon - name));
	provider[colon - name] = '\0';
	return fnmatch(pattern, provider, 0) == 0;
}

static bool
matches_any(const struct preload_labels *p, const char *name, size_t len)
{
	if (strncmp(name, BELOW_FUNC, strlen(BELOW_FUNC)) == 0)
		return true;
	for (const char *const *x = p->patterns; x != NULL && *x != NULL; x++)
		if (preload_provider_is(*x, name, len))
			return true;
	return false;
}

bool
preload_is(const struct preload_labels *p, const char *name)
{
	return matches_any(p, name, strlen(name));
}

const struct label_set *
preload_set(struct preload_labels *p)
{
	uint32_t n = labels_count(p->labels);

	for (; p->patterns != NULL && p->checked < n; p->checked++) {
		const struct label *l = labels_get(p->labels, p->checked);

		if (l->kind == RECORD_POINT && !l->silent &&
		    matches_any(p, l->event, l->event_len) && !label_set_add(&p->set, p->checked))
			break;
	}
	return &p->set;
}

bool
preload_label(struct preload_labels *p, uint32_t label)
{
	return label_set_has(preload_set(p), label);
}
