/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/search/port.h"

#include <stdio.h>

const char *
tracepoint_name(const struct labels *labels, uint32_t label, char out[LABEL_TEXT_MAX + 1])
{
	const struct label *l = labels_get(labels, label);

	snprintf(out, LABEL_TEXT_MAX + 1, "%.*s", (int)l->event_len, l->event);
	return out;
}
