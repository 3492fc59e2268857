/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A line that shows progress: overwritten in place on a terminal, elsewhere a new line whenever its
 * text changes. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include "cli/pen.h"

struct progress {
	struct pen *pen;
	char last[256]; /* the text printed last, where lines are not overwritten */
	bool open;      /* a line is on the terminal */
};

void progress_open(struct progress *g, struct pen *pen);
/* Shows `text`, and on a terminal also `detail`, which may change at any rate. share: the part that
 * is done, 0 to 1, shown as a bar; negative: unknown. While a line is open, SIGINT and SIGTERM
 * clear it before they end the program; only one progress may be open in a process. */
void progress_show(struct progress *g, double share, const char *text, const char *detail);
void progress_close(struct progress *g); /* clears the line */

#endif
