/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/engine/live_report.h"

int
live_report_reset(struct live_report *l, const struct report_options *o,
    const struct labels *labels, uint64_t used, struct wall when, struct err *e)
{
	struct report_counts n;
	struct report *fresh;

	if (o->memory_max_bytes == 0)
		return 0;
	if ((fresh = report_new(o, labels)) == NULL)
		return err_set(e, ERR_MEMORY, "no memory for a report");
	if (l->report != NULL) {
		report_counts(l->report, &n);
		l->before.moved += n.moved;
		l->before.pathless += n.pathless;
		l->before.inexact += n.inexact;
	}
	report_free(l->report);
	l->report = fresh;
	l->since = when;
	l->used_before = used;
	return 0;
}

void
live_report_release(struct live_report *l)
{
	report_free(l->report);
	l->report = NULL;
}
