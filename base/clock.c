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

/*
 * As gmtime_r(), whose lock a child that was forked beside threads may find taken. Days are counted from March 1 of the year 0 in eras of 400 years
 * (Hinnant, chrono-compatible low-level date algorithms, civil_from_days).
 */
static void
utc_of(int64_t s, struct tm *tm)
{
	int64_t day = s / 86400 - (s % 86400 < 0), left = s - day * 86400, z = day + 719468;
	int64_t era = (z >= 0 ? z : z - 146096) / 146097, of_era = z - era * 146097;
	int64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
	int64_t of_year = of_era - (365 * year + year / 4 - year / 100);
	int64_t month = (5 * of_year + 2) / 153; /* 0: March */

	tm->tm_mday = (int)(of_year - (153 * month + 2) / 5 + 1);
	tm->tm_mon = (int)(month < 10 ? month + 2 : month - 10);
	tm->tm_year = (int)(year + era * 400 + (tm->tm_mon <= 1) - 1900);
	tm->tm_hour = (int)(left / 3600);
	tm->tm_min = (int)(left / 60 % 60);
	tm->tm_sec = (int)(left % 60);
}

void
wall_print(struct wall w, char out[25])
{
	int64_t ns = w.ns % NS_PER_S;
	int64_t s = w.ns / NS_PER_S;
	char text[64];
	struct tm tm;

	assert(out != NULL);
	if (ns < 0) { /* before 1970: division rounds towards 0 */
		ns += NS_PER_S;
		s--;
	}
	utc_of(s, &tm);
	snprintf(text, sizeof text, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", tm.tm_year + 1900,
	    tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec, (int)(ns / NS_PER_MS));
	snprintf(out, 25, "%.24s", text); /* 64 bits of ns end in the year 2262 */
}
