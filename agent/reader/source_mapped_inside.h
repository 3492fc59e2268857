/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inside of source_mapped*.c. */
#ifndef AGENT_READER_SOURCE_MAPPED_INSIDE_H
#define AGENT_READER_SOURCE_MAPPED_INSIDE_H

#include "agent/reader/source_labels.h"
#include "agent/reader/source_mapped.h"
#include "base/arena.h"
#include "base/map.h"
#include "mapping/mapper.h"

enum {
	LOSSES_MAX = 64, /* awaited at a time */
	SERVICE_BYTES = 64,
	BEGIN_FIELDS = 2, /* of a request's begin: trace_id_high, probed */
};

struct program { /* of one service */
	char service[SERVICE_BYTES];
	struct mapper *mapper; /* NULL: it has no mapping */
	uint32_t begin, end;   /* of own labels: what those of its requests begin with */
};

struct known {          /* a label of inner's */
	uint32_t label; /* ours */
	uint32_t program;
	const char *name; /* "provider:event" */
	uint32_t ids;     /* a bit for each field that is one */
	bool needed;      /* the mapping names it: it is not one that was added */
};

struct mapped_source {
	struct source inner;
	const struct maps *maps;
	struct mapped_options o;
	enum mapped_choice chosen; /* when a mapper last asked whether a request is sampled */

	struct program *programs;
	uint32_t nprograms;
	struct known *known; /* by inner's number */
	uint32_t nknown, known_cap;
	struct batch_label *labels; /* all that we give: inner's and own ones, as they came */
	uint32_t nlabels, labels_cap;
	struct source_labels own;
	uint32_t *own_at, nown, own_cap; /* ours, by own number */

	struct map processes; /* by program and pid */
	uint64_t changes;     /* of inner's processes, as they were looked at */
	bool fresh;           /* and one wrote that was not known then */

	struct map probed;            /* requests that are, by trace id: when they began */
	int64_t expired_ns, limit_ns; /* limit: the longest of any rule */
	int64_t lost_ns[LOSSES_MAX];  /* ends of losses that were not reached yet, in order */
	uint32_t nlost;
	int64_t polled_ns;

	struct record *records;
	uint32_t nrecords, records_cap;
	struct arena arena; /* values that are not as they came, of one poll */
	struct loss *losses;
	uint32_t nlosses, losses_cap, nlate;
	uint64_t mapped, dropped, lost;
};

/* source_mapped.c: what all share. Room for `least` elements of `each` bytes in *array. False: no
 * memory, all is as it was. */
bool mapped_grow(void *array, uint32_t *cap, uint32_t least, size_t each);

/* source_mapped_label.c: programs and labels. Learn: those of inner's that are new; ERR_MEMORY, and
 * the next call goes on. Own: ours, of "service/hone:request_begin(type)", base being a program's
 * begin or end; UINT32_MAX: out of memory. */
int mapped_labels_learn(struct mapped_source *s, struct err *e);
uint32_t mapped_own_label(
    struct mapped_source *s, uint32_t base, enum record_kind kind, const char *type);
void mapped_labels_release(struct mapped_source *s);

/* source_mapped_process.c: who wrote, and when it is over with them. Know: one wrote; false: no
 * memory. Look: whose numbers are in no process that lives: all that they wrote is before now, and
 * comes before that watermark. Bury: those whose last is out; what they left open is given up. Give
 * up: what is open in all of them, records of it may be lost. */
bool mapped_process_know(struct mapped_source *s, uint32_t program, uint32_t pid);
void mapped_processes_look(struct mapped_source *s, const struct source_look *l);
void mapped_processes_bury(struct mapped_source *s, int64_t watermark_ns);
void mapped_give_up(struct mapped_source *s);
void mapped_processes_release(struct mapped_source *s);

/* source_mapped_loss.c: what is missing. Lose: records of ours, told with this poll's. Await:
 * records are missing up to to_ns; reached: time has come to time_ns, and what was open at an
 * awaited end before it is given up. */
void mapped_lose(struct mapped_source *s, uint64_t count, int64_t from_ns, int64_t to_ns);
void mapped_loss_await(struct mapped_source *s, int64_t to_ns);
void mapped_losses_reached(struct mapped_source *s, int64_t time_ns);

#endif
