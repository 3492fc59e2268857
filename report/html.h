/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For HTML pages: files that are embedded, and escaping of untrusted text. */
#ifndef REPORT_HTML_H
#define REPORT_HTML_H

#include "base/buf.h"

/* Embeds the file as bytes from name to name_end. The compiler does not report the dependency on the
 * file; the Makefile states it. */
#define EMBED(name, file)                                                        \
	__asm__(".pushsection .rodata\n" #name ":\n.incbin \"" file "\"\n" #name \
		"_end:\n.popsection");                                           \
	extern const char name[] __attribute__((visibility("hidden")));          \
	extern const char name##_end[] __attribute__((visibility("hidden")))

/* Appends HTML unchanged. */
void html_put(struct buf *out, const char *s);
/* Appends text escaped for HTML, also inside quotes. Characters that HTML forbids become "?". */
void html_text(struct buf *out, const char *s, size_t len);
/* Appends a file without indentation, empty lines and the line of its licence, which saves bytes. */
void html_lines(struct buf *out, const char *at, const char *end);

#endif
