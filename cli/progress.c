/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/progress.h"

#include <string.h>

enum { BAR_CELLS = 24 };

void
progress_open(struct progress *g, struct pen *pen)
{
	memset(g, 0, sizeof *g);
	g->pen = pen;
}

void
progress_say(struct progress *g, double share, const char *words, const char *detail)
{
	struct pen *p = g->pen;
	const char *said;

	if (p->live) {
		said = share < 0 ? pen_printf(p, "%s %s", words, detail) :
		    pen_printf(p, "%s %s  %s", pen_bar(p, share, BAR_CELLS), words, detail);
		fprintf(p->out, "\r\033[K%s", pen_shorten(p, said, p->columns - 1));
		g->open = true;
	} else if (strncmp(g->last, words, sizeof g->last - 1) != 0) {
		fprintf(p->out, "%s\n", words);
		snprintf(g->last, sizeof g->last, "%s", words);
	}
	fflush(p->out);
}

void
progress_close(struct progress *g)
{
	if (g->open)
		fputs("\r\033[K", g->pen->out);
	fflush(g->pen->out);
	g->open = false;
}
