/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/honed/limited_log.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#define LINES_PER_S 0.2
enum { LINES_AT_ONCE = 50, LINE_BYTES = 640 };

void
limited_log_init(struct limited_log *l, struct mono now)
{
	*l = (struct limited_log){ 0 };
	bucket_init(&l->pace, LINES_PER_S, LINES_AT_ONCE, now);
}

void
limited_log(struct limited_log *l, struct mono now, enum log_level level, const char *fmt, ...)
{
	char text[LINE_BYTES];
	va_list ap;

	if (bucket_wait_ns(&l->pace, now) > 0) {
		l->left_out++;
		return;
	}
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	log_line(level, "%s", text);
}

void
limited_log_flush(struct limited_log *l, struct mono now, const char *whose)
{
	if (l->left_out == 0 || bucket_wait_ns(&l->pace, now) > 0)
		return;
	log_line(
	    LOG_WARN, "%s%" PRIu64 " more lines of this kind were left out", whose, l->left_out);
	l->left_out = 0;
}
