/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "formats/json_put.h"

#include <stdlib.h>

#include "base/utf8.h"

void
json_put_characters(FILE *to, const char *s, size_t len)
{
	for (size_t i = 0, n; i < len; i += n) {
		unsigned char c = (unsigned char)s[i];

		n = utf8_character((const unsigned char *)s + i, len - i);
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
