/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/html.h"

#include <string.h>

void
html_put(struct buf *out, const char *s)
{
	buf_bytes(out, s, strlen(s));
}

void
html_text(struct buf *out, const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)s[i];

		if (c == '<' || c == '>' || c == '&' || c == '"' || c == '\'')
			buf_printf(out, "&#%d;", c);
		else
			buf_u8(out, (c < ' ' && c != '\n' && c != '\t') || c == 0x7f ? '?' : c);
	}
}

static bool
begins_with(const char *at, const char *end, const char *what)
{
	size_t len = strlen(what);

	return (size_t)(end - at) >= len && memcmp(at, what, len) == 0;
}

void
html_lines(struct buf *out, const char *at, const char *end)
{
	while (at < end) {
		const char *line = memchr(at, '\n', (size_t)(end - at)),
			   *next = line != NULL ? line + 1 : end;

		while (at < next - 1 && *at == '\t')
			at++;
		if (*at != '\n' && !begins_with(at, next, "/* SPDX-"))
			buf_bytes(out, at, (size_t)(next - at));
		at = next;
	}
}
