/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a request is called: the address that it was sent to, and of HTTP/1 the method and the path. Pure. */
#ifndef KERNEL_REQUESTS_REQUEST_NAME_H
#define KERNEL_REQUESTS_REQUEST_NAME_H

#include "kernel/event.h"

enum { REQUEST_NAME_MAX = 256 };

/* Whether a message that begins like this is a request, or a response, of HTTP/1 (RFC 9112, 3 and 4). */
bool http_begins_request(const char *text);
bool http_begins_response(const char *text);

/* "10.0.0.2:80", or "10.0.0.2:80 GET /cart/{id}" if the text begins a request of HTTP/1: without the query; in the path a part that is
 * a number, an UUID, or a hexadecimal number of at least 8 digits is {id}, and at most 8 parts are named. Bytes that are not printable
 * are ?. Terminated; longer names are cut. O(length). */
void request_name(char ret[REQUEST_NAME_MAX], const struct kernel_end *server, const char *text);

#endif
