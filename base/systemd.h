/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a daemon tells who started it, by the protocol of sd_notify(3): a
 * datagram to the socket that NOTIFY_SOCKET names. Without that variable
 * every call does nothing. One thread.
 */
#ifndef BASE_SYSTEMD_H
#define BASE_SYSTEMD_H

#include <stdbool.h>

#include "base/clock.h"

/* "READY=1", "STOPPING=1", "STATUS=..."; several lines are fine. Never blocks. True: it was sent.
 */
bool systemd_notify(const char *words);

/* Says WATCHDOG=1 twice in the time that WATCHDOG_USEC gives, if it names this process
 * (WATCHDOG_PID). Call it in the main loop, so that it says that this turns. Cheap while it is not
 * time. */
void systemd_watchdog(struct mono now);

#endif
