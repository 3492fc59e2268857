/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A graph of libbabeltrace2 that reads folders of CTF, merged by time. Linked into the shared objects that read CTF, not into this
 * room's archive (ctf.so, source_babeltrace2.so).
 *
 *	ctf.fs for each folder ----> utils.muxer ----> the caller
 */
#ifndef WIRE_GRAPH_BABELTRACE2_H
#define WIRE_GRAPH_BABELTRACE2_H

#include <stdbool.h>
#include <stdint.h>

#include <babeltrace2/babeltrace.h>

#include "base/err.h"

/* Takes a message, which is valid during the call. Not 0: the graph ends with that code. */
typedef int graph_take(void *of, const bt_message *m);

struct graph_babeltrace2 { /* all zeroes is a closed one */
	bt_graph *graph;
	const bt_plugin *ctf, *utils;
	const bt_component_filter *muxer;
	bt_message_iterator *iterator;
	uint64_t used; /* of the muxer's ports */
	graph_take *take;
	void *of;
	int rc; /* of take() */
};

enum { GRAPH_END = 0, GRAPH_MORE = 1 };

/* Begins a graph without folders. ERR_SYSTEM: babeltrace2's plugins are not there; ERR_INPUT: babeltrace2 refuses. */
int graph_begin(struct graph_babeltrace2 *g, struct err *e);
/* Adds a folder, by whose number graph_said() knows it. ERR_INPUT: babeltrace2 rejects it, and this graph cannot be used
 * any more. */
int graph_add(struct graph_babeltrace2 *g, const char *path, uint32_t number, struct err *e);
/* After the last folder. ERR_INPUT: no folder has a stream, or babeltrace2 refuses. */
int graph_connect(struct graph_babeltrace2 *g, graph_take *take, void *of, struct err *e);
/* Takes some messages. GRAPH_MORE, GRAPH_END; ERR_INPUT: babeltrace2 cannot read on, and *bad is the number of the folder, or
 * unchanged if it is not known; or the result of take(). */
int graph_more(struct graph_babeltrace2 *g, uint32_t *bad, struct err *e);
/* The event classes that were seen are freed with it. */
void graph_release(struct graph_babeltrace2 *g);

#endif
