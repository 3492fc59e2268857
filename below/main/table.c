/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "below/main/table.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

enum {
	ROWS_MAX = 1024,
	NAMES_MAX = 65536,
	SLOTS = 2 * NAMES_MAX,
	NAME_MAX_BYTES = 300,
	SHOWN_MAX = 40
};

struct table_row {
	uint8_t state, owner_state;
	uint32_t place, owner_place;
	uint64_t count;
	int64_t ns;
};

struct table {
	struct table_row rows[ROWS_MAX];
	int nrows;
	/* [NAMES_MAX + 1], by the id of a place: */
	char **names;    /* "append() at dd.c:27" */
	char **called;   /* what it called of a library */
	uint32_t *first; /* the first place with the same texts: stacks may differ further out */
	uint32_t slots[SLOTS]; /* of such places, by a hash of the texts; 0: free */
	uint64_t lost;
};

struct table *
table_new(void)
{
	struct table *t = calloc(1, sizeof *t);

	if (t != NULL && ((t->names = calloc(NAMES_MAX + 1, sizeof *t->names)) == NULL ||
			     (t->called = calloc(NAMES_MAX + 1, sizeof *t->called)) == NULL ||
			     (t->first = calloc(NAMES_MAX + 1, sizeof *t->first)) == NULL)) {
		table_free(t);
		return NULL;
	}
	return t;
}

void
table_free(struct table *t)
{
	if (t == NULL)
		return;
	for (int i = 0; i <= NAMES_MAX; i++) {
		if (t->names != NULL)
			free(t->names[i]);
		if (t->called != NULL)
			free(t->called[i]);
	}
	free(t->names);
	free(t->called);
	free(t->first);
	free(t);
}

static uint32_t
shown(const struct table *t, uint32_t place)
{
	return place <= NAMES_MAX && t->first[place] != 0 ? t->first[place] : place;
}

static void
add(struct table *t, struct table_row *key, int64_t ns)
{
	int i;

	key->place = shown(t, key->place);
	key->owner_place = shown(t, key->owner_place);
	for (i = 0; i < t->nrows; i++) {
		const struct table_row *r = &t->rows[i];

		if (r->state == key->state && r->place == key->place &&
		    r->owner_state == key->owner_state && r->owner_place == key->owner_place)
			break;
	}
	if (i == ROWS_MAX) {
		t->lost++;
		return;
	}
	if (i == t->nrows)
		t->rows[t->nrows++] = *key;
	t->rows[i].count++;
	t->rows[i].ns += ns;
}

static uint32_t
first_of(struct table *t, uint32_t id)
{
	uint64_t h = hash_bytes(hash_bytes(1, t->called[id], strlen(t->called[id])), t->names[id],
	    strlen(t->names[id]));
	uint32_t at = (uint32_t)(h % SLOTS), other;

	for (; (other = t->slots[at]) != 0; at = (at + 1) % SLOTS)
		if (strcmp(t->names[other], t->names[id]) == 0 &&
		    strcmp(t->called[other], t->called[id]) == 0)
			return other;
	t->slots[at] = id;
	return id;
}

static void
take_name(struct table *t, const struct below_name *n)
{
	char text[NAME_MAX_BYTES];

	if (n->id > NAMES_MAX || t->names[n->id] != NULL)
		return;
	if (n->file[0] != '\0')
		snprintf(text, sizeof text, "%s() at %s:%u", n->function, n->file, n->line);
	else
		snprintf(text, sizeof text, "%s", n->function);
	t->names[n->id] = strdup(text);
	t->called[n->id] = strdup(n->called);
	if (t->names[n->id] != NULL && t->called[n->id] != NULL)
		t->first[n->id] = first_of(t, n->id);
}

static void
take_wait(struct table *t, const struct below_wait *w)
{
	struct table_row key = { .state = w->state,
		.place = w->place,
		.owner_state = w->owner_state,
		.owner_place = w->owner_place };

	if (w->woken_ns > w->begin_ns)
		add(t, &key, w->woken_ns - w->begin_ns);
	if (w->end_ns > w->woken_ns) {
		key = (struct table_row){ .state = BELOW_READY, .owner_state = BELOW_UNKNOWN };
		add(t, &key, w->end_ns - w->woken_ns);
	}
}

void
table_take(void *of, const struct below_message *m)
{
	struct table *t = of;

	switch (m->kind) {
	case BELOW_NAME:
		take_name(t, &m->name);
		break;
	case BELOW_WAIT:
		take_wait(t, &m->wait);
		break;
	case BELOW_SAMPLE:
		add(t,
		    &(struct table_row){ .state = BELOW_RUNNING,
			.place = m->sample.place,
			.owner_state = BELOW_UNKNOWN },
		    m->sample.weight_ns);
		break;
	case BELOW_LOST:
		t->lost += m->lost.count;
		break;
	default:
		break;
	}
}

static int
by_time(const void *a, const void *b)
{
	const struct table_row *x = *(const struct table_row *const *)a,
			       *y = *(const struct table_row *const *)b;

	return (x->ns < y->ns) - (x->ns > y->ns);
}

/* To all rows, in order; the number of them. */
static int
sort_rows(const struct table *t, const struct table_row *sorted[ROWS_MAX])
{
	for (int i = 0; i < t->nrows; i++)
		sorted[i] = &t->rows[i];
	qsort(sorted, (size_t)t->nrows, sizeof *sorted, by_time);
	return t->nrows;
}

static const char *
text_of(char *const *texts, uint32_t place)
{
	return place <= NAMES_MAX && texts[place] != NULL ? texts[place] : "";
}

static bool
has_holder(const struct table_row *r)
{
	return r->owner_state != BELOW_UNKNOWN || r->owner_place != 0;
}

void
table_print(const struct table *t, FILE *out, double seconds)
{
	const struct table_row *sorted[ROWS_MAX];
	int n = sort_rows(t, sorted);

	fprintf(out, "%10s %8s  %-8s %s\n", "MS", "TIMES", "STATE", "WHERE");
	for (int i = 0; i < n && i < SHOWN_MAX; i++) {
		const struct table_row *r = sorted[i];
		const char *called = text_of(t->called, r->place),
			   *place = text_of(t->names, r->place);

		fprintf(out, "%10.1f %8llu  %-8s %s%s%s", (double)r->ns / 1e6,
		    (unsigned long long)r->count, below_state_word(r->state), place,
		    called[0] != '\0' ? ", in " : "", called);
		if (has_holder(r))
			fprintf(out, "; the holder: %s%s%s", below_state_text(r->owner_state),
			    r->owner_place != 0 ? " in " : "", text_of(t->names, r->owner_place));
		fputc('\n', out);
	}
	if (n > SHOWN_MAX)
		fprintf(out, "%d rows more; --json lists all\n", n - SHOWN_MAX);
	if (n == 0)
		fprintf(out,
		    "nothing was seen in %.1f s: no thread was in a probed request (--all follows all threads)\n",
		    seconds);
	if (t->lost > 0)
		fprintf(out, "%llu records were lost\n", (unsigned long long)t->lost);
}

int
table_json(const struct table *t, FILE *out, double seconds)
{
	const struct table_row *sorted[ROWS_MAX];
	json_t *rows = json_array(), *all;
	int n = sort_rows(t, sorted), rc;

	for (int i = 0; i < n; i++) {
		const struct table_row *r = sorted[i];
		json_t *holder = !has_holder(r) ? json_null()
		                                : json_pack("{s:s, s:s}", "state",
						      below_state_word(r->owner_state), "place",
						      text_of(t->names, r->owner_place));

		json_array_append_new(
		    rows, json_pack("{s:s, s:s, s:s, s:I, s:f, s:o}", "state",
			      below_state_word(r->state), "place", text_of(t->names, r->place),
			      "called", text_of(t->called, r->place), "count", (json_int_t)r->count,
			      "ms", (double)r->ns / 1e6, "holder", holder));
	}
	all = json_pack(
	    "{s:f, s:o, s:I}", "seconds", seconds, "rows", rows, "lost", (json_int_t)t->lost);
	rc = all != NULL ? json_dumpf(all, out, JSON_INDENT(2)) : -1;
	fputc('\n', out);
	json_decref(all);
	return rc;
}
