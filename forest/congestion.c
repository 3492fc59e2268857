/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "forest/congestion.h"

#include <stdio.h>

const char *
congestion_print(const struct congestion *c, char out[CONGESTION_TEXT_MAX])
{
	double percent = c->fill * 100;
	int len = 0;

	out[0] = '\0';
	if (c->reason == REASON_MAILBOX_FULL)
		snprintf(
		    out, CONGESTION_TEXT_MAX, "the controller's mailbox is %.0f %% full", percent);
	else if (c->reason == REASON_QUEUE_FULL || c->reason == REASON_LOAD_SHED)
		len = snprintf(out, CONGESTION_TEXT_MAX, "agent %s%s: %s %.0f %% full", c->node,
		    c->reason == REASON_LOAD_SHED ? " has shed load" : "", queue_name(c->queue),
		    percent);
	if (len > 0 && c->program[0] != '\0')
		len += snprintf(out + len, CONGESTION_TEXT_MAX - (size_t)len, " (%s, process %u)",
		    c->program, c->pid);
	if (len > 0 && c->others > 0)
		snprintf(out + len, CONGESTION_TEXT_MAX - (size_t)len, ", and %u more", c->others);
	if (len > 0 && c->backoff_s > 0)
		snprintf(out + len, CONGESTION_TEXT_MAX - (size_t)len,
		    "; no tracepoint is added there for %.0f s", c->backoff_s);
	return out;
}
