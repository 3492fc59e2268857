/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Prints the forest, the learned space and single requests as Graphviz graphs (dot -Tsvg draws them). */
#include <string.h>

#include "base/buf.h"
#include "cli/output.h"
#include "cli/verdict_text.h"

static const char *
word_of(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s != NULL ? s : "";
}

/* Appends text inside a quoted string: escapes quotes, backslashes and line breaks. */
static void
put(struct buf *out, const char *s)
{
	for (; *s != '\0'; s++)
		if (*s == '"' || *s == '\\')
			buf_printf(out, "\\%c", *s);
		else
			buf_u8(out, (unsigned char)*s < 0x20 || *s == 0x7f ? '?' : (uint8_t)*s);
}

/* ---- the forest ---- */

static const char *
fill_of(const char *state)
{
	static const char *const colours[][2] = { { "isolates", "#cfe8d5" },
		{ "explained", "#a9d8b5" }, { "bottom", "#a9d8b5" }, { "separates", "#cfe3f5" },
		{ "probing", "#fbe9b7" }, { "open", "#f4f4f1" }, { "withdrawn", "#f3d0c3" },
		{ "no help", "#e8e8e6" } };

	for (size_t i = 0; i < sizeof colours / sizeof colours[0]; i++)
		if (strcmp(colours[i][0], state) == 0)
			return colours[i][1];
	return "#ffffff";
}

static void
put_share(struct buf *out, const json_t *h)
{
	bool settled = number_of(h, "settled_traces") > 0 && !is_null(h, "settled_share");

	buf_printf(out, "%.0f %% (%.0f..%.0f) of %.0f traces",
	    number_of(h, settled ? "settled_share" : "share") * 100,
	    number_of(h, settled ? "settled_low" : "share_low") * 100,
	    number_of(h, settled ? "settled_high" : "share_high") * 100,
	    number_of(h, settled ? "settled_traces" : "traces"));
}

static void
put_hypothesis(struct buf *out, const json_t *h)
{
	const json_t *edge = json_object_get(h, "edge");
	const char *presence = word_of(h, "presence");

	buf_printf(out, "\t\th%.0f [fillcolor=\"%s\", label=\"", number_of(h, "id"),
	    fill_of(word_of(h, "state")));
	put(out, presence[0] == ' ' ? "" : presence);
	put(out, presence[0] == ' ' || presence[0] == '\0' ? "" : " ");
	put(out, title_of(h));
	buf_printf(out, "\\n");
	put(out, word_of(h, "state"));
	buf_printf(out, "\\n");
	put(out, event_of(word_of(edge, "from")));
	buf_printf(out, " -> ");
	put(out, event_of(word_of(edge, "to")));
	buf_printf(out, "\\n");
	put_share(out, h);
	buf_printf(out, "\"];\n");
	if (!is_null(h, "parent"))
		buf_printf(
		    out, "\t\th%.0f -> h%.0f;\n", number_of(h, "parent"), number_of(h, "id"));
}

static void
put_verdict(struct buf *out, const json_t *run, const json_t *v)
{
	struct buf text = { 0 };

	verdict_text_put(&text, run, v);
	buf_u8(&text, 0);
	buf_printf(out, "\t\tv%.0f_%.0f [shape=note, fillcolor=\"#ffffff\", label=\"",
	    number_of(run, "run"), number_of(v, "rank"));
	put(out, word_of(v, "kind"));
	buf_printf(out, "\\n");
	put(out, text.failed ? "" : (const char *)text.data);
	out->failed |= text.failed;
	buf_release(&text);
	buf_printf(out, "\"];\n\t\th%.0f -> v%.0f_%.0f [style=dashed];\n",
	    number_of(v, "hypothesis"), number_of(run, "run"), number_of(v, "rank"));
}

void
dot_forest(struct buf *out, const json_t *answer)
{
	size_t i, k;
	json_t *run, *o;

	buf_printf(out,
	    "digraph forest {\n\tnode [shape=box, style=filled, fontname=\"sans-serif\", fontsize=10];\n");
	json_array_foreach (json_object_get(answer, "runs"), i, run) {
		buf_printf(out, "\tsubgraph cluster_%.0f {\n\t\tlabel=\"", number_of(run, "run"));
		put(out, word_of(run, "type"));
		buf_printf(out, ": diagnosis %.0f, ", number_of(run, "run"));
		put(out, word_of(run, "state"));
		buf_printf(out, "\";\n");
		json_array_foreach (json_object_get(run, "hypotheses"), k, o)
			put_hypothesis(out, o);
		json_array_foreach (json_object_get(run, "verdicts"), k, o)
			put_verdict(out, run, o);
		buf_printf(out, "\t}\n");
	}
	buf_printf(out, "}\n");
}

/* ---- the space ---- */

static void
put_places(struct buf *out, const json_t *places, const char *unit)
{
	size_t i;
	json_t *o;

	json_array_foreach (places, i, o) {
		if (strcmp(word_of(o, "unit"), unit) != 0)
			continue;
		buf_printf(out, "\t\tp%.0f [label=\"", number_of(o, "place"));
		put(out, event_of(word_of(o, "label")));
		buf_printf(out, "\\n%.0f %% of traces\"];\n", number_of(o, "share") * 100);
	}
}

static void
put_steps(struct buf *out, const json_t *place)
{
	size_t i;
	json_t *s;

	json_array_foreach (json_object_get(place, "steps"), i, s)
		buf_printf(out, "\tp%.0f -> p%.0f [label=\"%.0f %%, %.3g ms\", penwidth=%.2f];\n",
		    number_of(place, "place"), number_of(s, "to"), number_of(s, "share") * 100,
		    number_of(s, "mean_ms"), 0.5 + 2.5 * number_of(s, "share"));
}

/* Prints an arrow to the first place of the unit. */
static void
put_handovers(struct buf *out, const json_t *places, const json_t *place)
{
	size_t i, k;
	json_t *u, *o;

	json_array_foreach (json_object_get(place, "units"), i, u)
		json_array_foreach (places, k, o)
			if (strcmp(word_of(o, "unit"), word_of(u, "unit")) == 0 &&
			    strcmp(word_of(o, "label"), word_of(u, "unit")) == 0 &&
			    strcmp(word_of(o, "unit"), word_of(place, "unit")) != 0)
				buf_printf(out, "\tp%.0f -> p%.0f [style=dashed];\n",
				    number_of(place, "place"), number_of(o, "place"));
}

static bool
first_of_unit(const json_t *places, size_t at)
{
	for (size_t i = 0; i < at; i++)
		if (strcmp(word_of(json_array_get(places, i), "unit"),
			word_of(json_array_get(places, at), "unit")) == 0)
			return false;
	return true;
}

void
dot_space(struct buf *out, const json_t *document)
{
	const json_t *type = json_array_get(json_object_get(document, "types"), 0),
		     *places = json_object_get(type, "graph");
	size_t i;
	json_t *o;

	buf_printf(out, "digraph space {\n\tlabel=\"");
	put(out, word_of(type, "type"));
	buf_printf(out,
	    "\";\n\tnode [shape=box, fontname=\"sans-serif\", fontsize=10];\n\tedge [fontsize=9];\n");
	json_array_foreach (places, i, o) {
		if (!first_of_unit(places, i))
			continue;
		buf_printf(out, "\tsubgraph cluster_%zu {\n\t\tlabel=\"", i);
		put(out, word_of(o, "unit"));
		buf_printf(out, "\";\n");
		put_places(out, places, word_of(o, "unit"));
		buf_printf(out, "\t}\n");
	}
	json_array_foreach (places, i, o) {
		put_steps(out, o);
		put_handovers(out, places, o);
	}
	buf_printf(out, "}\n");
}

/* ---- single requests ---- */

static void
put_unit(struct buf *out, const json_t *u, size_t request)
{
	const char *name;
	json_t *value;

	buf_printf(out, "\t\tr%zu_%.0f [label=\"", request, number_of(u, "unit"));
	put(out, word_of(u, "service"));
	buf_printf(out, "\\n");
	put(out, word_of(u, "name"));
	buf_printf(out, "\\nthread %.0f, %.3f .. ", number_of(u, "tid"), number_of(u, "begin_ms"));
	if (is_null(u, "end_ms"))
		buf_printf(out, "no end");
	else
		buf_printf(out, "%.3f ms", number_of(u, "end_ms"));
	json_object_foreach (json_object_get(u, "waits_ms"), name, value) {
		buf_printf(out, "\\n");
		put(out, name);
		buf_printf(out, " %.3f ms", json_number_value(value));
	}
	json_object_foreach (json_object_get(u, "fields"), name, value) {
		size_t len = strlen(name);

		/* Times of waits are above. */
		if (json_number_value(value) == 0 ||
		    (len > 3 && strcmp(name + len - 3, "_ns") == 0))
			continue;
		buf_printf(out, "\\n");
		put(out, name);
		buf_printf(out, " %.0f", json_number_value(value));
	}
	buf_printf(out, "\"];\n");
	if (!is_null(u, "parent"))
		buf_printf(out, "\t\tr%zu_%.0f -> r%zu_%.0f [label=\"%.3f ms\"%s];\n", request,
		    number_of(u, "parent"), request, number_of(u, "unit"),
		    number_of(u, "forked_ms"), is_true(u, "joined") ? "" : ", style=dashed");
}

void
dot_requests(struct buf *out, const json_t *requests)
{
	size_t i, k;
	json_t *r, *u;

	buf_printf(out,
	    "digraph requests {\n\tnode [shape=box, fontname=\"sans-serif\", fontsize=10];\n\tedge [fontsize=9];\n");
	json_array_foreach (requests, i, r) {
		buf_printf(out, "\tsubgraph cluster_%zu {\n\t\tlabel=\"", i);
		put(out, word_of(r, "type"));
		buf_printf(out, ": %.3f ms%s\";\n", number_of(r, "total_ms"),
		    is_true(r, "lossy")                   ? ", lossy"
		    : word_of(r, "incomplete")[0] != '\0' ? ", incomplete"
							  : "");
		json_array_foreach (json_object_get(r, "units"), k, u)
			put_unit(out, u, i);
		buf_printf(out, "\t}\n");
	}
	buf_printf(out, "}\n");
}
