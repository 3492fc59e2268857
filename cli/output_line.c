/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lines that begin with a name, for the printers, and words that several of them print. */
#include "cli/output.h"

void
line_print(struct pen *p, const char *name, const char *words)
{
	fputs("  ", p->out);
	pen_put(p, BOLD, pen_printf(p, "%-10s", name));
	fprintf(p->out, " %s\n", words);
}

void
document_line(struct pen *p, const char *name, const char *words)
{
	fputs("     ", p->out);
	pen_put(p, BOLD, pen_printf(p, "%-9s", name));
	fprintf(p->out, " %s\n", words);
}

const char *
off_by_whom(const json_t *status)
{
	return json_array_size(json_object_get(status, "unknown")) > 0
	           ? "confirmed by all connected agents"
	           : "confirmed by all agents";
}

const char *
unknown_words(struct pen *p, const json_t *node)
{
	double left_s = number_of(node, "lease_left_s");

	return pen_printf(p, "whether they are off on %s, whose agent left %s ago: its lease %s",
	    text_of(p, node, "node"), pen_seconds(p, number_of(node, "since_s")),
	    left_s > 0 ? pen_printf(p, "ends in %s", pen_seconds(p, left_s))
		       : "has ended, and with it they are, if the agent or its guardian lived");
}
