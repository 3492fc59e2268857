/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One line that says how far it is: written over on a terminal, else a new one whenever its words
 * change. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include "cli/pen.h"

struct progress {
	struct pen *pen;
	char last[256]; /* the words said last */
	bool open;      /* a line is there to be written over */
};

void progress_open(struct progress *g, struct pen *pen);
/* `words` say what is being done; `detail` changes all the time (only shown where it can be written
 * over). share: how much of it is done, negative: nobody knows. */
void progress_say(struct progress *g, double share, const char *words, const char *detail);
void progress_close(struct progress *g); /* takes the line away */

#endif
