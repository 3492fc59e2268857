/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agent/main/agent_state.h"

#include <stdarg.h>
#include <stdio.h>

void
agent_log(struct agent *a, enum log_level level, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	a->log(level, text);
}
