/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "otel/spans/event_names.h"

#include <stdlib.h>
#include <string.h>

#include "base/texts.h"
#include "otel/spans/span_points.h"

/* A text of `pairs` is "SERVICE/event:NAME": its tracepoint begins behind the last '/' of the service. */
struct event_names {
	struct texts *pairs, *tracepoints;
	uint16_t service_len[EVENT_NAMES_MAX];
	uint64_t left;
};

struct event_names *
event_names_new(void)
{
	struct event_names *n = calloc(1, sizeof *n);

	if (n == NULL)
		return NULL;
	n->pairs = texts_new();
	n->tracepoints = texts_new();
	if (n->pairs == NULL || n->tracepoints == NULL) {
		event_names_free(n);
		return NULL;
	}
	return n;
}

void
event_names_free(struct event_names *n)
{
	if (n == NULL)
		return;
	texts_free(n->pairs);
	texts_free(n->tracepoints);
	free(n);
}

/* Writes "SERVICE/event:NAME". 0: it is no tracepoint. */
static size_t
write_pair(char *out, size_t size, struct text_view service, struct text_view name)
{
	size_t provider = strlen(EVENT_PROVIDER), len = service.len + 1 + provider + name.len;

	if (service.len == 0 || name.len == 0 || name.len > EVENT_NAME_MAX || len > size)
		return 0;
	memcpy(out, service.s, service.len);
	out[service.len] = '/';
	memcpy(out + service.len + 1, EVENT_PROVIDER, provider);
	memcpy(out + service.len + 1 + provider, name.s, name.len);
	return point_name_fits(out + service.len + 1, provider + name.len) ? len : 0;
}

const char *
event_names_note(struct event_names *n, struct text_view service, struct text_view name)
{
	char pair[LABEL_TEXT_MAX];
	size_t len = write_pair(pair, sizeof pair, service, name);
	uint32_t id, count = texts_count(n->pairs);

	id = len > 0 ? texts_find(n->pairs, pair, len) : UINT32_MAX;
	if (id != UINT32_MAX)
		return texts_get(n->pairs, id) + service.len + 1;
	if (len == 0 || count == EVENT_NAMES_MAX ||
	    texts_intern(n->tracepoints, pair + service.len + 1, len - service.len - 1) ==
		UINT32_MAX ||
	    (id = texts_intern(n->pairs, pair, len)) == UINT32_MAX) {
		n->left++;
		return NULL;
	}
	n->service_len[id] = (uint16_t)service.len;
	return texts_get(n->pairs, id) + service.len + 1;
}

bool
event_names_has(const struct event_names *n, const char *tracepoint)
{
	if (strcmp(tracepoint, EVENT_PROVIDER "*") == 0)
		return texts_count(n->tracepoints) > 0;
	return texts_find(n->tracepoints, tracepoint, strlen(tracepoint)) != UINT32_MAX;
}

/* The names of the service, appended to ret->names. */
static uint32_t
append(const struct event_names *n, struct programs *ret, const char *service)
{
	size_t len = strlen(service);
	uint32_t count = 0;

	for (uint32_t i = 0; i < texts_count(n->pairs) && ret->nnames < TRACEPOINTS_MAX; i++) {
		const char *pair = texts_get(n->pairs, i);

		if (n->service_len[i] != len || memcmp(pair, service, len) != 0)
			continue;
		ret->names[ret->nnames++] = pair + len + 1;
		count++;
	}
	return count;
}

bool
event_names_fill(const struct event_names *n, struct programs *ret, uint32_t from, struct arena *a)
{
	uint32_t most = ret->nnames + texts_count(n->pairs);
	const char **names = arena_calloc(a, most + 1, sizeof *names);
	uint32_t *firsts = arena_calloc(a, ret->nprograms + 1, sizeof *firsts);
	struct texts *done = texts_new();
	bool ok = names != NULL && firsts != NULL && done != NULL;

	if (ok && ret->nnames > 0)
		memcpy(names, ret->names, ret->nnames * sizeof *names);
	if (ok)
		ret->names = names;
	for (uint32_t i = from; ok && i < ret->nprograms; i++) {
		struct program *p = &ret->programs[i];
		uint32_t before = texts_count(done),
			 at = texts_intern(done, p->service, strlen(p->service));

		if ((ok = at != UINT32_MAX) && at == before) { /* the first of its service */
			firsts[at] = i;
			p->first = ret->nnames;
			p->count = append(n, ret, p->service);
		} else if (ok) {
			p->first = ret->programs[firsts[at]].first;
			p->count = ret->programs[firsts[at]].count;
		}
	}
	texts_free(done);
	return ok;
}

uint64_t
event_names_changes(const struct event_names *n)
{
	return texts_count(n->pairs);
}

uint64_t
event_names_left(const struct event_names *n)
{
	return n->left;
}
