/* SPDX-License-Identifier: MIT */
/*
 * The header tracestate (W3C Trace Context): a list of members key=value, separated
 * by commas. Pure, and independent of nginx, so that it can be fuzzed alone.
 *
 * Of a list that is too long, whole members are dropped: first the long ones, then
 * those at its end (W3C Trace Context, 3.3.1.5). The member hone= is kept at any
 * position, since without it the sender's trace would end here and a new request
 * begin.
 */
#ifndef HONE_NGINX_TRACESTATE_H
#define HONE_NGINX_TRACESTATE_H

#include <stdbool.h>
#include <stddef.h>

enum {
	/* Bytes; with hone= (31 bytes) and a comma 512, which every vendor must pass on. */
	TRACESTATE_PASSED_MAX = 480,
	TRACESTATE_OTHERS_MAX = 1024,
	TRACESTATE_LONG = 128,        /* a member of more bytes is long; hone= never is */
	TRACESTATE_LOOKED_MAX = 8192, /* bytes parsed: nginx's default limit for one line */
};

/* The members of all lines that were added and not dropped, separated by single commas, without spaces
 * around members and without a final 0. */
struct tracestate {
	size_t len, max;    /* bytes of text: now, and at most with the members of others */
	size_t looked;      /* bytes parsed, at most TRACESTATE_LOOKED_MAX */
	bool ours;          /* a member hone= was found, or none is wanted */
	bool crowded, full; /* long members of others are dropped; all are */
	char text[TRACESTATE_OTHERS_MAX + 1 + TRACESTATE_LONG];
};

/* Makes *t an empty list that keeps at most others_max bytes (up to TRACESTATE_OTHERS_MAX) of the members
 * of others, and the first hone= if ours_wanted. */
void tracestate_init(struct tracestate *t, size_t others_max, bool ours_wanted);

/* Appends the members of a line. Of all lines together TRACESTATE_LOOKED_MAX bytes are parsed; members
 * that end after them are dropped, hone= too. At most two passes over the bytes. */
void tracestate_add(struct tracestate *t, const char *line, size_t len);

#endif
