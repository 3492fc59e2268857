/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "otel/control/remote_sampling.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOWER_BOUND \
	0.1 /* traces of a type in a second that an SDK samples in any case, so that a type is seen */

struct asking_service {
	char name[SAMPLING_NAME_MAX + 1];
	struct mono asked;
	uint64_t version; /* of what it was told last */
	double told,
	    before; /* the shares of types without one of their own that it was told last, since then, and before */
	struct mono since;
};

struct remote_sampling {
	struct remote_sampling_options o;
	struct asking_service *services; /* [SAMPLING_SERVICES_MAX] */
	uint32_t n;
	struct arena arena;
	struct want want; /* in the arena */
	struct mono until;
	bool set_back;
	uint64_t version, changes;
};

struct remote_sampling *
remote_sampling_new(const struct remote_sampling_options *o)
{
	struct remote_sampling *s = calloc(1, sizeof *s);

	if (s == NULL ||
	    (s->services = calloc(SAMPLING_SERVICES_MAX, sizeof *s->services)) == NULL) {
		free(s);
		return NULL;
	}
	s->o = *o;
	s->want.sampled = o->rate;
	s->version = 1;
	return s;
}

void
remote_sampling_free(struct remote_sampling *s)
{
	if (s == NULL)
		return;
	arena_release(&s->arena);
	free(s->services);
	free(s);
}

bool
remote_sampling_is_path(const char *path)
{
	return strcmp(path, "/sampling") == 0 || strcmp(path, "/api/sampling") == 0 ||
	       strcmp(path, "/api/sampling/sampling") == 0;
}

/* ---- what is wanted ---- */

static bool
same_rates(const struct want *a, const struct want *b)
{
	if (a->sampled != b->sampled || a->nrates != b->nrates)
		return false;
	for (uint32_t i = 0; i < a->nrates; i++)
		if (a->rates[i].sampled != b->rates[i].sampled ||
		    strcmp(a->rates[i].request_type, b->rates[i].request_type) != 0)
			return false;
	return true;
}

int
remote_sampling_want(
    struct remote_sampling *s, const struct want *w, struct mono until, struct err *e)
{
	struct want copy = *w;
	struct arena a = { 0 };
	bool ok;

	copy.nrates = w->nrates < SAMPLING_TYPES_MAX ? w->nrates : SAMPLING_TYPES_MAX;
	s->until = until;
	if (same_rates(&s->want, &copy))
		return 0;
	copy.rates = arena_copy(&a, w->rates, copy.nrates * sizeof *copy.rates);
	ok = copy.rates != NULL || copy.nrates == 0;
	for (uint32_t i = 0; ok && i < copy.nrates; i++) {
		const char *type = w->rates[i].request_type;

		ok = (copy.rates[i].request_type = arena_text(&a, type, strlen(type))) != NULL;
	}
	if (!ok) {
		arena_release(&a);
		return err_set(
		    e, ERR_MEMORY, "no memory for the rates of %u request types", copy.nrates);
	}
	arena_release(&s->arena);
	s->arena = a;
	s->want = copy;
	s->version++;
	return 0;
}

/* The operator's rate for all. */
static void
reset(struct remote_sampling *s)
{
	if (s->want.nrates == 0 && s->want.sampled == s->o.rate)
		return;
	arena_reset(&s->arena);
	s->want = (struct want){ .sampled = s->o.rate };
	s->version++;
}

void
remote_sampling_set_back(struct remote_sampling *s)
{
	s->set_back = true;
	reset(s);
}

/* ---- services ---- */

static int
find_service(
    struct remote_sampling *s, const char *name, struct asking_service **ret, struct err *e)
{
	struct asking_service *a;

	if (name == NULL || name[0] == '\0' || strlen(name) > SAMPLING_NAME_MAX)
		return err_set(e, ERR_INPUT, "service=NAME is missing, or has over %d bytes",
		    SAMPLING_NAME_MAX);
	for (const char *c = name; *c != '\0'; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f || *c == '/')
			return err_set(
			    e, ERR_INPUT, "the name of the service has '/' or control characters");
	for (uint32_t i = 0; i < s->n; i++)
		if (strcmp(s->services[i].name, name) == 0) {
			*ret = &s->services[i];
			return 0;
		}
	if (s->n == SAMPLING_SERVICES_MAX)
		return err_set(e, ERR_FULL, "%d services are the most", SAMPLING_SERVICES_MAX);
	a = &s->services[s->n++];
	*a = (struct asking_service){ 0 };
	snprintf(a->name, sizeof a->name, "%s", name);
	*ret = a;
	s->changes++;
	return 0;
}

static json_t *
rate_json(double rate)
{
	return json_pack("{s:f}", "samplingRate", fmin(1, fmax(0, rate)));
}

/* NULL: out of memory, also if a name is not valid UTF-8. */
static json_t *
strategies_json(const struct remote_sampling *s)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < s->want.nrates; i++) {
		json_t *operation = json_string(s->want.rates[i].request_type);

		if (operation != NULL)
			json_array_append_new(list,
			    json_pack("{s:o, s:o}", "operation", operation, "probabilisticSampling",
				rate_json(s->want.rates[i].sampled)));
	}
	return json_pack("{s:s, s:o, s:{s:f, s:f, s:o}}", "strategyType", "PROBABILISTIC",
	    "probabilisticSampling", rate_json(s->want.sampled), "operationSampling",
	    "defaultSamplingProbability", fmin(1, fmax(0, s->want.sampled)),
	    "defaultLowerBoundTracesPerSecond", LOWER_BOUND, "perOperationStrategies", list);
}

int
remote_sampling_ask(struct remote_sampling *s, const char *service, struct mono now, struct buf *to,
    bool *is_new, struct err *e)
{
	struct asking_service *a = NULL;
	json_t *j;
	char *text;
	int rc;

	*is_new = false;
	remote_sampling_turn(s, now);
	if ((rc = find_service(s, service, &a, e)) != 0)
		return rc;
	*is_new = a->version == 0;
	a->asked = now;
	if (a->version != s->version) {
		a->before = *is_new ? 1 : a->told;
		a->told = s->want.sampled;
		a->since = now;
	}
	a->version = s->version;
	j = strategies_json(s);
	text = j != NULL ? json_dumps(j, JSON_COMPACT) : NULL;
	json_decref(j);
	if (text != NULL)
		buf_bytes(to, text, strlen(text));
	rc = text != NULL && !to->failed ? 0 : err_set(e, ERR_MEMORY, "out of memory");
	free(text);
	return rc;
}

void
remote_sampling_turn(struct remote_sampling *s, struct mono now)
{
	if (s->set_back || now.ns >= s->until.ns)
		reset(s);
	for (uint32_t i = 0; i < s->n;) {
		if (mono_since_ns(now, s->services[i].asked) < s->o.quiet_ns) {
			i++;
			continue;
		}
		s->services[i] = s->services[--s->n];
		s->changes++;
	}
}

double
remote_sampling_told(const struct remote_sampling *s, struct text_view service, int64_t begin_ns)
{
	for (uint32_t i = 0; i < s->n; i++) {
		const struct asking_service *a = &s->services[i];

		if (strlen(a->name) == service.len && memcmp(a->name, service.s, service.len) == 0)
			return begin_ns >= a->since.ns ? a->told : a->before;
	}
	return 1;
}

bool
remote_sampling_is_set_back(const struct remote_sampling *s, struct mono now, int64_t since_ns)
{
	for (uint32_t i = 0; i < s->n; i++)
		if (s->services[i].version != s->version &&
		    mono_since_ns(now, s->services[i].asked) < since_ns)
			return false;
	return true;
}

bool
remote_sampling_programs(const struct remote_sampling *s, struct programs *ret, struct arena *a)
{
	struct program *all = arena_calloc(a, (size_t)ret->nprograms + s->n + 1, sizeof *all);

	if (all == NULL)
		return false;
	if (ret->nprograms > 0)
		memcpy(all, ret->programs, ret->nprograms * sizeof *all);
	for (uint32_t i = 0; i < s->n && ret->nprograms < PROGRAMS_MAX; i++) {
		const char *name = s->services[i].name;

		if ((name = arena_text(a, name, strlen(name))) == NULL)
			return false;
		all[ret->nprograms++] = (struct program){ .service = name,
			.lever = LEVER_SAMPLING };
	}
	ret->programs = all;
	return true;
}

uint64_t
remote_sampling_changes(const struct remote_sampling *s)
{
	return s->changes;
}
