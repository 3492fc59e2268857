/* SPDX-License-Identifier: GPL-3.0-or-later */
/* hone-below as the agent's helper: messages of wire/below.h on a socket. */
#ifndef BELOW_MAIN_HELPER_H
#define BELOW_MAIN_HELPER_H

#include "base/err.h"

/* Serves until the agent says so, its end is closed, or no lease has come for BELOW_LEASE_MS (or what the last one gave). What the
 * kernel does not permit is told to the agent with CAN, and 0 is returned, too. ERR_SYSTEM, ERR_INPUT: a malformed message. */
int helper_serve(int socket, struct err *e);

#endif
