/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For programs: the answer as it came. */
#include "cli/output.h"

static void
print_answer(struct pen *p, const json_t *answer)
{
	json_dumpf(answer, p->out, JSON_INDENT(2) | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(15));
	fputc('\n', p->out);
}

static void
print_verdict(struct pen *p, const json_t *answer, const json_t *after)
{
	(void)after;
	print_answer(p, answer);
}

const struct output output_json = { print_answer, print_answer, print_answer, print_answer, print_answer, print_answer,
	print_answer, print_answer, print_verdict };
