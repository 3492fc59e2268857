/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Prints the audit log: who asked for what. */
#include "cli/output.h"
#include "cli/state_text.h"
#include "cli/verdict_text.h"

#include <string.h>

static enum colour
colour_of(const char *outcome)
{
	return strcmp(outcome, "refused") == 0  ? RED
	       : strcmp(outcome, "failed") == 0 ? YELLOW
	                                        : PLAIN;
}

/* "alice (uid 1000, process 4711)", the part of Hone that acted, or the name in the certificate. */
static const char *
who(struct pen *p, const json_t *row)
{
	const char *user = text_of(p, row, "user"), *actor = text_of_put(p, actor_text_put, row);

	if (actor[0] != '\0')
		return pen_printf(p, "by %s", actor);
	if (is_null(row, "uid"))
		return user[0] != '\0' ? pen_printf(p, "by %s", user) : "by an unidentified peer";
	if (is_null(row, "pid"))
		return pen_printf(p, "%s (uid %.0f)", user, number_of(row, "uid"));
	return pen_printf(
	    p, "%s (uid %.0f, process %.0f)", user, number_of(row, "uid"), number_of(row, "pid"));
}

static void
print_row(struct pen *p, const json_t *row)
{
	const char *asked = text_of_put(p, action_text_put, row), *text = text_of(p, row, "text"),
		   *cause = text_of_put(p, congestion_text_put, json_object_get(row, "cause")),
		   *types = "";
	const json_t *type;
	size_t i;

	if (asked[0] == '\0')
		asked = text_of(p, row, "asked");
	json_array_foreach (json_object_get(row, "types"), i, type)
		types = pen_printf(
		    p, "%s%s%s", types, i > 0 ? ", " : "", pen_clean(p, json_string_value(type)));

	fprintf(p->out, "%s  ", text_of(p, row, "when"));
	pen_put(p, BOLD, who(p, row));
	fputs("  ", p->out);
	pen_put(p, colour_of(text_of(p, row, "outcome")), text_of(p, row, "outcome"));
	if (!is_null(row, "run"))
		fprintf(p->out, "  diagnosis %.0f", number_of(row, "run"));
	if (number_of(row, "times") > 1)
		fprintf(p->out, "  %s times", pen_count(p, number_of(row, "times")));
	fputc('\n', p->out);
	if (asked[0] != '\0')
		pen_wrap(p, "     ", asked);
	if (!is_null(row, "reason"))
		pen_wrap(p, "     ", text_of_reason(p, row, "reason"));
	if (cause[0] != '\0')
		pen_wrap(p, "     ", cause);
	if (types[0] != '\0')
		pen_wrap(p, "     ", pen_printf(p, "stopped %s", types));
	/* the text of a quarantine is the program's name, which is told already */
	if (text[0] != '\0' && strcmp(text_of(p, row, "action"), "quarantine") != 0)
		pen_wrap(p, "     ", text);
}

void
audit_print(struct pen *p, const json_t *answer)
{
	const json_t *rows = json_object_get(answer, "rows");
	size_t i;
	json_t *row;

	if (json_array_size(rows) == 0)
		fputs("The audit log is empty: no operator has changed anything.\n", p->out);
	json_array_foreach (rows, i, row)
		print_row(p, row);
	if (number_of(answer, "left_off") > 0)
		fprintf(p->out, "%s older entries are not shown; see --limit\n",
		    pen_count(p, number_of(answer, "left_off")));
}
