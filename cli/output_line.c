/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lines that begin with a name, for the printers. */
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
