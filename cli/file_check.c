/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/file_check.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/glob.h"
#include "formats/reading.h"
#include "mapping/map.h"
#include "report/check.h"

struct file_check {
	struct place_table facts;
	struct labels *labels;
	struct mapping *map; /* or NULL */
	bool all_mapped;     /* a pair of events correlates all programs */
};

bool
is_trace_file(const char *argument)
{
	return strcmp(argument, "-") == 0 || access(argument, F_OK) == 0;
}

static bool
look(void *ctx, const struct trace *t)
{
	struct file_check *k = ctx;

	return place_table_add(&k->facts, t, k->labels);
}

static bool
look_mapped(void *ctx, uint32_t label, enum mapped_event what, uint32_t times)
{
	struct file_check *k = ctx;

	return place_table_mapped(&k->facts, label, what, times);
}

static bool
is_mapped(const void *ctx, const struct label *l)
{
	const struct file_check *k = ctx;
	char service[LABEL_TEXT_MAX + 1];

	if (k->map == NULL)
		return k->all_mapped;
	snprintf(service, sizeof service, "%.*s", (int)l->service_len, l->text);
	return glob_matches(k->map->service, service);
}

/* A file that cannot be read is told, and the others are read all the same. */
static int
read_all(struct invocation *c, struct reading *r, char *const *files, int nfiles, struct err *e)
{
	int rc = 0;

	for (int i = 0; i < nfiles && rc == 0; i++) {
		reading_ahead(r, i + 1 < nfiles ? files[i + 1] : NULL);
		rc = reading_file(r, files[i], e);
		if (rc == ERR_INPUT || rc == ERR_SYSTEM || rc == ERR_MISSING) {
			fprintf(c->err->out, "hone: %s\n", pen_clean(c->err, e->text));
			rc = 0;
		}
	}
	return rc != 0 ? rc : reading_end(r, e);
}

static json_t *
answer_of(const struct invocation *c, const struct file_check *k, const struct reading *r)
{
	struct reading_counts n;

	reading_counts(r, &n);
	return check_json(&k->facts, k->labels,
	    &(struct check_options){ .type = c->value[FLAG_TYPE],
		.seconds = NAN,
		.spans = n.spans,
		.is_mapped = is_mapped,
		.ctx = k });
}

int
file_check(struct invocation *c, char *const *files, int nfiles, json_t **answer, struct err *e)
{
	size_t memory_bytes = (size_t)c->number[FLAG_MEMORY] << 20;
	struct file_check k = { .labels = labels_new(),
		.all_mapped = c->value[FLAG_CORRELATE] != NULL };
	struct reading_options o = { .memory_max_bytes = memory_bytes / 4 * 3,
		.names_max_bytes = memory_bytes / 16,
		.format = c->value[FLAG_FORMAT],
		.correlate = c->value[FLAG_CORRELATE],
		.look = look,
		.look_mapped = look_mapped,
		.ctx = &k };
	struct reading *r = NULL;
	int rc = k.labels != NULL ? 0 : err_set(e, ERR_MEMORY, "out of memory");

	if (rc == 0 && c->value[FLAG_MAP] != NULL)
		rc = map_load(&k.map, c->value[FLAG_MAP], e);
	o.map = k.map;
	if (rc == 0 && (rc = reading_new(&r, &o, k.labels, e)) == 0)
		rc = read_all(c, r, files, nfiles, e);
	if (rc == 0 && k.facts.traces == 0 && k.facts.n == 0)
		rc = err_set(e, ERR_INPUT, "there is no trace to check");
	if (rc == 0 && (*answer = answer_of(c, &k, r)) == NULL)
		rc = err_set(e, ERR_MEMORY, "out of memory");
	reading_free(r);
	map_free(k.map);
	place_table_release(&k.facts);
	labels_free(k.labels);
	return rc;
}
