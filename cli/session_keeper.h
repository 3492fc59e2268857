/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A process that destroys an LTTng session if this one ends without having done so, in whatever way it ends. */
#ifndef CLI_SESSION_KEEPER_H
#define CLI_SESSION_KEEPER_H

#include "base/err.h"

struct session_keeper { /* all zeroes: there is none */
	int pipe;       /* the keeper reads its end */
	int pid;
};

/* Starts it, before the session is created. The name is at most 63 bytes. One thread may run. ERR_SYSTEM. */
int session_keeper_start(struct session_keeper *ret, const char *session, struct err *e);
/* The session is destroyed: the keeper ends and does nothing. None: fine. */
void session_keeper_end(struct session_keeper *k);

#endif
