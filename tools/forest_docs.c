/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What docs/forest.md says of states, verdicts and the schema, as the code has
 * it: from the tables that the code includes, and from a database that the code
 * makes. Usage: forest_docs FILE: the file, with what stands between its two
 * markers made anew, on standard output.
 */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "forest/forest.h"

#define BEGIN "<!-- made by make docs; do not edit -->\n"
#define END "<!-- end of what make docs makes -->\n"

/* ---- states and verdicts ---- */

static const struct state {
	const char *name;
	enum hypothesis_state number;
	const char *help;
} states[] = {
#define STATE(name, number, word, settled, help) { #name, number, help },
#include "forest/states.tbl.h"
#undef STATE
};

static const struct transition {
	enum hypothesis_state from, to;
	const char *when;
} transitions[] = {
#define TRANSITION(from, to, when) { HYPOTHESIS_##from, HYPOTHESIS_##to, when },
#include "forest/transitions.tbl.h"
#undef TRANSITION
};

static const struct kind {
	enum verdict_kind number;
	const char *help;
} kinds[] = {
#define VERDICT(name, number, word, help) { number, help },
#include "forest/verdicts.tbl.h"
#undef VERDICT
};

static const enum reason reasons[] = {
#define REASON(name, number, word, text) REASON_##name,
#include "forest/reasons.tbl.h"
#undef REASON
};

static const struct preload {
	enum preload_kind number;
	const char *text;
} preloads[] = {
#define PRELOAD(name, number, word, text) { number, text },
#include "forest/preload.tbl.h"
#undef PRELOAD
};
static const struct pool {
	enum pool_state number;
	const char *text;
} pools[] = {
#define POOL(name, number, word, text) { POOL_##name, text },
#include "forest/pools.tbl.h"
#undef POOL
};

static const struct ground {
	enum verdict_ground number;
	const char *text;
} grounds[] = {
#define GROUND(name, number, word, text) { GROUND_##name, text },
#include "forest/grounds.tbl.h"
#undef GROUND
};

#define COUNT(a) (sizeof a / sizeof((a)[0]))

static const char *
name_of(enum hypothesis_state s)
{
	for (size_t i = 0; i < COUNT(states); i++)
		if (states[i].number == s)
			return states[i].name;
	return "?";
}

static void
print_picture(void)
{
	printf("### What a hypothesis can become\n\n```mermaid\nstateDiagram-v2\n");
	for (size_t i = 0; i < COUNT(states); i++)
		printf("    %s : %s\n", states[i].name, hypothesis_word(states[i].number));
	printf("    [*] --> %s\n", name_of(HYPOTHESIS_OPEN));
	for (size_t i = 0; i < COUNT(transitions); i++)
		printf("    %s --> %s\n", name_of(transitions[i].from), name_of(transitions[i].to));
	for (size_t i = 0; i < COUNT(states); i++)
		if (hypothesis_settled(states[i].number))
			printf("    %s --> [*]\n", states[i].name);
	printf("```\n\n| From | To | When |\n|---|---|---|\n");
	for (size_t i = 0; i < COUNT(transitions); i++)
		printf("| %s | %s | %s |\n", hypothesis_word(transitions[i].from),
		    hypothesis_word(transitions[i].to), transitions[i].when);
}

static void
print_words(void)
{
	printf(
	    "\n### Its states\n\n| Number | Word | Settled | What it says |\n|---|---|---|---|\n");
	for (size_t i = 0; i < COUNT(states); i++)
		printf("| %d | %s | %s | %s |\n", states[i].number,
		    hypothesis_word(states[i].number),
		    hypothesis_settled(states[i].number) ? "yes" : "no", states[i].help);
	printf("\n### Verdicts\n\n| Number | Word | What it says |\n|---|---|---|\n");
	for (size_t i = 0; i < COUNT(kinds); i++)
		printf("| %d | %s | %s |\n", kinds[i].number, verdict_word(kinds[i].number),
		    kinds[i].help);
	printf(
	    "\n### Reasons\n\nOf runs, hypotheses, switches and audit. `{}` stands for the subject.\n\n"
	    "| Number | Word | Text |\n|---|---|---|\n");
	for (size_t i = 1; i < COUNT(reasons); i++)
		printf("| %d | %s | %s |\n", reasons[i], reason_word(reasons[i]),
		    reason_text(reasons[i]));
	printf(
	    "\n### What takes the time inside the preload layer\n\n| Number | Word | Text |\n|---|---|---|\n");
	for (size_t i = 1; i < COUNT(preloads); i++)
		printf("| %d | %s | %s |\n", preloads[i].number, preload_word(preloads[i].number),
		    preloads[i].text);
	printf(
	    "\n### What the waits for threads come from (`pool`)\n\n| Number | Word | Text |\n|---|---|---|\n");
	for (size_t i = 1; i < COUNT(pools); i++)
		printf("| %d | %s | %s |\n", pools[i].number, pool_word(pools[i].number),
		    pools[i].text);
	printf("\n### What a verdict about programs without instrumentation rests on (`ground`)\n\n"
	       "| Number | Word | Text |\n|---|---|---|\n");
	for (size_t i = 1; i < COUNT(grounds); i++)
		printf("| %d | %s | %s |\n", grounds[i].number, ground_word(grounds[i].number),
		    grounds[i].text);
	printf("\n### States of a run\n\n| Number | Word |\n|---|---|\n");
	for (int i = 0; i < RUN_STATES; i++)
		printf("| %d | %s |\n", i, run_word((enum run_state)i));
}

/* ---- the schema ---- */

static sqlite3_stmt *
ask(sqlite3 *db, const char *sql, const char *table)
{
	sqlite3_stmt *q;

	if (sqlite3_prepare_v2(db, sql, -1, &q, NULL) != SQLITE_OK) {
		fprintf(stderr, "forest_docs: %s\n", sqlite3_errmsg(db));
		exit(1);
	}
	if (table != NULL)
		sqlite3_bind_text(q, 1, table, -1, SQLITE_TRANSIENT);
	return q;
}

static void
print_table(sqlite3 *db, const char *table)
{
	sqlite3_stmt *q = ask(db,
	    "SELECT c.name, lower(c.type), c.pk, c.\"notnull\", f.\"table\" FROM pragma_table_info(?1) c"
	    " LEFT JOIN pragma_foreign_key_list(?1) f ON f.\"from\" = c.name ORDER BY c.cid",
	    table);

	printf("\n#### %s\n\n| Column | Type | |\n|---|---|---|\n", table);
	while (sqlite3_step(q) == SQLITE_ROW) {
		const char *of = (const char *)sqlite3_column_text(q, 4);
		int key = sqlite3_column_int(q, 2), whole = sqlite3_column_int(q, 3);

		printf("| `%s` | %s |", sqlite3_column_text(q, 0), sqlite3_column_text(q, 1));
		printf("%s%s%s%s |\n",
		    key      ? " primary key"
		    : !whole ? " may be null"
			     : "",
		    of != NULL ? " refers to `" : "", of != NULL ? of : "", of != NULL ? "`" : "");
	}
	sqlite3_finalize(q);
	q = ask(db,
	    "SELECT i.name, (SELECT group_concat(name, ', ') FROM pragma_index_info(i.name)) FROM"
	    " pragma_index_list(?1) i WHERE i.origin = 'c' ORDER BY i.name",
	    table);
	for (int n = 0; sqlite3_step(q) == SQLITE_ROW; n++)
		printf("%s`%s` (%s)", n == 0 ? "\nIndexes: " : ", ", sqlite3_column_text(q, 0),
		    sqlite3_column_text(q, 1));
	printf("\n");
	sqlite3_finalize(q);
}

static void
print_database(const char *path)
{
	sqlite3 *db;
	sqlite3_stmt *q;

	if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK)
		exit(1);
	q = ask(db,
	    "SELECT user_version, printf('0x%x', application_id) FROM pragma_user_version, pragma_application_id",
	    NULL);
	if (sqlite3_step(q) == SQLITE_ROW)
		printf("\n### The schema\n\nVersion %s (`user_version`), `application_id` %s.\n",
		    sqlite3_column_text(q, 0), sqlite3_column_text(q, 1));
	sqlite3_finalize(q);
	q = ask(db,
	    "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY rowid",
	    NULL);
	while (sqlite3_step(q) == SQLITE_ROW)
		print_table(db, (const char *)sqlite3_column_text(q, 0));
	sqlite3_finalize(q);
	sqlite3_close(db);
}

static int
print_schema(void)
{
	char folder[] = "/tmp/hone-docs-XXXXXX", path[64], lock[80];
	struct store *s = NULL;
	struct err e;

	if (mkdtemp(folder) == NULL) {
		perror("forest_docs: /tmp");
		return 1;
	}
	snprintf(path, sizeof path, "%s/forest.db", folder);
	snprintf(lock, sizeof lock, "%s.lock", path);
	if (store_open(&s, path, &e) < 0)
		fprintf(stderr, "forest_docs: %s\n", e.text);
	else
		print_database(path);
	store_close(s);
	unlink(path);
	unlink(lock);
	rmdir(folder);
	return s == NULL;
}

int
main(int argc, char **argv)
{
	char line[4096];
	int rc = 0, skipping = 0, made = 0;
	FILE *in;

	if (argc != 2 || (in = fopen(argv[1], "r")) == NULL) {
		fprintf(stderr, "usage: forest_docs FILE\n");
		return 2;
	}
	while (fgets(line, sizeof line, in) != NULL) {
		if (strcmp(line, END) == 0)
			skipping = 0;
		if (!skipping)
			fputs(line, stdout);
		if (strcmp(line, BEGIN) != 0)
			continue;
		skipping = made = 1;
		printf("\n");
		print_picture();
		print_words();
		rc |= print_schema();
		printf("\n");
	}
	fclose(in);
	if (made && !skipping)
		return rc;
	fprintf(stderr, "forest_docs: %s: its markers are not there\n", argv[1]);
	return 1;
}
