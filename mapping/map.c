/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE
#include "mapping/map.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/glob.h"
#include "mapping/map_file.h"
#include "mapping/map_rule.h"
#include "wire/below.h"

enum { COMM_MAX_BYTES = 15 };

static int
no_memory(struct err *e)
{
	return err_set(e, ERR_MEMORY, "no memory for a mapping");
}

static char *
keep(struct mapping *m, const char *s, size_t len)
{
	return arena_text(&m->arena, s, len);
}

static int
read_service(struct mapping *m, const struct map_file *w, struct err *e)
{
	size_t len = w->service != NULL ? strlen(w->service) : 0;

	if (w->service_line == 0)
		return err_set(
		    e, ERR_INPUT, "%s: [program] with service = NAME is missing", m->path);
	if (len == 0 || len > MAP_NAME_MAX_BYTES || strchr(w->service, '/') != NULL) {
		err_set(e, ERR_INPUT,
		    "service: want the program's name as ps -o comm shows it, without /");
		return err_prefix(e, "%s:%d", m->path, w->service_line);
	}
	if (len > COMM_MAX_BYTES && strchr(w->service, '*') == NULL) {
		err_set(e, ERR_INPUT,
		    "service: the kernel keeps %d letters of a program's name; want %.*s",
		    COMM_MAX_BYTES, COMM_MAX_BYTES, w->service);
		return err_prefix(e, "%s:%d", m->path, w->service_line);
	}
	return (m->service = keep(m, w->service, len)) != NULL ? 0 : no_memory(e);
}

static void
add_pattern(struct mapping *m, char *pattern)
{
	for (uint32_t i = 0; i < m->npatterns; i++)
		if (strcmp(m->patterns[i], pattern) == 0)
			return;
	m->patterns[m->npatterns++] = pattern;
}

static int
gather_patterns(struct mapping *m, struct err *e)
{
	size_t most = 0;

	for (uint32_t i = 0; i < m->nrules; i++)
		most += 2 + m->rules[i].nsteps;
	if ((m->patterns = arena_calloc(&m->arena, most + 1, sizeof *m->patterns)) == NULL)
		return no_memory(e);
	for (uint32_t i = 0; i < m->nrules; i++) {
		add_pattern(m, m->rules[i].begin);
		for (uint32_t j = 0; j < m->rules[i].nsteps; j++)
			add_pattern(m, m->rules[i].steps[j].event);
		add_pattern(m, m->rules[i].end);
	}
	return 0;
}

static int
make(struct mapping *m, const struct map_file *w, struct err *e)
{
	int rc = read_service(m, w, e);

	if (rc == 0 && w->nrules == 0)
		rc = err_set(
		    e, ERR_INPUT, "%s: no [request NAME]: want one for each way in", m->path);
	if (rc == 0 && (m->rules = arena_calloc(&m->arena, w->nrules, sizeof *m->rules)) == NULL)
		rc = no_memory(e);
	for (; rc == 0 && m->nrules < w->nrules; m->nrules += rc == 0)
		rc = map_rule_read(m, &w->rules[m->nrules], &m->rules[m->nrules], e);
	return rc != 0 ? rc : gather_patterns(m, e);
}

static struct mapping *
new_mapping(const char *path)
{
	struct mapping *m = calloc(1, sizeof *m);

	if (m == NULL || (m->path = arena_text(&m->arena, path, strlen(path))) == NULL) {
		free(m);
		return NULL;
	}
	return m;
}

int
map_load(struct mapping **ret, const char *path, struct err *e)
{
	struct map_file *w = calloc(1, sizeof *w);
	struct mapping *m = new_mapping(path);
	struct err mine;
	int rc = 0;

	if (e == NULL)
		e = &mine;
	if (m == NULL || w == NULL)
		rc = err_set(e, ERR_MEMORY, "%s: no memory for a mapping", path);
	if (rc == 0 && (rc = map_file_read(w, path, e)) == 0)
		rc = make(m, w, e);
	if (w != NULL)
		map_file_release(w);
	free(w);
	if (rc != 0) {
		map_free(m);
		return rc;
	}
	*ret = m;
	return 0;
}

int
map_of_pair(struct mapping **ret, const char *begin, const char *end, struct err *e)
{
	struct mapping *m = new_mapping("");
	struct map_rule *r = NULL;
	int rc = 0;

	if (m == NULL || (m->rules = r = arena_calloc(&m->arena, 1, sizeof *r)) == NULL ||
	    (m->service = r->name = keep(m, "*", 1)) == NULL)
		rc = no_memory(e);
	if (rc == 0 && (rc = map_rule_keep_event(m, begin, strlen(begin), &r->begin, e)) == 0 &&
	    (rc = map_rule_keep_event(m, end, strlen(end), &r->end, e)) == 0) {
		r->limit_ns = INT64_MAX;
		m->nrules = 1;
		rc = gather_patterns(m, e);
	}
	if (rc != 0) {
		map_free(m);
		return rc;
	}
	*ret = m;
	return 0;
}

void
map_free(struct mapping *m)
{
	if (m == NULL)
		return;
	arena_release(&m->arena);
	free(m);
}

bool
map_needs(const struct mapping *m, const char *event)
{
	for (uint32_t i = 0; i < m->npatterns; i++)
		if (glob_matches(m->patterns[i], event))
			return true;
	return false;
}

bool
map_has_probes(const struct mapping *m)
{
	for (uint32_t i = 0; i < m->npatterns; i++)
		if (strncmp(m->patterns[i], BELOW_USDT, strlen(BELOW_USDT)) == 0)
			return true;
	return false;
}

const char *
map_pattern(const struct mapping *m, uint32_t i)
{
	return i < m->npatterns ? m->patterns[i] : NULL;
}

/* ---- a folder of them ---- */

static int
is_map_file(const struct dirent *d)
{
	size_t len = strlen(d->d_name);

	return d->d_name[0] != '.' && len > 4 && strcmp(d->d_name + len - 4, ".map") == 0;
}

static int
add_file(struct maps *to, const char *folder, const char *name, struct err *e)
{
	char *path = NULL;
	int rc;

	if (asprintf(&path, "%s/%s", folder, name) < 0)
		return no_memory(e);
	rc = map_load(&to->list[to->count], path, e);
	free(path);
	if (rc != 0)
		return rc;
	for (uint32_t i = 0; i < to->count; i++)
		if (strcmp(to->list[i]->service, to->list[to->count]->service) == 0) {
			rc = err_set(e, ERR_INPUT,
			    "%s: service = %s has %s already; want one file for each program",
			    to->list[to->count]->path, to->list[i]->service, to->list[i]->path);
			break;
		}
	to->count++;
	return rc;
}

int
maps_load(struct maps *ret, const char *folder, struct err *e)
{
	struct maps maps = { 0 };
	struct dirent **names;
	int rc = 0, n = scandir(folder, &names, is_map_file, alphasort);

	*ret = maps;
	if (n < 0)
		return errno == ENOENT ? 0 : err_errno(e, "%s", folder);
	if ((maps.list = calloc((size_t)n + 1, sizeof(void *))) == NULL)
		rc = no_memory(e);
	for (int i = 0; i < n; i++) {
		if (rc == 0)
			rc = add_file(&maps, folder, names[i]->d_name, e);
		free(names[i]);
	}
	free(names);
	if (rc != 0)
		maps_release(&maps);
	*ret = maps;
	return rc;
}

void
maps_release(struct maps *m)
{
	for (uint32_t i = 0; i < m->count; i++)
		map_free(m->list[i]);
	free(m->list);
	*m = (struct maps){ 0 };
}

const struct mapping *
maps_of(const struct maps *m, const char *service)
{
	for (uint32_t i = 0; i < m->count; i++)
		if (strcmp(m->list[i]->service, service) == 0)
			return m->list[i];
	for (uint32_t i = 0; i < m->count; i++)
		if (glob_matches(m->list[i]->service, service))
			return m->list[i];
	return NULL;
}
