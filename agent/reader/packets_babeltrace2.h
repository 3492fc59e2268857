/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Packets of a CTF trace to records, by libbabeltrace2. */
#ifndef AGENT_READER_PACKETS_BABELTRACE2_H
#define AGENT_READER_PACKETS_BABELTRACE2_H

#include "base/err.h"
#include "wire/record.h"

struct packet_record {        /* everything in it is valid during the call only */
	struct record record; /* without label; values has nfields of them */
	enum record_kind kind;
	const char *event;   /* "provider:event" */
	struct value name;   /* of structure records; else VALUE_NONE */
	const char *service; /* process name: of the context, else of the trace; "": unknown */
	const char **fields;
	uint32_t nfields;
};

/* 0, or a negative enum err_code, which ends the reading. */
typedef int packet_record_fn(void *ctx, const struct packet_record *r);

struct packet_reader; /* libbabeltrace2's plugins, and a graph without a folder */

/* ERR_SYSTEM: the plugins ctf and utils are not installed; ERR_MEMORY; ERR_INPUT: libbabeltrace2 refuses. */
int packet_reader_new(struct packet_reader **ret, struct err *e);
void packet_reader_free(struct packet_reader *p); /* NULL is permitted */

/* Calls fn for each event of the trace in `folder`: metadata and stream files with whole packets, in
 * time order. ERR_INPUT: libbabeltrace2 cannot read it, or aborted, or took over 20 s; records before
 * the error have been passed to fn. Costs a child process, a graph and a parsing of the metadata, some
 * ms, and some us an event. */
int packet_reader_run(
    struct packet_reader *p, const char *folder, packet_record_fn *fn, void *ctx, struct err *e);

#endif
