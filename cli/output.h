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
	void (*learned)(struct pen *p, const json_t *status); /* the status after it */
	/* The answer to "verdict"; after: the status after the run's end. */
	void (*verdict)(struct pen *p, const json_t *answer, const json_t *after);
	void (*analysis)(struct pen *p, const json_t *document); /* docs/report.md */
	void (*baselines)(struct pen *p, const json_t *list);    /* of baseline_list() */
	void (*why)(struct pen *p, const json_t *answer);
	void (*history)(struct pen *p, const json_t *answer);
	void (*diff)(struct pen *p, const json_t *answer);
	void (*space)(struct pen *p, const json_t *document); /* of space_document() */
	void (*space_stats)(struct pen *p, const json_t *document);
	void (*versions)(struct pen *p, const json_t *document);
	void (*audit)(struct pen *p, const json_t *answer);
	void (*done)(struct pen *p, const json_t *words); /* {"words": ...}: what was done */
};

extern const struct output output_text, output_json;

/* ---- for the printers: members of an object; what is missing or of another type is "", 0, false
 * ---- */
const char *text_of(struct pen *p, const json_t *o, const char *key); /* clean, see pen_clean() */
double number_of(const json_t *o, const char *key);
bool is_true(const json_t *o, const char *key);
bool is_null(const json_t *o, const char *key); /* missing, too */

/* output_tree.c: a run's hypotheses as a tree. */
void tree_print(struct pen *p, const json_t *run);
const char *title_of(
    const json_t *h); /* of a hypothesis: its tracepoint, or what there is instead; not clean */
/* What may still be shown of a tree that came from somebody else: each hypothesis once, down to
 * some depth. */
struct tree_left {
	size_t shown;
	int depth;
};
struct tree_left tree_left(const json_t *hypotheses);
/* The child of that parent (0: a root) that follows `after` (NULL: the first), or NULL. Children
 * have higher numbers than their parents, else they are none. O(hypotheses). */
const json_t *tree_child(const json_t *hypotheses, double parent, const json_t *after);
enum { PROBLEMS_SHOWN = 10 }; /* to people; --json has all */

/* output_cost.c: of a status; of all agents */
void cost_print(struct pen *p, const json_t *status);
void costs_print(struct pen *p, const json_t *agents);
/* output_change.c */
void change_print(struct pen *p, const json_t *change);
/* output_analysis.c */
void document_line(struct pen *p, const char *name, const char *words); /* "     name      words" */
void analysis_print(struct pen *p, const json_t *document);
void baselines_print(struct pen *p, const json_t *list);
/* output_verdict.c */
void verdict_print(struct pen *p, const json_t *answer, const json_t *after);
void line_print(struct pen *p, const char *name, const char *words); /* "  name       words" */
/* output_why.c, output_diff.c, output_space.c */
void why_print(struct pen *p, const json_t *answer);
void history_print(struct pen *p, const json_t *answer);
void audit_print(struct pen *p, const json_t *answer); /* output_audit.c */
void diff_print(struct pen *p, const json_t *answer);
void space_print(struct pen *p, const json_t *document);
void space_stats_print(struct pen *p, const json_t *document);
void versions_print(struct pen *p, const json_t *document);
const char *interval_of(struct pen *p, double low, double high); /* "(79…88)", of shares */
/* "provider:event(name)" of a label, without its service. */
const char *event_of(const char *label);

/* output_dot.c: for graphviz. Append; texts are shown as they are, but what would end a string. */
struct buf;
void dot_forest(struct buf *out, const json_t *answer); /* to "forest" */
void dot_space(struct buf *out, const json_t *document);
/* forest_page.c: the forest as a page of HTML that loads nothing. Appends. ERR_MEMORY. */
struct err;
int forest_page_write(struct buf *out, const json_t *answer, struct err *e);

#endif
