/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "wire/graph_babeltrace2.h"

#include <stdio.h>
#include <stdlib.h>

/* Sets *e to the text of babeltrace2's innermost cause, and *bad to the number of the folder whose component failed. */
static int
said(uint32_t *bad, struct err *e)
{
	const bt_error *error = bt_current_thread_take_error();
	uint64_t n = error != NULL ? bt_error_get_cause_count(error) : 0;

	err_set(e, ERR_INPUT, "babeltrace2 cannot read the trace");
	if (n > 0)
		err_set(e, ERR_INPUT, "babeltrace2: %s",
		    bt_error_cause_get_message(bt_error_borrow_cause_by_index(error, 0)));
	for (uint64_t i = 0; i < n; i++) {
		const bt_error_cause *cause = bt_error_borrow_cause_by_index(error, i);
		unsigned long at;
		char *end;

		if (bt_error_cause_get_actor_type(cause) !=
		    BT_ERROR_CAUSE_ACTOR_TYPE_MESSAGE_ITERATOR)
			continue;
		at = strtoul(
		    bt_error_cause_message_iterator_actor_get_component_name(cause), &end, 10);
		if (*end == '\0')
			*bad = (uint32_t)at;
	}
	if (error != NULL)
		bt_error_release(error);
	return ERR_INPUT;
}

static const bt_plugin *
plugin(const char *name)
{
	const bt_plugin *p = NULL;

	return bt_plugin_find(name, BT_TRUE, BT_TRUE, BT_TRUE, BT_TRUE, BT_FALSE, &p) ==
	               BT_PLUGIN_FIND_STATUS_OK
	           ? p
	           : NULL;
}

int
graph_begin(struct graph_babeltrace2 *g, struct err *e)
{
	uint32_t bad;

	*g = (struct graph_babeltrace2){ .ctf = plugin("ctf"), .utils = plugin("utils") };
	if (g->ctf == NULL || g->utils == NULL)
		return err_set(e, ERR_SYSTEM,
		    "babeltrace2's plugins ctf and utils cannot be found: install "
		    "libbabeltrace2-0, or name their folder in BABELTRACE_PLUGIN_PATH");
	if ((g->graph = bt_graph_create(0)) == NULL ||
	    bt_graph_add_filter_component(g->graph,
		bt_plugin_borrow_filter_component_class_by_name_const(g->utils, "muxer"), "muxer",
		NULL, BT_LOGGING_LEVEL_NONE, &g->muxer) != BT_GRAPH_ADD_COMPONENT_STATUS_OK)
		return said(&bad, e);
	return 0;
}

/* ---- folders ---- */

static bool
connect_ports(struct graph_babeltrace2 *g, const bt_component_source *source)
{
	uint64_t n = bt_component_source_get_output_port_count(source);

	for (uint64_t i = 0; i < n; i++, g->used++)
		if (bt_graph_connect_ports(g->graph,
			bt_component_source_borrow_output_port_by_index_const(source, i),
			bt_component_filter_borrow_input_port_by_index_const(g->muxer, g->used),
			NULL) != BT_GRAPH_CONNECT_PORTS_STATUS_OK)
			return false;
	return true;
}

int
graph_add(struct graph_babeltrace2 *g, const char *path, uint32_t number, struct err *e)
{
	bt_value *parameters = bt_value_map_create(), *list;
	const bt_component_source *source;
	char name[16];
	uint32_t bad;
	bool ok;

	snprintf(name, sizeof name, "%u", number);
	ok = parameters != NULL &&
	     bt_value_map_insert_empty_array_entry(parameters, "inputs", &list) ==
	         BT_VALUE_MAP_INSERT_ENTRY_STATUS_OK &&
	     bt_value_array_append_string_element(list, path) ==
	         BT_VALUE_ARRAY_APPEND_ELEMENT_STATUS_OK &&
	     bt_graph_add_source_component(g->graph,
		 bt_plugin_borrow_source_component_class_by_name_const(g->ctf, "fs"), name,
		 parameters, BT_LOGGING_LEVEL_NONE, &source) == BT_GRAPH_ADD_COMPONENT_STATUS_OK &&
	     connect_ports(g, source);
	if (parameters != NULL)
		bt_value_put_ref(parameters);
	return ok ? 0 : said(&bad, e);
}

/* ---- messages ---- */

static bt_graph_simple_sink_component_initialize_func_status
sink_begin(bt_message_iterator *it, void *data)
{
	((struct graph_babeltrace2 *)data)->iterator = it;
	return BT_GRAPH_SIMPLE_SINK_COMPONENT_INITIALIZE_FUNC_STATUS_OK;
}

static bt_graph_simple_sink_component_consume_func_status
sink_consume(bt_message_iterator *it, void *data)
{
	struct graph_babeltrace2 *g = data;
	bt_message_array_const messages;
	uint64_t n = 0;
	bt_message_iterator_next_status status = bt_message_iterator_next(it, &messages, &n);

	if (status == BT_MESSAGE_ITERATOR_NEXT_STATUS_END)
		return BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_END;
	if (status == BT_MESSAGE_ITERATOR_NEXT_STATUS_AGAIN)
		return BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_AGAIN;
	if (status != BT_MESSAGE_ITERATOR_NEXT_STATUS_OK)
		return BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_ERROR;
	for (uint64_t i = 0; i < n; i++) {
		if (g->rc == 0)
			g->rc = g->take(g->of, messages[i]);
		bt_message_put_ref(messages[i]);
	}
	return g->rc == 0 ? BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_OK
	                  : BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_ERROR;
}

static void
sink_end(void *data)
{
	(void)data;
}

int
graph_connect(struct graph_babeltrace2 *g, graph_take *take, void *of, struct err *e)
{
	const bt_component_sink *sink;
	uint32_t bad;

	g->take = take;
	g->of = of;
	if (g->used == 0)
		return err_set(e, ERR_INPUT, "no trace in the folder has events");
	if (bt_graph_add_simple_sink_component(g->graph, "hone", sink_begin, sink_consume, sink_end,
		g, &sink) != BT_GRAPH_ADD_COMPONENT_STATUS_OK ||
	    bt_graph_connect_ports(g->graph,
		bt_component_filter_borrow_output_port_by_index_const(g->muxer, 0),
		bt_component_sink_borrow_input_port_by_index_const(sink, 0),
		NULL) != BT_GRAPH_CONNECT_PORTS_STATUS_OK)
		return said(&bad, e);
	return 0;
}

int
graph_more(struct graph_babeltrace2 *g, uint32_t *bad, struct err *e)
{
	bt_graph_run_once_status status = bt_graph_run_once(g->graph);
	struct err unused;
	uint32_t none;

	if (status == BT_GRAPH_RUN_ONCE_STATUS_OK || status == BT_GRAPH_RUN_ONCE_STATUS_AGAIN)
		return GRAPH_MORE;
	if (status == BT_GRAPH_RUN_ONCE_STATUS_END)
		return GRAPH_END;
	if (g->rc == 0)
		return said(bad, e);
	said(&none, &unused); /* it says that we failed */
	return g->rc;
}

void
graph_release(struct graph_babeltrace2 *g)
{
	if (g->graph != NULL)
		bt_graph_put_ref(g->graph);
	if (g->ctf != NULL)
		bt_plugin_put_ref(g->ctf);
	if (g->utils != NULL)
		bt_plugin_put_ref(g->utils);
	*g = (struct graph_babeltrace2){ 0 };
}
