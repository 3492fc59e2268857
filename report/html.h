/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What pages of HTML share: files that become part of them, and texts that come from anybody. */
#ifndef REPORT_HTML_H
#define REPORT_HTML_H

#include "base/buf.h"

/* The file becomes bytes of this object, from name to name_end; the Makefile knows that it depends
 * on it, the compiler does not. */
#define EMBED(name, file)                                                        \
	__asm__(".pushsection .rodata\n" #name ":\n.incbin \"" file "\"\n" #name \
		"_end:\n.popsection");                                           \
	extern const char name[] __attribute__((visibility("hidden")));          \
	extern const char name##_end[] __attribute__((visibility("hidden")))

/* HTML as it is. */
void html_put(struct buf *out, const char *s);
/* Text as text of HTML, also inside of quotes. What no page may contain becomes a question mark. */
void html_text(struct buf *out, const char *s, size_t len);
/* A file without its indentation, which nobody reads there. */
void html_lines(struct buf *out, const char *at, const char *end);

#endif
