/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/web/web_request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { HTTP = 80, PORT_MAX = 65535, MISDIRECTED = 421, FORBIDDEN = 403, UNSUPPORTED = 415 };

/* The port in ":8080", 80 for ""; 0: it is neither. */
static int
port_of(const char *s)
{
	long port;

	if (*s == '\0')
		return HTTP;
	if (*s != ':' || s[1] == '\0' || strlen(s + 1) > 5 ||
	    s[1 + strspn(s + 1, "0123456789")] != '\0')
		return 0;
	port = strtol(s + 1, NULL, 10);
	return port <= PORT_MAX ? (int)port : 0;
}

/* The length of 127.x.x.x at the start of s, each number up to 255; 0: it is not there. */
static size_t
loopback_length(const char *s)
{
	const char *at = s;

	for (int i = 0; i < 4; i++) {
		size_t digits = strspn(at, "0123456789");

		if (digits == 0 || digits > 3 || atoi(at) > 255 || (i == 0 && atoi(at) != 127))
			return 0;
		at += digits;
		if (i < 3 && *at++ != '.')
			return 0;
	}
	return (size_t)(at - s);
}

int
web_host_port(const char *host)
{
	size_t n;

	if (host == NULL)
		return 0;
	if (strncasecmp(host, "localhost", 9) == 0)
		return port_of(host + 9);
	if (strncmp(host, "[::1]", 5) == 0)
		return port_of(host + 5);
	n = loopback_length(host);
	return n > 0 ? port_of(host + n) : 0;
}

static bool
is_own_origin(const struct web_headers *h)
{
	static const char scheme[] = "http://";
	size_t n = sizeof scheme - 1;

	return strncmp(h->origin, scheme, n) == 0 && strcasecmp(h->origin + n, h->host) == 0;
}

static bool
is_json(const char *type)
{
	static const char json[] = "application/json";
	size_t n = sizeof json - 1;

	return type != NULL && strncasecmp(type, json, n) == 0 &&
	       (type[n] == '\0' || type[n] == ';' || type[n] == ' ');
}

/*
 * 1. the name is ours
 * 2. the origin is ours; a form of another site sends one, a link does not
 * 3. what a browser says of where the request comes from: "cross-site" and "same-site" (another port of this machine) only to open the page
 * 4. what changes something is JSON, which no form can send
 */
int
web_refusal(const struct web_headers *h, enum web_method method, bool open)
{
	/* 1 */
	if (web_host_port(h->host) == 0)
		return MISDIRECTED;
	/* 2 */
	if (h->origin != NULL ? !is_own_origin(h) : method == WEB_POST)
		return FORBIDDEN;
	/* 3 */
	if (h->fetch_site != NULL && !open && strcmp(h->fetch_site, "same-origin") != 0 &&
	    strcmp(h->fetch_site, "none") != 0)
		return FORBIDDEN;
	/* 4 */
	return method == WEB_POST && !is_json(h->content_type) ? UNSUPPORTED : 0;
}

bool
web_cookie_token(const char *cookie, int port, char token[WEB_TOKEN])
{
	char name[16];
	size_t n = (size_t)snprintf(name, sizeof name, "hone_%d=", port), len;

	for (const char *at = cookie; at != NULL && *at != '\0'; at += strcspn(at, ";")) {
		at += strspn(at, "; ");
		if (strncmp(at, name, n) != 0)
			continue;
		len = strcspn(at + n, "; ");
		if (len != WEB_TOKEN - 1)
			return false;
		memcpy(token, at + n, len);
		token[len] = '\0';
		return true;
	}
	return false;
}

/* Up to 16 hex digits; returns what follows them, or NULL. */
static const char *
read_hex(const char *s, uint64_t *ret)
{
	size_t n = strspn(s, "0123456789abcdef");
	char digits[17] = "";

	if (n == 0 || n > 16)
		return NULL;
	memcpy(digits, s, n);
	*ret = strtoull(digits, NULL, 16);
	return s + n;
}

bool
web_event_id(const char *text, uint64_t *instance, uint64_t *number)
{
	const char *at = text != NULL ? read_hex(text, instance) : NULL;

	if (at == NULL || *at != '.')
		return false;
	at = read_hex(at + 1, number);
	return at != NULL && *at == '\0';
}

/* Whether this part of the list, "gzip;q=0.5", is of the coding, and its weight is not 0. */
static bool
permits(const char *part, size_t len, const char *coding, bool *named)
{
	static const char blanks[] = " \t";
	size_t n = strlen(coding);
	const char *q;

	*named = len >= n && strncasecmp(part, coding, n) == 0 &&
	         (len == n || strchr(" \t;", part[n]) != NULL);
	if (!*named)
		return false;
	if ((q = memchr(part, ';', len)) == NULL)
		return true;
	q += 1 + strspn(q + 1, blanks);
	if (strncasecmp(q, "q=", 2) != 0)
		return true;
	q += 2;
	return q[strspn(q, "0.")] >= '1' && q[strspn(q, "0.")] <= '9';
}

bool
web_takes_gzip(const char *accepted)
{
	bool any = false, named;

	for (const char *at = accepted; at != NULL && *at != '\0';) {
		size_t len;

		at += strspn(at, " \t,");
		len = strcspn(at, ",");
		if (permits(at, len, "gzip", &named) || named)
			return permits(at, len, "gzip", &named);
		any = any || permits(at, len, "*", &named);
		at += len;
	}
	return any;
}
