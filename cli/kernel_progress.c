/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/kernel_progress.h"

enum { LOOK_EVENTS = 8192, AFTER_MS = 300, EACH_MS = 100, MS_NS = 1000000 };

void
kernel_progress_event(struct kernel_progress *p)
{
	struct pen *pen = p->call->err;
	double read = (double)p->at.read_bytes, size = (double)p->at.size_bytes;
	struct mono now;

	if (p->events++ % LOOK_EVENTS != 0 || !pen->live)
		return;
	now = clock_mono();
	if (p->begun.ns == 0)
		p->begun = now;
	if (mono_since_ns(now, p->begun) < AFTER_MS * INT64_C(1) * MS_NS ||
	    (p->line.open && mono_since_ns(now, p->shown) < EACH_MS * INT64_C(1) * MS_NS))
		return;
	if (!p->line.open)
		progress_open(&p->line, pen);
	p->shown = now;
	progress_show(&p->line, size > 0 ? read / size : -1, "reading",
	    pen_printf(pen, "%s events", pen_count(pen, (double)p->events)));
}

void
kernel_progress_end(struct kernel_progress *p)
{
	if (p->line.open)
		progress_close(&p->line);
}
