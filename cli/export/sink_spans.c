/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Spans of OTLP, Zipkin and Jaeger. */
#include <stdlib.h>

#include "cli/export/sink.h"
#include "formats/span_writer.h"

struct span_sink {
	struct export_sink sink;
	struct span_writer *writer;
};

static int
put(struct export_sink *s, const struct exported *x, struct err *e)
{
	struct span_sink *own = (struct span_sink *)s;
	int rc = 0;

	for (uint32_t i = 0; i < x->n && rc == 0; i++)
		rc = span_writer_put(own->writer, &x->units[i].span, e);
	return rc;
}

static int
close_spans(struct export_sink *s, struct err *e)
{
	struct span_sink *own = (struct span_sink *)s;
	int rc = span_writer_close(own->writer, e);

	free(own);
	return rc;
}

static int
open_spans(struct export_sink **ret, const char *format, FILE *to, struct err *e)
{
	struct span_sink *own = calloc(1, sizeof *own);
	int rc;

	if (own == NULL)
		return err_set(e, ERR_MEMORY, "out of memory");
	own->sink = (struct export_sink){ put, close_spans };
	if ((rc = span_writer_open(&own->writer, format, to, e)) != 0) {
		free(own);
		return rc;
	}
	*ret = &own->sink;
	return 0;
}

int
sink_open_spans_otlp(struct export_sink **ret, FILE *to, struct err *e)
{
	return open_spans(ret, "otlp", to, e);
}

int
sink_open_spans_zipkin(struct export_sink **ret, FILE *to, struct err *e)
{
	return open_spans(ret, "zipkin", to, e);
}

int
sink_open_spans_jaeger(struct export_sink **ret, FILE *to, struct err *e)
{
	return open_spans(ret, "jaeger", to, e);
}
