/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernel/requests/request_name.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { PARTS_MAX = 8, HEX_ID_MIN = 8 };

/* The length of the method, if a request of HTTP/1 begins with it; 0. */
static size_t
method_len(const char *text)
{
	static const char *const methods[] = { "GET ", "HEAD ", "POST ", "PUT ", "DELETE ",
		"PATCH ", "OPTIONS ", "CONNECT ", "TRACE " };

	for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
		if (strncmp(text, methods[i], strlen(methods[i])) == 0)
			return strlen(methods[i]) - 1;
	return 0;
}

bool
http_begins_request(const char *text)
{
	return method_len(text) > 0;
}

bool
http_begins_response(const char *text)
{
	return strncmp(text, "HTTP/", 5) == 0;
}

/* Whether a part of a path is an id: see the header. A dash counts only in the form of an UUID, 8-4-4-4-12. */
static bool
is_id(const char *part, size_t len)
{
	bool digits = len > 0, hex = len > 0, has_digit = false;

	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)part[i];
		bool dash = c == '-' && len == 36 && (i == 8 || i == 13 || i == 18 || i == 23);

		digits &= isdigit(c) != 0;
		hex &= isxdigit(c) != 0 || dash;
		has_digit |= isdigit(c) != 0;
	}
	return digits || (hex && has_digit && len >= HEX_ID_MIN);
}

struct name_writer {
	char *to;
	size_t len;
};

static void
put(struct name_writer *w, const char *s, size_t len)
{
	for (size_t i = 0; i < len && w->len < REQUEST_NAME_MAX - 1; i++)
		w->to[w->len++] = s[i] > ' ' && s[i] < 0x7f ? s[i] : '?';
}

static void
put_path(struct name_writer *w, const char *path)
{
	size_t len = strcspn(path, "? #\r\n");
	int parts = 0;

	for (size_t at = 0; at < len; parts++) {
		size_t part;

		if (path[at] == '/') {
			put(w, "/", 1);
			at++;
		}
		part = strcspn(path + at, "/? #\r\n");
		if (parts == PARTS_MAX) {
			put(w, "...", 3);
			return;
		}
		if (is_id(path + at, part))
			put(w, "{id}", 4);
		else
			put(w, path + at, part);
		at += part;
	}
}

void
request_name(char ret[REQUEST_NAME_MAX], const struct kernel_end *server, const char *text)
{
	struct name_writer w = { ret, 0 };
	size_t method = method_len(text);
	char end[KERNEL_END_TEXT_MAX];

	kernel_end_text(server, end);
	put(&w, end, strlen(end));
	if (method > 0) {
		w.to[w.len++] = ' ';
		put(&w, text, method);
		w.to[w.len++] = ' ';
		put_path(&w, text + method + strspn(text + method, " "));
	}
	w.to[w.len] = '\0';
}
