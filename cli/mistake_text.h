/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A mistake of the instrumentation as text, from its fields (docs/questions.md, "check"). */
#ifndef CLI_MISTAKE_TEXT_H
#define CLI_MISTAKE_TEXT_H

#include <jansson.h>
#include <stdbool.h>

#include "base/buf.h"

/* Appends "5 of 7 forks LABEL are joined, but ...". */
void mistake_text_put(struct buf *out, const json_t *m);
/* What to do about it, by those who instrument with libhone, or with a tracer of spans; "" for a kind of a
 * newer honed. */
const char *mistake_advice(const json_t *m, bool spans);

#endif
