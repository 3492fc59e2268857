/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Who may see the live page. hone web asks for a link; the browser that opens it gets a session, whose token is in a cookie:
 *
 *	hone web --> link (once, 60 s) --> session (12 h; 1 h without a request or an open stream)
 *
 * A session keeps the user, not a role: what the user may do is looked up for each request. Pure: time and random bytes come as
 * arguments. All zeroes is empty; not thread-safe.
 */
#ifndef CONTROLPLANE_WEB_WEB_ACCESS_H
#define CONTROLPLANE_WEB_WEB_ACCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "controlplane/server/bucket.h"

enum {
	WEB_LINK_S = 60,
	WEB_SESSION_S = 12 * 3600,
	WEB_IDLE_S = 3600,
	WEB_LINKS_MAX = 64,
	WEB_SESSIONS_MAX = 64,
	WEB_PER_USER_MAX = 8, /* links, and sessions; another one replaces the user's oldest */
	WEB_RANDOM = 16,      /* bytes of a token */
	WEB_TOKEN = 2 * WEB_RANDOM + 1,
};

struct web_grant { /* a link or a session; number 0: unused */
	uint64_t number;
	int uid;
	struct mono made, seen;
	char token[WEB_TOKEN]; /* hex digits */
};

struct web_session {
	struct web_grant grant;
	struct bucket pace;   /* of its questions */
	unsigned int streams; /* that are open */
};

struct web_access {
	struct web_grant links[WEB_LINKS_MAX];
	struct web_session sessions[WEB_SESSIONS_MAX];
	uint64_t made; /* grants so far */
};

/* A new link of this user; its token is valid until the next call. Where all are in use, the oldest ends. O(WEB_LINKS_MAX). */
const char *web_link_make(
    struct web_access *a, int uid, const uint8_t random[WEB_RANDOM], struct mono now);
/* Whether there is a link that was not used yet and is not too old. O(WEB_LINKS_MAX). */
bool web_link_waits(const struct web_access *a, struct mono now);
/* Ends the link and begins a session of its user; NULL: there is no such link, it was used, or it is older than WEB_LINK_S. per_s: questions
 * that the session may ask each second, twice as many at once. The session is valid until it ends. */
struct web_session *web_link_take(struct web_access *a, const char *token,
    const uint8_t random[WEB_RANDOM], double per_s, struct mono now);
/* The session with this token, which counts as seen now; NULL: there is none, or it has ended. O(WEB_SESSIONS_MAX), in a time that does not tell
 * how much of a token is right. */
struct web_session *web_session_of(struct web_access *a, const char *token, struct mono now);
/* The session with this number; NULL: it has ended. */
struct web_session *web_session_numbered(struct web_access *a, uint64_t number);
/* The pace of all questions of the session's user: that of its oldest session. O(WEB_SESSIONS_MAX). */
struct bucket *web_pace_of(struct web_access *a, struct web_session *s);
void web_session_end(struct web_session *s);
/* Ends what is too old. True: there is neither a link nor a session. To be called now and then. */
bool web_access_expire(struct web_access *a, struct mono now);

#endif
