/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any JSON as a controller's answer, for each of hone's printers: text output contains no terminal
 * control bytes, and output for programs is JSON. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "cli/output.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
must(int ok)
{
	if (!ok)
		abort();
}

static void
print(const struct output *o, unsigned which, struct pen *p, const json_t *a)
{
	void (*const one[])(struct pen *, const json_t *) = { o->status, o->agents, o->tracepoints,
		o->forest, o->started, o->stopped, o->learning, o->learned, o->analysis,
		o->baselines, o->why, o->history, o->diff, o->space, o->space_stats, o->versions,
		o->done };
	unsigned n = sizeof one / sizeof *one;

	if (which % (n + 1) < n)
		one[which % (n + 1)](p, a);
	else
		o->verdict(p, a, a);
}

/* C0 control characters except newline, DEL, and C1 in UTF-8. */
static void
harmless(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];

		must((c >= 0x20 && c != 0x7f) || c == '\n');
		must(c != 0xc2 || i + 1 == len || (unsigned char)text[i + 1] > 0x9f);
	}
}

static void
try(const struct output *o, unsigned which, bool utf8, const json_t *a)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);
	struct pen p;

	pen_open(&p, f);
	p.utf8 = utf8;
	print(o, which, &p, a);
	pen_release(&p);
	fclose(f);
	if (o == &output_text) {
		harmless(text, len);
	} else {
		json_t *again = json_loadb(
		    text, len, JSON_DECODE_ANY | JSON_DISABLE_EOF_CHECK, NULL);

		must(again != NULL || !json_is_object(a));
		json_decref(again);
	}
	free(text);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf page = { 0 }, dot = { 0 };
	json_t *a;

	if (size == 0 || (a = json_loadb((const char *)data + 1, size - 1, JSON_REJECT_DUPLICATES,
			      NULL)) == NULL)
		return 0;
	try(&output_text, data[0] & 0x7f, data[0] & 0x80, a);
	try(&output_json, data[0] & 0x7f, data[0] & 0x80, a);
	if ((data[0] & 0x7f) == 3) {
		forest_page_write(&page, a, NULL);
		dot_forest(&dot, a);
	} else if ((data[0] & 0x7f) == 13) {
		dot_space(&dot, a);
	}
	buf_release(&page);
	buf_release(&dot);
	json_decref(a);
	return 0;
}
