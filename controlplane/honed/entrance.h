/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where agents and operators connect: the server, with its roles and its keys for TLS, as the configuration says. */
#ifndef CONTROLPLANE_HONED_ENTRANCE_H
#define CONTROLPLANE_HONED_ENTRANCE_H

#include "controlplane/honed/honed_config.h"
#include "controlplane/server/server.h"

struct tls;

struct entrance {
	struct roles *roles;
	struct tls *tls; /* NULL: agents connect by a local socket */
	struct server *server;
};

/* Raises the limit of open files for it. *n is all zeroes, and to be closed in any case. ERR_INPUT: a role or a key; errors of server_open(). */
int entrance_open(struct entrance *n, const struct config *c, struct err *e);
void entrance_close(struct entrance *n);

#endif
