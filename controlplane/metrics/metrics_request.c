/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/metrics/metrics_request.h"

#include <string.h>
#include <strings.h>

static const char OPENMETRICS[] = "application/openmetrics-text";

/* Whether an item of the list, up to its comma, is OpenMetrics of version 1.0.0, or of any, and is wanted (no q=0). */
static bool
is_openmetrics(const char *item, size_t len)
{
	size_t name = sizeof OPENMETRICS - 1;
	const char *version = "version=", *at;

	if (len < name || strncasecmp(item, OPENMETRICS, name) != 0)
		return false;
	item += name;
	len -= name;
	if (len > 0 && *item != ';' && *item != ' ')
		return false;
	for (at = item; at + strlen(version) <= item + len; at++)
		if (strncasecmp(at, version, strlen(version)) == 0)
			return (size_t)(item + len - at) >= strlen(version) + 2 &&
			       strncmp(at + strlen(version), "1.", 2) == 0;
	return true;
}

enum metrics_form
metrics_form_of(const char *accept)
{
	while (accept != NULL && *accept != '\0') {
		accept += strspn(accept, " \t,");
		if (is_openmetrics(accept, strcspn(accept, ",")))
			return METRICS_OPENMETRICS;
		accept += strcspn(accept, ",");
	}
	return METRICS_TEXT;
}

const char *
metrics_content_type(enum metrics_form form)
{
	return form == METRICS_OPENMETRICS
	           ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
	           : "text/plain; version=0.0.4; charset=utf-8";
}

/* Whether it is the end of a host, or a port follows. */
static bool
is_host_end(const char *s)
{
	return *s == '\0' ||
	       (*s == ':' && s[1] != '\0' && s[1 + strspn(s + 1, "0123456789")] == '\0');
}

bool
metrics_host_is_local(const char *host)
{
	size_t digits;

	if (host == NULL)
		return true;
	if (strncasecmp(host, "localhost", 9) == 0)
		return is_host_end(host + 9);
	if (strncmp(host, "[::1]", 5) == 0)
		return is_host_end(host + 5);
	digits = strspn(host, "0123456789.");
	return strncmp(host, "127.", 4) == 0 && is_host_end(host + digits);
}
