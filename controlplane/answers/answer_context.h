/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The circumstances of a question: time, files, the user who asks. */
#ifndef CONTROLPLANE_ANSWERS_ANSWER_CONTEXT_H
#define CONTROLPLANE_ANSWERS_ANSWER_CONTEXT_H

#include "controlplane/answers/audit_log.h"
#include "controlplane/answers/refusals.h"
#include "controlplane/engine/engine.h"

/* A link to the live page, which ends when it is opened, or `seconds` after it was made. */
struct web_link_text {
	char url[160], path[64]; /* the path is the end of the URL */
	char socket[108];        /* of a page at a local socket: its path; "" */
	int seconds;
};

/* The live page: makes a link for this user, and opens the door if it is closed. link NULL: there is no page. ERR_SYSTEM, ERR_MEMORY. */
struct web_port {
	void *of;
	int (*link)(void *of, const struct who *who, struct mono now, struct web_link_text *ret,
	    struct err *e);
};

/* What is done for a question. Other parts than ALL are for those that are not ANSWER_SHORT (answer.h). */
enum answer_part {
	ANSWER_ALL,
	ANSWER_READ, /* in a copy of the process: nothing is changed, nothing goes to the audit, and no thread is created */
	ANSWER_CHANGE, /* what the question changes, and its audit; the answer has "ok" alone, or says why not */
};

/* Of a decider: what gates and shards do (docs/scale.md). */
struct log_facts {
	uint64_t term;
	uint32_t gates, agents, partitions, behind; /* behind: partitions that no shard works on */
	uint64_t gate_records, gate_bytes;          /* taken by the gates that are there */
	uint64_t records, used, held, late, duplicate, given_up, lost, refused; /* by shards */
	/* Rows that came, and what became of them; lost_rows have not come. */
	uint64_t rows, taken, waiting, again, strange, full, lost_rows;
	uint64_t lost_events, unknown_agents;
	/* What the decider wrote for those that stand by, and of that what Kafka has not taken; and whether it began with all that the one before
	 * had written. */
	uint64_t forest_entries, forest_states, forest_lost;
	bool forest_whole;
	int64_t apart_ns; /* by which the clocks of two gates differ, if that is too much; else 0 */
	uint64_t over;    /* messages of runs of gates and shards that were replaced */
	uint64_t digest;  /* of the rows that were taken, in their order */
};

/* What an answer needs beside the engine and the forest. Borrowed for the call. */
struct answer_context {
	struct mono now, started;
	struct wall when;
	const char *database, *space_path;
	const char *store_trouble; /* error text of the last commit, if it failed; "" or NULL */
	struct who who;            /* the user who asks */
	const struct roles *roles; /* for the text of a refusal; NULL: only root has access */
	struct audit_book *book;   /* of the audit; NULL: nothing is recorded */
	const struct refusals *refusals; /* of agents; NULL: not known */
	struct web_port web;
	enum answer_part part;
	const struct log_facts *log; /* NULL: this honed works alone */
};

#endif
