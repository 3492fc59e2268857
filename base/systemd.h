/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The protocol of sd_notify(3): a daemon reports its state to its service manager, as a datagram to the
 * socket in NOTIFY_SOCKET. Without that variable the calls do nothing. For one thread.
 */
#ifndef BASE_SYSTEMD_H
#define BASE_SYSTEMD_H

#include <stdbool.h>

#include "base/clock.h"

/* Sends "READY=1", "STOPPING=1", "STATUS=..." or several lines of these. Never blocks. Returns
 * whether it was sent. */
bool systemd_notify(const char *lines);

/* Sends WATCHDOG=1 once in half of WATCHDOG_USEC, if WATCHDOG_PID is this process or unset. To be
 * called in the main loop, so that the watchdog sees whether it runs. Both variables are read at the
 * first call. */
void systemd_watchdog(struct mono now);

#endif
