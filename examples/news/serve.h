/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A server with a thread for each connection. It knows nothing of Hone. */
#ifndef NEWS_SERVE_H
#define NEWS_SERVE_H

#include "message.h"

/* Answers *m in place. Serves until the process is ended; returns the exit status if it cannot begin. */
int serve(const char *dir, const char *name, void (*answer)(struct message *m));

#endif
