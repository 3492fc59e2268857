/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/listen_address.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A port of 1 to 5 digits; 0: the kernel chooses. Negative: it is none. */
static long
port_of(const char *s)
{
	size_t len = strlen(s);
	long port;

	if (len == 0 || len > 5 || strspn(s, "0123456789") != len)
		return -1;
	port = strtol(s, NULL, 10);
	return port <= 65535 ? port : -1;
}

bool
listen_address_read(struct listen_address *ret, const char *text)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)&ret->place;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&ret->place;
	const char *colon = strrchr(text, ':');
	char host[INET6_ADDRSTRLEN + 2];
	size_t len = colon != NULL ? (size_t)(colon - text) : 0;
	long port = colon != NULL ? port_of(colon + 1) : -1;

	*ret = (struct listen_address){ .host_len = (int)len };
	if (port < 0 || len == 0 || len >= sizeof host)
		return false;
	memcpy(host, text, len);
	host[len] = '\0';
	if (inet_pton(AF_INET, host, &v4->sin_addr) == 1) {
		v4->sin_family = AF_INET;
		v4->sin_port = htons((uint16_t)port);
		ret->local = ntohl(v4->sin_addr.s_addr) >> 24 == 127;
		return true;
	}
	if (host[0] != '[' || host[len - 1] != ']')
		return false;
	host[len - 1] = '\0';
	if (inet_pton(AF_INET6, host + 1, &v6->sin6_addr) != 1)
		return false;
	v6->sin6_family = AF_INET6;
	v6->sin6_port = htons((uint16_t)port);
	ret->local = IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
	return true;
}
