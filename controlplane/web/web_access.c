/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/web/web_access.h"

#include <assert.h>
#include <string.h>

#define S_NS INT64_C(1000000000)

static bool
is_over(const struct web_grant *g, int64_t all_s, int64_t idle_s, struct mono now)
{
	return mono_since_ns(now, g->made) >= all_s * S_NS ||
	       mono_since_ns(now, g->seen) >= idle_s * S_NS;
}

/* All characters are compared, so that the time that it takes says nothing of them. */
static bool
is_token(const struct web_grant *g, const char *token)
{
	unsigned char differ = 0;

	if (g->number == 0 || strlen(token) != WEB_TOKEN - 1)
		return false;
	for (int i = 0; i < WEB_TOKEN - 1; i++)
		differ |= (unsigned char)(g->token[i] ^ token[i]);
	return differ == 0;
}

static void
grant_fill(struct web_grant *g, struct web_access *a, int uid, const uint8_t random[WEB_RANDOM],
    struct mono now)
{
	static const char hex[] = "0123456789abcdef";

	*g = (struct web_grant){ .number = ++a->made, .uid = uid, .made = now, .seen = now };
	for (int i = 0; i < WEB_RANDOM; i++) {
		g->token[2 * i] = hex[random[i] >> 4];
		g->token[2 * i + 1] = hex[random[i] & 15];
	}
}

/* The grant at index i of an array of structs of `size` bytes that begin with a grant. */
static struct web_grant *
grant_at(void *all, size_t size, int i)
{
	return (struct web_grant *)((char *)all + size * (size_t)i);
}

/*
 * Where a further grant of the user goes:
 *	1. the place of the user's oldest one, if the user has WEB_PER_USER_MAX
 *	2. else a free place
 *	3. else the place of the oldest one of all
 */
static struct web_grant *
grant_place(void *all, size_t size, int n, int uid)
{
	struct web_grant *free = NULL, *oldest = NULL, *own = NULL;
	int count = 0;

	for (int i = 0; i < n; i++) {
		struct web_grant *g = grant_at(all, size, i);

		if (g->number == 0) {
			free = g;
			continue;
		}
		if (oldest == NULL || g->number < oldest->number)
			oldest = g;
		if (g->uid != uid)
			continue;
		count++;
		if (own == NULL || g->number < own->number)
			own = g;
	}
	return count >= WEB_PER_USER_MAX ? own : free != NULL ? free : oldest;
}

const char *
web_link_make(struct web_access *a, int uid, const uint8_t random[WEB_RANDOM], struct mono now)
{
	struct web_grant *g;

	web_access_expire(a, now);
	g = grant_place(a->links, sizeof a->links[0], WEB_LINKS_MAX, uid);
	grant_fill(g, a, uid, random, now);
	return g->token;
}

bool
web_link_waits(const struct web_access *a, struct mono now)
{
	for (int i = 0; i < WEB_LINKS_MAX; i++)
		if (a->links[i].number != 0 && !is_over(&a->links[i], WEB_LINK_S, WEB_LINK_S, now))
			return true;
	return false;
}

struct web_session *
web_link_take(struct web_access *a, const char *token, const uint8_t random[WEB_RANDOM],
    double per_s, struct mono now)
{
	struct web_grant *link = NULL;
	struct web_session *s;
	int uid;

	web_access_expire(a, now);
	for (int i = 0; i < WEB_LINKS_MAX; i++)
		if (is_token(&a->links[i], token))
			link = &a->links[i];
	if (link == NULL)
		return NULL;
	uid = link->uid;
	*link = (struct web_grant){ 0 };
	s = (struct web_session *)grant_place(
	    a->sessions, sizeof a->sessions[0], WEB_SESSIONS_MAX, uid);
	*s = (struct web_session){ 0 };
	grant_fill(&s->grant, a, uid, random, now);
	bucket_init(&s->pace, per_s, 2 * per_s, now);
	return s;
}

struct web_session *
web_session_of(struct web_access *a, const char *token, struct mono now)
{
	struct web_session *found = NULL;

	for (int i = 0; i < WEB_SESSIONS_MAX; i++)
		if (is_token(&a->sessions[i].grant, token))
			found = &a->sessions[i];
	if (found == NULL || is_over(&found->grant, WEB_SESSION_S, WEB_IDLE_S, now))
		return NULL;
	found->grant.seen = now;
	return found;
}

struct web_session *
web_session_numbered(struct web_access *a, uint64_t number)
{
	assert(number != 0);
	for (int i = 0; i < WEB_SESSIONS_MAX; i++)
		if (a->sessions[i].grant.number == number)
			return &a->sessions[i];
	return NULL;
}

struct bucket *
web_pace_of(struct web_access *a, struct web_session *s)
{
	struct web_session *first = s;

	for (int i = 0; i < WEB_SESSIONS_MAX; i++) {
		struct web_session *x = &a->sessions[i];

		if (x->grant.number != 0 && x->grant.uid == s->grant.uid &&
		    x->grant.number < first->grant.number)
			first = x;
	}
	return &first->pace;
}

void
web_session_end(struct web_session *s)
{
	*s = (struct web_session){ 0 };
}

bool
web_access_expire(struct web_access *a, struct mono now)
{
	bool empty = true;

	for (int i = 0; i < WEB_LINKS_MAX; i++) {
		struct web_grant *g = &a->links[i];

		if (g->number != 0 && is_over(g, WEB_LINK_S, WEB_LINK_S, now))
			*g = (struct web_grant){ 0 };
		empty = empty && g->number == 0;
	}
	for (int i = 0; i < WEB_SESSIONS_MAX; i++) {
		struct web_session *s = &a->sessions[i];

		if (s->streams > 0)
			s->grant.seen = now;
		if (s->grant.number != 0 && is_over(&s->grant, WEB_SESSION_S, WEB_IDLE_S, now))
			web_session_end(s);
		empty = empty && s->grant.number == 0;
	}
	return empty;
}
