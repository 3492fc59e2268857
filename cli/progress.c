/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/progress.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

enum { BAR_CELLS = 24 };

#define LINE_AWAY "\r\033[K"

static int shown_on = -1; /* a signal's handler has no other place */

/* Who interrupts gets a prompt on a clean line, and the program ends by the signal all the same. */
static void
interrupted(int number)
{
	ssize_t n = write(shown_on, LINE_AWAY, sizeof LINE_AWAY - 1);

	(void)n;
	raise(number); /* comes when this returns; by SA_RESETHAND it is not ours any more */
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
	memset(g, 0, sizeof *g);
	g->pen = pen;
}

void
progress_say(struct progress *g, double share, const char *words, const char *detail)
{
	struct pen *p = g->pen;
	const char *said;

	if (p->live) {
		said = share < 0 ? pen_printf(p, "%s %s", words, detail)
		                 : pen_printf(
				       p, "%s %s  %s", pen_bar(p, share, BAR_CELLS), words, detail);
		if (!g->open)
			watch(fileno(p->out), interrupted);
		fprintf(p->out, LINE_AWAY "%s", pen_shorten(p, said, p->columns - 1));
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
	if (g->open) {
		fputs(LINE_AWAY, g->pen->out);
		watch(-1, SIG_DFL);
	}
	fflush(g->pen->out);
	g->open = false;
}
