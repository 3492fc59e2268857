/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any sequence of a tracer's events makes traces, or is refused; each resulting trace has its begin
 * and end. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/correlate.h"
#include "mapping/map.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int
take(void *ctx, struct trace *t, struct err *e)
{
	(void)ctx;
	(void)e;
	if (t->end_ns < t->begin_ns || t->nevents < 2 || t->root >= t->nunits)
		abort();
	trace_free(t);
	return 0;
}

static void
one_event(struct reading *r, struct correlate *c, const uint8_t *d)
{
	static const char *const names[] = { "a:begin", "a:end", "a:x", "hone:request_begin",
		"hone:request_end", "hone:fork", "hone:unit_begin", "hone:unit_end", "hone:join",
		"", "b:\n/(", "a:begin" };
	static const char *const fields[] = { "name", "link_id", "size" };
	struct value values[] = { { .type = d[3] % 5, .len = d[4] % 8, .text = "12345678" },
		{ .type = d[5] & 1 ? VALUE_UINT : VALUE_REAL, .u = d[6] % 8 },
		{ .type = VALUE_INT, .i = d[7] } };
	struct tracer_event v = { .time_ns = (int64_t)d[0] << (d[1] % 60),
		.node = reading_node(r, (const char *)&d[2], 1),
		.pid = d[2] % 3,
		.tid = d[3] % 4,
		.has_tid = d[3] & 16,
		.has_context = d[3] & 32,
		.trace_id = d[4] % 4,
		.unit_id = d[5] % 5,
		.service = { (const char *)d, d[6] % 8 },
		.nfields = d[7] % 4,
		.fields = fields,
		.values = values };
	struct err e;

	if (values[0].type != VALUE_TEXT)
		values[0].u = d[4];
	v.name.s = names[d[1] % 12];
	v.name.len = (uint32_t)strlen(v.name.s);
	if (d[0] == 255)
		correlate_loss(c, v.node, d[1], d[2], v.time_ns, &e);
	else
		correlate_event(c, &v, &e);
}

static const struct mapping *
map(void)
{
	static const char text[] =
	    "[program]\nservice = *\n[request r]\nbegin = a:begin\nend = a:end\ncorrelate = thread\n"
	    "[request f]\nbegin = b:*\nbegin_id = link_id\nend = a:x\nend_id = size\nstep = a:x name -> link_id\n"
	    "correlate = field\ntype_field = name\n";
	static struct mapping *m;
	char path[] = "/tmp/fuzz_correlate.XXXXXX";
	int fd;

	if (m != NULL)
		return m;
	fd = mkstemp(path);
	if (fd < 0 || write(fd, text, sizeof text - 1) < 0 || map_load(&m, path, NULL) != 0)
		abort();
	close(fd);
	unlink(path);
	return m;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct reading_options o = { .take = take,
		.memory_max_bytes = 1 << 16,
		.map = size > 0 && data[0] & 64 ? map() : NULL };
	struct labels *labels = labels_new();
	struct correlate *c = NULL;
	struct reading *r;
	char rule[64];
	struct err e;

	if (size < 1 || reading_new(&r, &o, labels, &e) != 0)
		goto out;
	snprintf(rule, sizeof rule, "thread=%.*s..a:end", (int)(data[0] % 8), "a:begin");
	if (correlate_new(&c, r, data[0] & 128 ? rule : NULL, &e) == 0) {
		for (size_t i = 1; i + 8 <= size; i += 8)
			one_event(r, c, data + i);
		correlate_end(c, &e);
		correlate_free(c);
	}
	reading_free(r);
out:
	labels_free(labels);
	return 0;
}
