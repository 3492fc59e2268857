/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a client of metrics asks for, by its headers. Pure. */
#ifndef CONTROLPLANE_METRICS_METRICS_REQUEST_H
#define CONTROLPLANE_METRICS_METRICS_REQUEST_H

#include <stdbool.h>

enum metrics_form {
	METRICS_TEXT,        /* Prometheus' text format 0.0.4 */
	METRICS_OPENMETRICS, /* OpenMetrics 1.0.0: the same with exemplars */
};

/* The form that a client prefers, by its header Accept (NULL: none was sent). O(length). */
enum metrics_form metrics_form_of(const char *accept);
const char *metrics_content_type(enum metrics_form form);

/* Whether a header Host names this machine itself: localhost, 127.x.x.x or [::1], with or without a port. NULL does. A page of
 * another site that a browser was led to reach us by (DNS rebinding) has that site's name. O(length). */
bool metrics_host_is_local(const char *host);

#endif
