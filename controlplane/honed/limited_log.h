/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Log lines that peers cause: 50 at once, then one in 5 s, so that a peer that sends garbage does
 * not fill the disk. Those left out are counted. */
#ifndef CONTROLPLANE_HONED_LIMITED_LOG_H
#define CONTROLPLANE_HONED_LIMITED_LOG_H

#include <stdint.h>

#include "base/clock.h"
#include "base/log.h"
#include "controlplane/server/bucket.h"

struct limited_log {
	struct bucket pace;
	uint64_t left_out; /* since the last flush that logged their number */
};

void limited_log_init(struct limited_log *l, struct mono now);
/* Logs a line, or counts it. At most 639 bytes. */
void limited_log(struct limited_log *l, struct mono now, enum log_level level, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* Logs how many were left out, once there is room for a line; `whose` stands in front of it. To be
 * called often. */
void limited_log_flush(struct limited_log *l, struct mono now, const char *whose);

#endif
