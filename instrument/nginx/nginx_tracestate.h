/* SPDX-License-Identifier: MIT */
/*
 * The header tracestate (W3C Trace Context): a list of members, key=value,
 * with commas between. Pure: no nginx in here, so that it can be fuzzed alone.
 *
 * Where a list is too long to be kept, whole members are dropped: those that are
 * long, if that is not enough those at its end (W3C Trace Context, 3.3.1.5). Ours
 * is kept wherever it stands: without it the sender's request would end here and
 * another begin.
 */
#ifndef HONE_NGINX_TRACESTATE_H
#define HONE_NGINX_TRACESTATE_H

#include <stdbool.h>
#include <stddef.h>

enum {
	TRACESTATE_PASSED_MAX =
	    480, /* with our own 31 bytes and a comma: the 512 that everybody has to pass on */
	TRACESTATE_OTHERS_MAX = 1024,
	TRACESTATE_LONG = 128,        /* a member of more bytes is long; ours never is */
	TRACESTATE_LOOKED_MAX = 8192, /* as long as nginx lets a line be, unless it is told to */
};

/* A list that comes in lines, less what is dropped: single commas, no spaces around members, no
 * final 0. */
struct tracestate {
	size_t len, max;    /* of text: now, and with all that may come of others */
	size_t looked;      /* bytes, at most TRACESTATE_LOOKED_MAX */
	bool ours;          /* there was one of ours, or none is wanted */
	bool crowded, full; /* long members are dropped; all of others are */
	char text[TRACESTATE_OTHERS_MAX + 1 + TRACESTATE_LONG];
};

/* An empty list, for at most others_max (up to TRACESTATE_OTHERS_MAX) bytes of others' members, and
 * the first hone= if it is wanted. */
void tracestate_init(struct tracestate *t, size_t others_max, bool ours_wanted);

/* Appends a line's members. Of all lines together TRACESTATE_LOOKED_MAX bytes are
 * looked at; members that end later are dropped, ours too. At most two passes over them. */
void tracestate_add(struct tracestate *t, const char *line, size_t len);

#endif
