/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Whether a request may be answered, by its headers: a page of another site must neither read nor change anything. Pure.
 *
 *	Host	names this machine itself, else 421: a name of another site that leads here (DNS rebinding) is that site's own origin
 *	Origin	where it is sent, and of each POST, is http:// and that Host, else 403: forged requests of another site
 *	Cookie	hone_PORT is the token of a session, else 401. Cookies do not know ports, so the name does
 */
#ifndef CONTROLPLANE_WEB_WEB_REQUEST_H
#define CONTROLPLANE_WEB_WEB_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "controlplane/web/web_access.h"

struct web_headers { /* NULL: not sent */
	const char *host, *origin, *cookie, *fetch_site, *content_type;
};

enum web_method { WEB_GET, WEB_POST, WEB_OTHER };

/* The status of HTTP with which the request is refused for its headers Host, Origin, Sec-Fetch-Site or Content-Type; 0: it is not. open: a
 * page may be opened by a link of another site. O(length). */
int web_refusal(const struct web_headers *h, enum web_method method, bool open);

/* The port that a Host names, 80 where it names none; 0: it is no name of this machine (localhost, 127.x.x.x or [::1]). O(length). */
int web_host_port(const char *host);
/* Copies the token of the cookie hone_PORT; false: there is none. O(length). */
bool web_cookie_token(const char *cookie, int port, char token[WEB_TOKEN]);

/* Whether an Accept-Encoding (RFC 9110, 12.5.3) permits gzip: names it, or *, not with a weight of 0. NULL: none was sent. O(length). */
bool web_takes_gzip(const char *accepted);

/* Reads a Last-Event-ID, INSTANCE.NUMBER in hex digits. False: it is none. */
bool web_event_id(const char *text, uint64_t *instance, uint64_t *number);

#endif
