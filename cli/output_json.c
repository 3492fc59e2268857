/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The JSON printer: prints each answer as honed sent it. */
#define _GNU_SOURCE /* for fwrite_unlocked() */
#include "cli/output.h"

static void
print_answer(struct pen *p, const json_t *answer)
{
	json_dumpf(answer, p->out, JSON_INDENT(2) | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(15));
	fputc('\n', p->out);
}

static int
write_piece(const char *piece, size_t len, void *out)
{
	return fwrite_unlocked(piece, 1, len, out) == len ? 0 : -1;
}

/* An analysis document may have many MiB: one line, and nine digits, which exceeds the precision of
 * the measurements. */
static void
print_document(struct pen *p, const json_t *document)
{
	json_dump_callback(document, write_piece, p->out,
	    JSON_COMPACT | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(9));
	fputc('\n', p->out);
}

static void
print_verdict(struct pen *p, const json_t *answer, const json_t *after)
{
	(void)after;
	print_answer(p, answer);
}

const struct output output_json = { print_answer, print_answer, print_answer, print_answer,
	print_answer, print_answer, print_answer, print_answer, print_verdict, print_document,
	print_answer, print_answer, print_answer, print_answer, print_answer, print_answer,
	print_answer, print_answer, print_answer };
