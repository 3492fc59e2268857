/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "forest/verdict.h"

#include <stdlib.h>
#include <string.h>

#include "forest/hypothesis.h"

static const char *const words[] = {
#define VERDICT(name, number, word, help) [number] = word,
#include "forest/verdicts.tbl.h"
#undef VERDICT
};

const char *
verdict_word(enum verdict_kind k)
{
	return (unsigned)k < sizeof words / sizeof words[0] ? words[k] : "?";
}

bool
verdict_sure(const struct verdict *v)
{
	return v->share_low > 0;
}

bool
verdict_copy(struct verdict *to, const struct verdict *from)
{
	*to = *from;
	to->from = to->to = to->path = to->tracepoint = to->words = to->key = NULL;
	if (hypothesis_text(&to->from, from->from) && hypothesis_text(&to->to, from->to) &&
	    hypothesis_text(&to->path, from->path) &&
	    hypothesis_text(&to->tracepoint, from->tracepoint) &&
	    hypothesis_text(&to->words, from->words) && hypothesis_text(&to->key, from->key))
		return true;
	verdict_release(to);
	return false;
}

void
verdict_release(struct verdict *v)
{
	free(v->from);
	free(v->to);
	free(v->path);
	free(v->tracepoint);
	free(v->words);
	free(v->key);
	memset(v, 0, sizeof *v);
}
