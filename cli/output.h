/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Printers for the answers of honed (docs/questions.md): one for text, one for JSON. */
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
	void (*learned)(struct pen *p, const json_t *status); /* the status after learning */
	/* The answer to "verdict"; after: the status after the end of the run. */
	void (*verdict)(struct pen *p, const json_t *answer, const json_t *after);
	void (*analysis)(struct pen *p, const json_t *document); /* docs/report.md */
	void (*baselines)(struct pen *p, const json_t *list);    /* from baseline_list() */
	void (*why)(struct pen *p, const json_t *answer);
	void (*history)(struct pen *p, const json_t *answer);
	void (*diff)(struct pen *p, const json_t *answer);
	void (*space)(struct pen *p, const json_t *document); /* from space_document() */
	void (*space_stats)(struct pen *p, const json_t *document);
	void (*versions)(struct pen *p, const json_t *document);
	void (*audit)(struct pen *p, const json_t *answer);
	void (*done)(
	    struct pen *p, const json_t *words); /* {"words": ...}: text that reports success */
};

extern const struct output output_text, output_json;

/*
 * output_member.c: members of a JSON object, for the printers. A member that is missing or of another type yields
 * "", 0 or false. text_of() returns a string of the pen, see pen_clean(); it lives until the pen's
 * arena is reset.
 */
const char *text_of(struct pen *p, const json_t *o, const char *key);
double number_of(const json_t *o, const char *key);
bool is_true(const json_t *o, const char *key);
bool is_null(const json_t *o, const char *key); /* also true if the member is missing */

/* "provider:event(name)" of a label, without its service. */
const char *event_of(const char *label);

/* output_line.c */
/* Of a status: who has confirmed that nothing added is enabled; and of a member of its "unknown", what is not known of that node. */
const char *off_by_whom(const json_t *status);
const char *unknown_words(struct pen *p, const json_t *node);
void line_print(struct pen *p, const char *name, const char *words);    /* "  name       words" */
void document_line(struct pen *p, const char *name, const char *words); /* "     name      words" */

/* output_tree.c: a run's hypotheses as a tree. */
void tree_print(struct pen *p, const json_t *run);
/* The title of a hypothesis: its tracepoint, or a substitute; not cleaned, see pen_clean(). */
const char *title_of(const json_t *h);
/* Limits for printing a tree from an untrusted source: each hypothesis once, to a maximum depth. */
struct tree_left {
	size_t shown;
	int depth;
};
struct tree_left tree_left(const json_t *hypotheses);
/* The child of hypothesis `parent` (0: a root) that follows `after` (NULL: the first), or NULL. A
 * hypothesis whose number is not greater than its parent's is not treated as a child.
 * O(hypotheses). */
const json_t *tree_child(const json_t *hypotheses, double parent, const json_t *after);
enum { PROBLEMS_SHOWN = 10 }; /* in text; --json lists all */

/* output_cost.c: the cost in a status; the cost of each agent. */
void cost_print(struct pen *p, const json_t *status);
void costs_print(struct pen *p, const json_t *agents);
/* output_change.c */
void change_print(struct pen *p, const json_t *change);
/* output_analysis.c */
void analysis_print(struct pen *p, const json_t *document);
void baselines_print(struct pen *p, const json_t *list);
/* output_states.c: of a baseline of states, and of a comparison with one (kernel/patterns/states_json.h) */
void states_print(struct pen *p, const json_t *document);
void states_comparison_print(struct pen *p, const json_t *document);
/* output_verdict.c */
void verdict_print(struct pen *p, const json_t *answer, const json_t *after);
/* output_why.c, output_diff.c, output_space.c */
void why_print(struct pen *p, const json_t *answer);
void history_print(struct pen *p, const json_t *answer);
void audit_print(struct pen *p, const json_t *answer);                     /* output_audit.c */
void annotation_print(struct pen *p, const json_t *document, double rows); /* output_annotate.c */
void captures_print(struct pen *p,
    const json_t *answer); /* output_capture.c: all of them; and one with its requests */
void capture_print(struct pen *p, const json_t *answer);
const char *capture_state_text(struct pen *p, const json_t *capture);
void check_print(struct pen *p, const json_t *answer);     /* output_check.c */
void threads_print(struct pen *p, const json_t *document); /* output_thread.c */
void diff_print(struct pen *p, const json_t *answer);
void space_print(struct pen *p, const json_t *document);
void space_stats_print(struct pen *p, const json_t *document);
void versions_print(struct pen *p, const json_t *document);
const char *interval_of(struct pen *p, double low, double high); /* "(79…88)", of shares */

/* output_dot.c: graphs for Graphviz. Both append to *out, with strings escaped. */
struct buf;
void dot_forest(struct buf *out, const json_t *answer); /* the answer to "forest" */
void dot_space(struct buf *out, const json_t *document);
void dot_requests(struct buf *out, const json_t *requests); /* of trace_dag(); NULL: none */
/* forest_page.c: appends the forest as a self-contained HTML page. ERR_MEMORY. */
struct err;
int forest_page_write(struct buf *out, const json_t *answer, struct err *e);
/* thread_page.c: the same for a document of thread_document(). ERR_MEMORY. */
int thread_page_write(struct buf *out, const json_t *document, struct err *e);
/* The same for a document of hone annotate. */
int annotation_page_write(struct buf *out, const json_t *document, struct err *e);
int states_page_write(struct buf *out, const json_t *document,
    struct err *e); /* of a comparison with a baseline of states */

#endif
