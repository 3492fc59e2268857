/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "text.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void
make_room(struct shop_text *t, size_t more)
{
	if (t->length + more + 1 <= t->room)
		return;
	t->room = (t->length + more + 1) * 2;
	t->at = realloc(t->at, t->room);
	if (!t->at)
		abort();
}

void
text_add(struct shop_text *t, const char *bytes, size_t length)
{
	make_room(t, length);
	memcpy(t->at + t->length, bytes, length);
	t->length += length;
	t->at[t->length] = 0;
}

void
text_adds(struct shop_text *t, const char *string)
{
	text_add(t, string, strlen(string));
}

void
text_addf(struct shop_text *t, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(NULL, 0, format, args);
	va_end(args);
	make_room(t, (size_t)n);
	va_start(args, format);
	vsnprintf(t->at + t->length, (size_t)n + 1, format, args);
	va_end(args);
	t->length += (size_t)n;
}

void
text_reset(struct shop_text *t)
{
	t->length = 0;
	if (t->at)
		t->at[0] = 0;
}

void
text_release(struct shop_text *t)
{
	free(t->at);
	*t = (struct shop_text){ 0 };
}

const char *
text_string(const struct shop_text *t)
{
	return t->at ? t->at : "";
}

static const char *
value_of(const char *name, size_t length, const char *const pairs[])
{
	for (int i = 0; pairs[i]; i += 2)
		if (strlen(pairs[i]) == length && memcmp(pairs[i], name, length) == 0)
			return pairs[i + 1];
	return NULL;
}

int
text_fill(struct shop_text *t, const char *template, const char *const pairs[])
{
	const char *open, *close, *value;
	int replaced = 0;

	while ((open = strchr(template, '{')) && (close = strchr(open, '}'))) {
		text_add(t, template, (size_t)(open - template));
		value = value_of(open + 1, (size_t)(close - open - 1), pairs);
		if (value)
			text_adds(t, value);
		replaced += value != NULL;
		template = close + 1;
	}
	text_adds(t, template);
	return replaced;
}

int
text_fold(char *string)
{
	char *out = string;
	int words = 0, inside = 0;

	for (const char *in = string; *in; in++) {
		if (!isalnum((unsigned char)*in)) {
			inside = 0;
			continue;
		}
		if (!inside && words++)
			*out++ = ' ';
		inside = 1;
		*out++ = (char)tolower((unsigned char)*in);
	}
	*out = 0;
	return words;
}

int
text_split(char *string, char separator, char *fields[], int max)
{
	int n = 0;

	while (string && *string && n < max) {
		fields[n++] = string;
		string = strchr(string, separator);
		if (string)
			*string++ = 0;
	}
	return n;
}

uint64_t
text_hash(const void *bytes, size_t length, int rounds)
{
	const unsigned char *b = bytes;
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (int r = 0; r < rounds * TEXT_STRETCH; r++)
		for (size_t i = 0; i < length; i++)
			h = (h ^ b[i]) * UINT64_C(0x100000001b3);
	return h;
}
