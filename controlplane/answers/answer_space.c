/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The learned space beside the tracepoints that programs have; import; versions. */
#include "controlplane/engine/overhead.h"
#include "controlplane/answers/answer_inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/texts.h"

/* ---- tracepoints of the programs ---- */

/* "service/provider:event" of each tracepoint and "service" of each program of all agents. NULL: out
 * of memory. */
static struct texts *
labels_of_programs(const struct engine *g)
{
	struct texts *all = texts_new();
	char key[2 * LABEL_TEXT_MAX];
	int len;

	for (uint32_t i = 0; all != NULL && i < engine_parts_of(g)->nodes.n; i++) {
		const struct programs *p = &engine_parts_of(g)->nodes.items[i].programs;

		for (uint32_t k = 0; k < p->nprograms; k++) {
			texts_intern(all, p->programs[k].service, strlen(p->programs[k].service));
			for (uint32_t t = p->programs[k].first;
			     t < p->programs[k].first + p->programs[k].count; t++) {
				len = snprintf(
				    key, sizeof key, "%s/%s", p->programs[k].service, p->names[t]);
				texts_intern(all, key,
				    (size_t)len < sizeof key ? (size_t)len : sizeof key - 1);
			}
		}
	}
	return all;
}

/* The search for labels that no program has any more. */
struct stale_search {
	const struct labels *labels;
	const struct texts *have;
	json_t *stale;
};

static bool
is_there(const struct texts *have, const char *key)
{
	return texts_find(have, key, strlen(key)) != UINT32_MAX;
}

/* Whether the service has the tracepoint. True for a service that does not run: it is not known. */
static bool
has_tracepoint(void *ctx, const char *service, const char *event)
{
	const struct stale_search *search = ctx;
	char key[2 * LABEL_TEXT_MAX];

	snprintf(key, sizeof key, "%s/%s", service, event);
	return !is_there(search->have, service) || is_there(search->have, key);
}

static void
add_stale(void *ctx, uint32_t label)
{
	struct stale_search *search = ctx;

	json_array_append_new(search->stale, answer_text(labels_get(search->labels, label)->text));
}

/* The labels of all places of all request types. */
static struct texts *
labels_learned(struct engine *g)
{
	struct texts *all = texts_new();
	struct space_export graph;
	uint32_t type;

	for (uint32_t i = 0;
	     all != NULL && (type = space_type(engine_parts_of(g)->learned.space, i)) != LABEL_NONE;
	     i++) {
		if (!space_export(engine_parts_of(g)->learned.space, type, &graph))
			continue;
		for (uint32_t k = 0; k < graph.nplaces; k++) {
			const char *label =
			    labels_get(engine_parts_of(g)->labels, graph.places[k].label)->text;

			texts_intern(all, label, strlen(label));
		}
	}
	return all;
}

/* Tracepoints that were not seen while learning, without the always-on ones of libhone. */
static json_t *
never_seen(struct engine *g, const struct texts *have, json_int_t *left_off)
{
	struct texts *learned = labels_learned(g);
	json_t *list = learned != NULL ? json_array() : NULL;

	*left_off = 0;
	for (uint32_t i = 0; list != NULL && i < texts_count(have); i++) {
		const char *key = texts_get(have, i), *slash = strrchr(key, '/');

		if (slash == NULL || strchr(slash, ':') == NULL ||
		    strncmp(slash, "/hone:", 6) == 0 || is_there(learned, key))
			continue;
		if (json_array_size(list) < ANSWER_LISTED_MAX)
			json_array_append_new(list, answer_text(key));
		else
			++*left_off;
	}
	texts_free(learned);
	return list;
}

/* ---- asked ---- */

static json_t *
version_json(const struct space_version *v)
{
	return json_pack("{s:o, s:o, s:o, s:I}", "name", answer_text(v->name), "fingerprint",
	    v->fingerprint != 0 ? json_sprintf("%016llx", (unsigned long long)v->fingerprint)
				: json_null(),
	    "learned", wall_json((struct wall){ v->learned_ns }), "traces", (json_int_t)v->traces);
}

static json_t *
type_json(const struct engine *g, uint32_t type)
{
	struct space_stats s = { 0 };
	struct space_cover c = { 0 };

	space_stats(engine_parts_of(g)->learned.space, type, &s);
	space_cover(engine_parts_of(g)->learned.space, type, &c);
	return json_pack("{s:o, s:I, s:i, s:i, s:i, s:i, s:o, s:o}", "type",
	    answer_text(labels_get(engine_parts_of(g)->labels, type)->text), "traces",
	    (json_int_t)s.traces, "places", (int)s.places, "glimpsed", (int)s.glimpsed, "steps",
	    (int)s.steps, "labels", (int)s.labels, "unseen", number_json(c.unseen), "next_new",
	    number_json(c.next_new));
}

static json_t *
space_json(struct engine *g, const struct answer_context *c)
{
	struct texts *have = labels_of_programs(g);
	struct stale_search search = { engine_parts_of(g)->labels, have, json_array() };
	json_t *types = json_array(), *a = NULL;
	json_int_t left_off;
	uint32_t type;

	for (uint32_t i = 0;
	     (type = space_type(engine_parts_of(g)->learned.space, i)) != LABEL_NONE; i++)
		json_array_append_new(types, type_json(g, type));
	if (have != NULL) {
		space_stale(engine_parts_of(g)->learned.space, has_tracepoint, &search, add_stale);
		a = json_pack("{s:o, s:o, s:O, s:O, s:o}", "path", answer_text(c->space_path),
		    "space_version", version_json(space_version(engine_parts_of(g)->learned.space)),
		    "types", types, "stale", search.stale, "never_seen",
		    never_seen(g, have, &left_off));
		json_object_set_new(a, "never_seen_left_off", json_integer(left_off));
	}
	json_decref(types);
	json_decref(search.stale);
	texts_free(have);
	return a;
}

json_t *
ask_space(struct engine *g, struct forest *f, const struct answer_context *c, const json_t *ask)
{
	(void)f;
	(void)ask;
	return space_json(g, c);
}

/* ---- versions ---- */

/* 1: the file has that version; 0: it does not, or there is no file; or a negative code. */
static int
file_has(const char *path, const char *name, struct err *e)
{
	struct space_version *all = NULL;
	uint32_t n = 0;
	int rc = space_versions(&all, &n, path, e);
	bool found = false;

	for (uint32_t i = 0; rc == 0 && i < n; i++)
		found |= strcmp(all[i].name, name) == 0;
	free(all);
	return rc == ERR_MISSING ? 0 : rc < 0 ? rc : found;
}

/* Saves the present space to the file and replaces it by `fresh`, which is freed on failure. */
static int
replace_space(struct engine *g, const struct answer_context *c, struct space *fresh, struct err *e)
{
	int rc = space_type(engine_parts_of(g)->learned.space, 0) != LABEL_NONE
	             ? space_save(engine_parts_of(g)->learned.space, c->space_path, e)
	             : 0;

	if (rc != 0) {
		space_free(fresh);
		return rc;
	}
	engine_space_use(g, fresh);
	return 0;
}

static int
other_version(
    struct engine *g, const struct answer_context *c, const char *name, bool create, struct err *e)
{
	struct space *fresh;
	int known = file_has(c->space_path, name, e), rc;

	if (known < 0)
		return known;
	if (!known && !create)
		return err_set(e, ERR_MISSING,
		    "%.63s: no such version; 'hone space versions' lists them", name);
	if ((fresh = space_new(engine_parts_of(g)->labels)) == NULL)
		return err_set(e, ERR_MEMORY, "out of memory");
	rc = known ? space_load(fresh, engine_parts_of(g)->labels, c->space_path, name, e)
	           : space_version_set(fresh, 0, name, c->when.ns, e);
	if (rc != 0) {
		space_free(fresh);
		return rc;
	}
	return replace_space(g, c, fresh, e);
}

int
answer_version(
    struct engine *g, const struct answer_context *c, const char *name, bool create, struct err *e)
{
	const struct space_version *v = space_version(engine_parts_of(g)->learned.space);

	if (name == NULL || name[0] == '\0' || strlen(name) >= sizeof v->name)
		return err_set(
		    e, ERR_INPUT, "the name of a version has 1 to %zu bytes", sizeof v->name - 1);
	if (engine_parts_of(g)->learning.active ||
	    request_types_diagnosed(&engine_parts_of(g)->types))
		return err_set(
		    e, ERR_BUSY, "a diagnosis or learning is active; 'hone stop' ends it");
	if (strcmp(v->name, name) == 0)
		return 0;
	if (v->name[0] == '\0' && create) /* the present space gets the name */
		return space_version_set(engine_parts_of(g)->learned.space, v->fingerprint, name,
		    v->learned_ns != 0 ? v->learned_ns : c->when.ns, e);
	return other_version(g, c, name, create, e);
}

json_t *
ask_space_use(struct engine *g, struct forest *f, const struct answer_context *c, const json_t *ask)
{
	struct err e;
	int rc;

	(void)f;
	if ((rc = answer_version(
		 g, c, json_string_value(json_object_get(ask, "name")), false, &e)) != 0)
		return answer_refuse(rc, "%s", e.text);
	return space_json(g, c);
}

/* ---- import ---- */

/* The same version as the present space: merged into it. */
static int
teach(struct engine *g, const struct answer_context *c, const struct space *from, struct err *e)
{
	int rc = space_merge(engine_parts_of(g)->learned.space, from, e);

	overhead_forget(engine_parts_of(g)->overhead);
	return rc != 0 ? rc : space_save(engine_parts_of(g)->learned.space, c->space_path, e);
}

/* Another version: merged into that version of the file. */
static int
put_beside(struct engine *g, const struct answer_context *c, struct space *from, struct err *e)
{
	char name[sizeof space_version(from)->name];
	int known;

	snprintf(name, sizeof name, "%s", space_version(from)->name);
	if ((known = file_has(c->space_path, name, e)) < 0)
		return known;
	if (known &&
	    (known = space_load(from, engine_parts_of(g)->labels, c->space_path, name, e)) < 0)
		return known;
	return space_save(from, c->space_path, e);
}

static int
import(struct engine *g, const struct answer_context *c, const char *path, const char *version,
    bool *beside, struct err *e)
{
	struct space *from = space_new(engine_parts_of(g)->labels);
	int rc = from != NULL ? space_load(from, engine_parts_of(g)->labels, path, version, e)
	                      : err_set(e, ERR_MEMORY, "out of memory");

	if (rc == 0) {
		const struct space_version *now = space_version(engine_parts_of(g)->learned.space),
					   *its = space_version(from);

		*beside = space_type(engine_parts_of(g)->learned.space, 0) != LABEL_NONE &&
		          strcmp(now->name, its->name) != 0;
		if (space_type(engine_parts_of(g)->learned.space, 0) == LABEL_NONE &&
		    now->name[0] == '\0' && its->name[0] != '\0')
			rc = space_version_set(engine_parts_of(g)->learned.space, its->fingerprint,
			    its->name, its->learned_ns, e);
		if (rc == 0)
			rc = *beside ? put_beside(g, c, from, e) : teach(g, c, from, e);
	}
	space_free(from);
	return rc;
}

json_t *
ask_space_import(
    struct engine *g, struct forest *f, const struct answer_context *c, const json_t *ask)
{
	const char *path = json_string_value(json_object_get(ask, "path"));
	const char *version = json_string_value(json_object_get(ask, "name"));
	bool beside = false;
	struct err e;
	json_t *a;
	int rc;

	(void)f;
	if (path == NULL || path[0] != '/')
		return answer_refuse(
		    ERR_INPUT, "\"path\" must be the absolute path of a space file");
	if (engine_parts_of(g)->learning.active)
		return answer_refuse(ERR_BUSY, "learning is active; 'hone stop' ends it");
	if ((rc = import(g, c, path, version, &beside, &e)) != 0)
		return answer_refuse(rc, "%s", e.text);
	if ((a = space_json(g, c)) != NULL)
		json_object_set_new(a, "beside", json_boolean(beside));
	return a;
}
