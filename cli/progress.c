/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/progress.h"

#include <assert.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

enum { BAR_CELLS = 24 };

#define CLEAR_LINE "\r\033[K"

static int shown_on = -1; /* the descriptor for interrupted(), which has no other argument */

/* Clears the line, so that the prompt is on a clean one, then lets the signal end the program. */
static void
interrupted(int number)
{
	ssize_t n = write(shown_on, CLEAR_LINE, sizeof CLEAR_LINE - 1);

	(void)n;
	/* delivered on return; SA_RESETHAND has restored the default action */
	raise(number);
}

static void
watch(int fd, void (*handler)(int))
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = (int)SA_RESETHAND };

	shown_on = fd;
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

void
progress_open(struct progress *g, struct pen *pen)
{
	assert(pen != NULL && shown_on < 0);
	memset(g, 0, sizeof *g);
	g->pen = pen;
}

void
progress_show(struct progress *g, double share, const char *text, const char *detail)
{
	struct pen *p = g->pen;
	const char *line;

	if (p->live) {
		line = share < 0
		           ? pen_printf(p, "%s %s", text, detail)
		           : pen_printf(p, "%s %s  %s", pen_bar(p, share, BAR_CELLS), text, detail);
		if (!g->open)
			watch(fileno(p->out), interrupted);
		fprintf(p->out, CLEAR_LINE "%s", pen_shorten(p, line, p->columns - 1));
		g->open = true;
	} else if (strncmp(g->last, text, sizeof g->last - 1) != 0) {
		fprintf(p->out, "%s\n", text);
		snprintf(g->last, sizeof g->last, "%s", text);
	}
	fflush(p->out);
}

void
progress_close(struct progress *g)
{
	if (g->open) {
		fputs(CLEAR_LINE, g->pen->out);
		watch(-1, SIG_DFL);
	}
	fflush(g->pen->out);
	g->open = false;
}
