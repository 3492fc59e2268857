/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "otel/main/otel_state.h"

#include <stdarg.h>
#include <stdio.h>

void
otel_log(struct otel *o, enum log_level level, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	o->log(level, text);
}
