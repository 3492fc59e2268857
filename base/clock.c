/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/clock.h"

#include <assert.h>
#include <stdio.h>
#include <time.h>

enum { NS_PER_MS = 1000000 };
static const int64_t NS_PER_S = 1000000000;

static int64_t
clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * NS_PER_S + t.tv_nsec;
}

struct mono
clock_mono(void)
{
	return (struct mono){ clock_ns(CLOCK_MONOTONIC) };
}

struct wall
clock_wall(void)
{
	return (struct wall){ clock_ns(CLOCK_REALTIME) };
}

void
wall_print(struct wall w, char out[25])
{
	int64_t ns = w.ns % NS_PER_S;
	time_t s = (time_t)(w.ns / NS_PER_S);
	char text[64];
	struct tm tm;

	assert(out != NULL);
	if (ns < 0) { /* before 1970: division rounds towards 0 */
		ns += NS_PER_S;
		s--;
	}
	gmtime_r(&s, &tm);
	snprintf(text, sizeof text, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", tm.tm_year + 1900,
	    tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec, (int)(ns / NS_PER_MS));
	snprintf(out, 25, "%.24s", text); /* 64 bits of ns end in the year 2262 */
}
