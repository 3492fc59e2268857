/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/metrics/metrics_text.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/utf8.h"

static const char *
kind_word(enum metric_kind kind)
{
	return kind == METRIC_GAUGE ? "gauge" : kind == METRIC_COUNTER ? "counter" : "histogram";
}

/* In 0.0.4 a counter's family has the name of its lines. */
static const char *
family_suffix(const struct metric_lines *m)
{
	return m->kind == METRIC_COUNTER && m->form == METRICS_TEXT ? "_total" : "";
}

void
metric_begin(struct metric_lines *m, const char *name, enum metric_kind kind, const char *help)
{
	m->name = name;
	m->kind = kind;
	buf_printf(m->out, "# HELP %s%s %s\n", name, family_suffix(m), help);
	buf_printf(m->out, "# TYPE %s%s %s\n", name, family_suffix(m), kind_word(kind));
}

/* Bytes that are no UTF-8 become U+FFFD: one such byte would make the whole page unreadable. */
static void
put_value(struct buf *out, const char *s, size_t len)
{
	for (size_t i = 0, n; i < len; i += n) {
		n = utf8_character((const unsigned char *)&s[i], len - i);
		if (s[i] == '\n')
			buf_bytes(out, "\\n", 2);
		else if (n == 0)
			buf_bytes(out, "\xef\xbf\xbd", 3);
		else {
			if (s[i] == '"' || s[i] == '\\')
				buf_bytes(out, "\\", 1);
			buf_bytes(out, &s[i], n);
		}
		n = n == 0 ? 1 : n;
	}
}

static void
put_number(struct buf *out, double v)
{
	if (isinf(v))
		buf_printf(out, "%sInf", v > 0 ? "+" : "-");
	else if (v == floor(v) && fabs(v) < 9007199254740992.0)
		buf_printf(out, "%" PRId64, (int64_t)v);
	else
		buf_printf(out, "%.10g", v);
}

void
metric_put(struct metric_lines *m, const char *suffix, const struct metric_label *labels,
    uint32_t nlabels, double value)
{
	if (isnan(value))
		return;
	buf_printf(m->out, "%s%s%s", m->name, suffix, m->kind == METRIC_COUNTER ? "_total" : "");
	for (uint32_t i = 0; i < nlabels; i++) {
		buf_printf(m->out, "%s%s=\"", i == 0 ? "{" : ",", labels[i].name);
		put_value(m->out, labels[i].value, labels[i].len);
		buf_bytes(m->out, "\"", 1);
	}
	buf_printf(m->out, "%s ", nlabels > 0 ? "}" : "");
	put_number(m->out, value);
	buf_bytes(m->out, "\n", 1);
}

void
metric_exemplar(struct metric_lines *m, uint64_t id_high, uint64_t id_low, double seconds)
{
	if (m->form != METRICS_OPENMETRICS || m->out->failed || m->out->len == 0)
		return;
	m->out->len--; /* the end of the bucket's line */
	buf_printf(m->out, " # {trace_id=\"%016" PRIx64 "%016" PRIx64 "\"} ", id_high, id_low);
	put_number(m->out, seconds);
	buf_bytes(m->out, "\n", 1);
}

void
metric_end(struct metric_lines *m)
{
	if (m->form == METRICS_OPENMETRICS)
		buf_printf(m->out, "# EOF\n");
}
