/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "below/stacks/code_place.h"

#include <stdio.h>
#include <string.h>

#include "base/hash.h"

enum { ENTRY_MAX = PLACE_FUNCTION_MAX + PLACE_FILE_MAX + 24 };

static const char *
last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

/* Copies at most max bytes; those that would end an entry or a line of text are replaced. */
static void
copy_clean(char *to, const char *from, size_t max)
{
	size_t n = 0;

	for (; n < max && from[n] != '\0'; n++)
		to[n] = from[n] == ';' || (unsigned char)from[n] < ' ' || from[n] == 0x7f ? '_'
		                                                                          : from[n];
	to[n] = '\0';
}

void
code_function_name(char ret[PLACE_FUNCTION_MAX + 1], const char *symbol)
{
	static const char *const ends[] = { ".isra.", ".part.", ".constprop.", ".cold",
		".lto_priv.", ".llvm.", "@" };

	copy_clean(ret, symbol, PLACE_FUNCTION_MAX);
	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
		char *at = strstr(ret, ends[i]);

		if (at != NULL && at > ret)
			*at = '\0';
	}
}

bool
code_is_library(const char *file_name)
{
	static const char *const begins[] = { "libc.so", "libc-", "ld-linux", "ld-musl", "ld.so",
		"libpthread", "libm.so", "librt.so", "linux-vdso", "[vdso]", "libstdc++.so",
		"libgcc_s.so" };
	const char *name = last_part(file_name);

	for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
		if (strncmp(name, begins[i], strlen(begins[i])) == 0)
			return true;
	return false;
}

static bool
has_line(const struct code_frame *f)
{
	return last_part(f->file)[0] != '\0' && f->line != 0;
}

/* Writes the entries from the innermost to the outermost, from the end of the text to its front, as the innermost are
 * those that must not be lost. */
static void
fold(
    struct code_place *ret, const struct code_frame *frames, size_t n, size_t chosen, size_t caller)
{
	enum { MARK = 4 }; /* "...;" */
	char text[PLACE_FOLDED_MAX + 1], entry[ENTRY_MAX + 1], file[PLACE_FILE_MAX + 1];
	size_t at = sizeof text - 1, i;

	text[at] = '\0';
	for (i = 0; i < n; i++) {
		size_t len;

		copy_clean(entry, frames[i].function, PLACE_FUNCTION_MAX);
		if ((i == chosen || i == caller) && has_line(&frames[i])) {
			copy_clean(file, last_part(frames[i].file), PLACE_FILE_MAX);
			snprintf(entry + strlen(entry), sizeof entry - strlen(entry), "() at %s:%u",
			    file, frames[i].line);
		}
		len = strlen(entry);
		if (at < len + 1 + MARK)
			break;
		if (i > 0)
			text[--at] = ';';
		at -= len;
		memcpy(text + at, entry, len);
	}
	if (i < n || (n > 0 && ret->end != STACK_COMPLETE)) {
		at -= MARK;
		memcpy(text + at, "...;", MARK);
	}
	memcpy(ret->folded, text + at, sizeof text - at);
}

void
code_place_make(struct code_place *ret, const struct code_frame *frames, size_t n,
    uint16_t nunwound, enum stack_end end)
{
	size_t chosen = 0, caller;

	memset(ret, 0, sizeof *ret);
	ret->end = (uint8_t)end;
	ret->frames = nunwound;
	if (n > 0) {
		while (chosen < n && frames[chosen].library)
			chosen++;
		if (chosen == n)
			chosen = 0;
		copy_clean(ret->function, frames[chosen].function, PLACE_FUNCTION_MAX);
		copy_clean(ret->file, last_part(frames[chosen].file), PLACE_FILE_MAX);
		ret->line = ret->file[0] != '\0' ? frames[chosen].line : 0;
		if (chosen > 0)
			copy_clean(ret->call, frames[chosen - 1].function, PLACE_FUNCTION_MAX);
		caller = chosen + 1;
		while (caller < n && (frames[caller].library || !has_line(&frames[caller])))
			caller++;
		fold(ret, frames, n, chosen, caller);
	}
	ret->key = hash_bytes(0, ret, sizeof *ret);
}
