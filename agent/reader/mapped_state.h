/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The state of a stage of mapped programs, which the files behind source_mapped.c share. */
#ifndef AGENT_READER_MAPPED_STATE_H
#define AGENT_READER_MAPPED_STATE_H

#include "agent/reader/mapped_options.h"
#include "agent/reader/source.h"
#include "agent/reader/source_labels.h"
#include "agent/reader/source_losses.h"
#include "base/arena.h"
#include "base/hash_map.h"
#include "mapping/map.h"
#include "mapping/mapper.h"

enum {
	LOSSES_MAX = 64, /* pending at a time */
	SERVICE_BYTES = 64,
	BEGIN_FIELDS = 2, /* of the begin of a request: trace_id_high, probed */
};

struct mapped_program { /* of one service */
	char service[SERVICE_BYTES];
	struct mapper *mapper; /* NULL: it has no mapping */
	uint32_t begin, end;   /* bases of the labels that begin and end its requests */
	uint32_t fork, unit_begin, unit_end, join; /* of those of its spans */
};

struct label_info {     /* of a label of the inner source */
	uint32_t label; /* in mapped_source.labels */
	uint32_t program;
	const char *name; /* "provider:event" */
	uint32_t ids;     /* one bit for each field that holds a request's id */
	bool needed;      /* the mapping names it; false: an added tracepoint */
};

struct mapped_source {
	struct source inner;
	const struct maps *maps;
	struct mapped_options o;
	enum mapped_choice chosen; /* the last answer of o.choose() */

	struct mapped_program *programs;
	uint32_t nprograms, programs_cap;
	struct label_info *infos; /* by the inner source's label */
	uint32_t ninfos, infos_cap;
	struct batch_label *labels; /* inner's and own ones, in the order of arrival */
	uint32_t nlabels, labels_cap;
	struct source_labels own;
	uint32_t *own_at, nown, own_cap; /* own label -> index in labels */

	struct map processes; /* by program and pid */
	uint64_t changes;     /* inner's stats.changes at the last update */
	bool fresh;           /* a process has been added since then */

	struct map followed;          /* traces of spans: trace id -> time of their begin */
	struct map probed;            /* probed requests: trace id -> time of their begin */
	int64_t expired_ns, limit_ns; /* limit_ns: the longest limit of any rule */
	int64_t lost_ns[LOSSES_MAX];  /* ends of losses that are still ahead, in order */
	uint32_t nlost;
	int64_t polled_ns;

	struct record *records;
	uint32_t nrecords, records_cap;
	struct arena arena; /* changed values, of one poll */
	struct source_losses losses;
	uint32_t nlate;
	uint64_t mapped, dropped, lost;
};

#endif
