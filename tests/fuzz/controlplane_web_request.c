/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Headers from any bytes: lines are Host, Origin, Cookie, Sec-Fetch-Site, Content-Type, Last-Event-ID. What is let through has a host of
 * this machine, and an origin only where it is that host; a token is 32 characters of the cookie; a token from outside finds no session that it
 * was not given for.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "controlplane/web/web_feed.h"
#include "controlplane/web/web_request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

enum { LINES = 6 };

static void
check_host(const char *host)
{
	if (strncasecmp(host, "localhost", 9) != 0 && strncmp(host, "127.", 4) != 0 &&
	    strncmp(host, "[::1]", 5) != 0)
		abort();
	if (strpbrk(host, "@/ \t#?\\") != NULL)
		abort();
}

static void
check_cookie(const char *cookie)
{
	const uint8_t random[WEB_RANDOM] = { 1, 2, 3 };
	static struct web_access a;
	struct mono now = { 1 };
	char token[WEB_TOKEN];

	a = (struct web_access){ 0 };
	if (web_link_take(&a, web_link_make(&a, 1, random, now), random, 1, now) == NULL)
		abort();
	if (!web_cookie_token(cookie, 9470, token))
		return;
	if (strlen(token) != WEB_TOKEN - 1 || strstr(cookie, token) == NULL ||
	    strpbrk(token, "; ") != NULL)
		abort();
	if ((web_session_of(&a, token, now) != NULL) !=
	    (strcmp(token, "01020300000000000000000000000000") == 0))
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	char *text = malloc(len + 1), *line[LINES] = { NULL };
	struct web_headers h;
	uint64_t instance, number;

	if (text == NULL)
		return 0;
	memcpy(text, data, len);
	text[len] = '\0';
	line[0] = text;
	for (int i = 1; i < LINES && line[i - 1] != NULL; i++)
		if ((line[i] = strchr(line[i - 1], '\n')) != NULL)
			*line[i]++ = '\0';
	h = (struct web_headers){ line[0], line[1], line[2], line[3], line[4] };
	for (int method = WEB_GET; method <= WEB_OTHER; method++)
		for (int open = 0; open < 2; open++) {
			if (web_refusal(&h, (enum web_method)method, open) != 0)
				continue;
			check_host(h.host);
			if (h.origin != NULL &&
			    strcasecmp(h.origin + strlen("http://"), h.host) != 0)
				abort();
			if (h.origin == NULL && method == WEB_POST)
				abort();
		}
	if (h.cookie != NULL)
		check_cookie(h.cookie);
	if (web_event_id(line[5], &instance, &number)) {
		const struct web_feed f = { .instance = instance, .newest = number / 2 };

		if (web_feed_after(&f, instance, number) > f.newest)
			abort();
	}
	free(text);
	return 0;
}
