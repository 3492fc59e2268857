/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "formats/json_put.h"

#include <stdlib.h>

/* Length of the UTF-8 character at s, by RFC 3629; 0: there is none. */
static size_t
character(const unsigned char *s, size_t left)
{
	size_t n = s[0] < 0x80                   ? 1
	           : s[0] >= 0xc2 && s[0] < 0xe0 ? 2
	           : s[0] >= 0xe0 && s[0] < 0xf0 ? 3
	           : s[0] >= 0xf0 && s[0] < 0xf5 ? 4
	                                         : 0;

	if (n == 0 || n > left)
		return 0;
	for (size_t i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return n;
}

void
json_put_characters(FILE *to, const char *s, size_t len)
{
	for (size_t i = 0, n; i < len; i += n) {
		unsigned char c = (unsigned char)s[i];

		n = character((const unsigned char *)s + i, len - i);
		if (n == 0) {
			fputs("\xef\xbf\xbd", to);
			n = 1;
		} else if (c == '"' || c == '\\') {
			fprintf(to, "\\%c", c);
		} else if (c < 0x20 || c == 0x7f) {
			fprintf(to, "\\u%04x", c);
		} else {
			fwrite(s + i, 1, n, to);
		}
	}
}

void
json_put_text(FILE *to, const char *s, size_t len)
{
	putc('"', to);
	json_put_characters(to, s, len);
	putc('"', to);
}

void
json_put_real(FILE *to, double x)
{
	char text[40];

	for (int digits = 15; digits <= 17; digits++) {
		snprintf(text, sizeof text, "%.*g", digits, x);
		if (strtod(text, NULL) == x)
			break;
	}
	fputs(text, to);
}
