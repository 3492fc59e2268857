/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "below/main/probe_table.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/glob.h"

struct counted_probe {
	char name[BELOW_PROBE_NAME_MAX + 1], failed[BELOW_REASON_MAX + 1];
	uint64_t hits;
	bool asked;
};

struct probe_table {
	struct counted_probe *list;
	uint32_t n, cap;
	uint64_t lost;
};

struct probe_table *
probe_table_new(void)
{
	return calloc(1, sizeof(struct probe_table));
}

void
probe_table_free(struct probe_table *t)
{
	if (t != NULL)
		free(t->list);
	free(t);
}

static void
take_names(struct probe_table *t, const char *names)
{
	for (const char *end; (end = strchr(names, '\n')) != NULL; names = end + 1) {
		size_t len = (size_t)(end - names);

		if (len > BELOW_PROBE_NAME_MAX || !array_reserve(t->list, t->cap, t->n + 1))
			continue;
		t->list[t->n] = (struct counted_probe){ 0 };
		memcpy(t->list[t->n++].name, names, len);
	}
}

static void
take_hits(struct probe_table *t, const struct below_hits *h)
{
	for (uint32_t i = 0; i < h->count; i++)
		if (h->list[i].id < t->n)
			t->list[h->list[i].id].hits++;
}

void
probe_table_take(void *of, const struct below_message *m)
{
	struct probe_table *t = of;

	if (m->kind == BELOW_LISTED)
		take_names(t, m->listed.names);
	else if (m->kind == BELOW_HITS)
		take_hits(t, &m->hits);
	else if (m->kind == BELOW_PROBED && m->probed.id < t->n)
		snprintf(
		    t->list[m->probed.id].failed, sizeof t->list->failed, "%s", m->probed.reason);
	else if (m->kind == BELOW_LOST)
		t->lost += m->lost.count;
}

/* Both ends of a function: "func.lookup" is that. */
static const char *
add_function(struct probe_table *t, const char *function, pid_t pid)
{
	char names[2 * (BELOW_PROBE_NAME_MAX + 32)];

	snprintf(names, sizeof names,
	    BELOW_FUNC "%d:%.200s" BELOW_FUNC_START "\n" BELOW_FUNC "%d:%.200s" BELOW_FUNC_DONE
		       "\n",
	    (int)pid, function, (int)pid, function);
	take_names(t, names);
	return BELOW_FUNC "*";
}

uint32_t
probe_table_ask(struct probe_table *t, struct below_watch *w, pid_t pid, const char *pattern)
{
	uint32_t asked = 0;

	if (strncmp(pattern, BELOW_FUNC, strlen(BELOW_FUNC)) == 0)
		pattern = add_function(t, pattern + strlen(BELOW_FUNC), pid);
	for (uint32_t i = 0; i < t->n; i++) {
		const struct below_probe p = {
			.id = i, .pid = (uint32_t)pid, .name = t->list[i].name, .on = true
		};

		if (glob_matches(pattern, t->list[i].name) && watch_probe(w, &p, NULL) == 0) {
			t->list[i].asked = true;
			asked++;
		}
	}
	return asked;
}

static int
by_hits(const void *a, const void *b)
{
	const struct counted_probe *x = a, *y = b;

	if (x->hits != y->hits)
		return x->hits < y->hits ? 1 : -1;
	return strcmp(x->name, y->name);
}

void
probe_table_print(struct probe_table *t, FILE *out)
{
	qsort(t->list, t->n, sizeof *t->list, by_hits);
	fprintf(out, "%10s  %s\n", "HITS", "PROBE");
	for (uint32_t i = 0; i < t->n; i++)
		if (t->list[i].asked)
			fprintf(out, "%10llu  %s%s%s\n", (unsigned long long)t->list[i].hits,
			    t->list[i].name, t->list[i].failed[0] != '\0' ? ": " : "",
			    t->list[i].failed);
	if (t->lost > 0)
		fprintf(out, "%llu records were lost\n", (unsigned long long)t->lost);
}

int
probe_table_json(struct probe_table *t, FILE *out, double seconds)
{
	json_t *probes = json_array(), *all;
	int rc;

	qsort(t->list, t->n, sizeof *t->list, by_hits);
	for (uint32_t i = 0; i < t->n; i++)
		if (t->list[i].asked)
			json_array_append_new(
			    probes, json_pack("{s:s, s:I, s:s?}", "name", t->list[i].name, "hits",
					(json_int_t)t->list[i].hits, "failed",
					t->list[i].failed[0] != '\0' ? t->list[i].failed : NULL));
	all = json_pack(
	    "{s:f, s:o, s:I}", "seconds", seconds, "probes", probes, "lost", (json_int_t)t->lost);
	rc = all != NULL ? json_dumpf(all, out, JSON_INDENT(2)) : -1;
	fputc('\n', out);
	json_decref(all);
	return rc;
}
