/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "forest/reason.h"

#include <stddef.h>
#include <string.h>

static const struct {
	const char *word, *text;
} reasons[] = {
#define REASON(name, number, word, text) [number] = { word, text },
#include "forest/reasons.tbl.h"
#undef REASON
};

enum { REASONS = sizeof reasons / sizeof reasons[0] };

bool
reason_valid(unsigned number)
{
	return number < REASONS && reasons[number].word != NULL;
}

const char *
reason_word(enum reason r)
{
	return reason_valid(r) ? reasons[r].word : "";
}

const char *
reason_text(enum reason r)
{
	return reason_valid(r) ? reasons[r].text : "";
}

enum reason
reason_of_word(const char *word)
{
	for (unsigned i = 1; word != NULL && i < REASONS; i++)
		if (reasons[i].word != NULL && strcmp(reasons[i].word, word) == 0)
			return (enum reason)i;
	return REASON_NONE;
}
