/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/mistake_text.h"

#include <string.h>

static const struct mistake_words {
	const char *word, *text, *advice, *spans;
} MISTAKES[] = {
#define MISTAKE(name, word, text, advice, spans) { word, text, advice, spans },
#include "analysis/mistakes.tbl.h"
#undef MISTAKE
};

static const char *
member(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s != NULL ? s : "";
}

static const struct mistake_words *
words_of(const json_t *m)
{
	static const struct mistake_words unknown = { "", "mistakes at {}", "", "" };

	for (size_t i = 0; i < sizeof MISTAKES / sizeof MISTAKES[0]; i++)
		if (strcmp(MISTAKES[i].word, member(m, "kind")) == 0)
			return &MISTAKES[i];
	return &unknown;
}

void
mistake_text_put(struct buf *out, const json_t *m)
{
	const char *to = member(m, "to")[0] != '\0' ? member(m, "to") : member(m, "to_service"),
		   *text = words_of(m)->text, *mark;

	buf_printf(out, "%.0f of %.0f ", json_number_value(json_object_get(m, "count")),
	    json_number_value(json_object_get(m, "of")));
	for (; (mark = strchr(text, '{')) != NULL; text = strchr(mark, '}') + 1) {
		bool is_to = strncmp(mark, "{to}", 4) == 0;

		buf_printf(out, "%.*s%s", (int)(mark - text), text,
		    !is_to          ? member(m, "at")
		    : to[0] != '\0' ? to
				    : "the unit that it is for");
	}
	buf_printf(out, "%s", text);
}

const char *
mistake_advice(const json_t *m, bool spans)
{
	return spans ? words_of(m)->spans : words_of(m)->advice;
}
