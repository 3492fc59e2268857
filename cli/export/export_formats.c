/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/export/export_formats.h"

#include <string.h>

const struct export_format export_formats[] = {
	{ "otlp", sink_open_spans_otlp },
	{ "zipkin", sink_open_spans_zipkin },
	{ "jaeger", sink_open_spans_jaeger },
	{ "chrome", sink_open_chrome },
	{ "folded", sink_open_folded },
	{ "pprof", sink_open_pprof },
	{ NULL, NULL },
};

const struct export_format *
export_format(const char *name)
{
	for (const struct export_format *f = export_formats; f->name != NULL; f++)
		if (strcmp(f->name, name) == 0)
			return f;
	return NULL;
}
