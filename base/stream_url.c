/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The URLs that streams and listening sockets take. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#include "base/stream_inside.h"

static const char IPC[] = "ipc://", TCP[] = "tcp://", TLS[] = "tls://";

int
url_check(const char *url, struct err *e)
{
	if (url_is_local(url)) {
		const char *path = url + strlen(IPC);

		if (path[0] != '/' || strlen(path) >= sizeof((struct sockaddr_un *)NULL)->sun_path)
			return err_set(e, ERR_INPUT,
			    "%s: the path must begin with / and have under %zu bytes", url,
			    sizeof((struct sockaddr_un *)NULL)->sun_path);
		return 0;
	}
	if (strncmp(url, TCP, strlen(TCP)) == 0 || url_is_tls(url)) {
		const char *port = strrchr(url + strlen(TCP), ':');

		if (port == NULL || port[1] == 0 || port[1 + strspn(port + 1, "0123456789")] != 0 ||
		    strlen(port) > 6 || atoi(port + 1) > UINT16_MAX)
			return err_set(e, ERR_INPUT,
			    "%s: the port is missing or not a number: %.6shost:port", url, url);
		return 0;
	}
	return err_set(e, ERR_INPUT, "%s: want ipc:///path or tls://host:port", url);
}

char *
url_host(const char *url)
{
	const char *host = strstr(url, "://") + 3, *end = strrchr(host, ':');

	if (host[0] == '[' && end > host && end[-1] == ']')
		return strndup(host + 1, (size_t)(end - host) - 2);
	return strndup(host, (size_t)(end - host));
}

bool
url_is_local(const char *url)
{
	return strncmp(url, IPC, strlen(IPC)) == 0;
}

bool
url_is_tls(const char *url)
{
	return strncmp(url, TLS, strlen(TLS)) == 0;
}
