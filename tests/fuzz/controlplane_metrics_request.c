/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The headers Accept and Host, and label values: any bytes. A line of a label is one line, and valid UTF-8 if its escapes are taken
 * away. */
#include <stdlib.h>
#include <string.h>

#include "controlplane/metrics/metrics_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	const struct metric_label l = { "l", (const char *)data, len };
	struct buf b = { 0 };
	struct metric_lines m = { .out = &b, .form = METRICS_OPENMETRICS };
	char *text = malloc(len + 1);

	if (text == NULL)
		return 0;
	memcpy(text, data, len);
	text[len] = '\0';
	metrics_form_of(text);
	if (metrics_host_is_local(text) && len == 0)
		abort();
	metric_begin(&m, "m", METRIC_GAUGE, "H.");
	buf_reset(&b);
	metric_put(&m, "", &l, 1, 1);
	if (b.failed || b.len < 9 || memchr(b.data, '\n', b.len) != &b.data[b.len - 1] ||
	    b.len > 10 + 3 * len)
		abort();
	buf_release(&b);
	free(text);
	return 0;
}
