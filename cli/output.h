/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Printers: the same answers (docs/questions.md), for people and for programs. */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include <jansson.h>

#include "cli/pen.h"

struct output {
	void (*status)(struct pen *p, const json_t *answer);
	void (*agents)(struct pen *p, const json_t *answer);
	void (*tracepoints)(struct pen *p, const json_t *answer);
	void (*forest)(struct pen *p, const json_t *answer);
	void (*started)(struct pen *p, const json_t *answer);
	void (*stopped)(struct pen *p, const json_t *answer);
	void (*learning)(struct pen *p, const json_t *answer);
	void (*learned)(struct pen *p, const json_t *status);	/* the status after it */
	/* The answer to "verdict"; after: the status after the run's end. */
	void (*verdict)(struct pen *p, const json_t *answer, const json_t *after);
	void (*analysis)(struct pen *p, const json_t *document);	/* docs/report.md */
	void (*baselines)(struct pen *p, const json_t *list);	/* of baseline_list() */
};

extern const struct output output_text, output_json;

/* ---- for the printers: members of an object; what is missing or of another type is "", 0, false ---- */
const char *text_of(struct pen *p, const json_t *o, const char *key);	/* clean, see pen_clean() */
double number_of(const json_t *o, const char *key);
bool is_true(const json_t *o, const char *key);
bool is_null(const json_t *o, const char *key);	/* missing, too */

/* output_tree.c: a run's hypotheses as a tree. */
void tree_print(struct pen *p, const json_t *run);
enum { PROBLEMS_SHOWN = 10 };	/* to people; --json has all */

/* output_change.c */
void change_print(struct pen *p, const json_t *change);
/* output_analysis.c */
void document_line(struct pen *p, const char *name, const char *words);	/* "     name      words" */
void analysis_print(struct pen *p, const json_t *document);
void baselines_print(struct pen *p, const json_t *list);
/* output_verdict.c */
void verdict_print(struct pen *p, const json_t *answer, const json_t *after);

#endif
