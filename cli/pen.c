/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/pen.h"

#include <assert.h>
#include <langinfo.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/array.h"

void
pen_open(struct pen *p, FILE *out)
{
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
	bool dumb = term == NULL || strcmp(term, "dumb") == 0;
	struct winsize w;

	memset(p, 0, sizeof *p);
	p->out = out;
	p->utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
	p->terminal = isatty(fileno(out));
	p->live = p->terminal && !dumb;
	p->colour = p->live && (no_color == NULL || no_color[0] == '\0');
	p->columns = p->terminal && ioctl(fileno(out), TIOCGWINSZ, &w) == 0 && w.ws_col >= 40
	                 ? w.ws_col
	                 : 100;
}

void
pen_release(struct pen *p)
{
	arena_release(&p->texts);
}

static char *
take(struct pen *p, size_t len)
{
	char *s = arena_alloc(&p->texts, len);

	if (s == NULL) {
		fputs("hone: out of memory\n", stderr);
		exit(1);
	}
	return s;
}

static bool
follows(unsigned char c)
{
	return (c & 0xc0) == 0x80;
}

/* Length in bytes of the character at s if it is well formed and printable, else 0. */
static int
character(const unsigned char *s)
{
	int n = s[0] < 0x80                   ? 1
	        : s[0] >= 0xc3 && s[0] < 0xe0 ? 2
	        : (s[0] & 0xf0) == 0xe0       ? 3
	        : (s[0] & 0xf8) == 0xf0       ? 4
	                                      : 0;

	if (n == 1)
		return s[0] >= 0x20 && s[0] != 0x7f;
	for (int i = 1; i < n; i++)
		if (!follows(s[i]))
			return 0;
	/* reject U+2028 to U+202E and U+2066 to U+2069: line breaks and changes of writing
	 * direction */
	if (n == 3 && s[0] == 0xe2 &&
	    ((s[1] == 0x80 && s[2] >= 0xa8 && s[2] <= 0xae) ||
		(s[1] == 0x81 && s[2] >= 0xa6 && s[2] <= 0xa9)))
		return 0;
	return n;
}

const char *
pen_clean(struct pen *p, const char *s)
{
	size_t len = s == NULL ? 0 : strlen(s);
	char *copy = take(p, len + 1), *to = copy;

	for (size_t i = 0; i < len;) {
		int n = character((const unsigned char *)s + i);

		if (n == 1 || (n > 1 && p->utf8)) {
			memcpy(to, s + i, (size_t)n);
			to += n;
		} else {
			*to++ = '?';
		}
		i += n == 0 ? 1 : (size_t)n;
	}
	*to = '\0';
	return copy;
}

const char *
pen_printf(struct pen *p, const char *fmt, ...)
{
	va_list ap;
	int n;
	char *s;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	s = take(p, (size_t)n + 1);
	va_start(ap, fmt);
	vsnprintf(s, (size_t)n + 1, fmt, ap);
	va_end(ap);
	return s;
}

void
pen_put(struct pen *p, enum colour c, const char *s)
{
	static const char *const codes[] = { [PLAIN] = "",
		[BOLD] = "\033[1m",
		[DIM] = "\033[2m",
		[RED] = "\033[31m",
		[GREEN] = "\033[32m",
		[YELLOW] = "\033[33m",
		[CYAN] = "\033[36m" };

	if (p->colour && c != PLAIN)
		fprintf(p->out, "%s%s\033[0m", codes[c], s);
	else
		fputs(s, p->out);
}

int
pen_width(const char *s)
{
	int n = 0;

	for (; *s != '\0'; s++)
		n += !follows((unsigned char)*s);
	return n;
}

/* Offset in bytes of character number `at`. */
static size_t
offset_of(const char *s, int at)
{
	size_t i = 0;

	for (; s[i] != '\0'; i++)
		if (!follows((unsigned char)s[i]) && at-- == 0)
			break;
	return i;
}

const char *
pen_shorten(struct pen *p, const char *s, int columns)
{
	const char *gap = p->utf8 ? "…" : "...";
	int width = pen_width(s), head, tail;

	if (columns < 8)
		columns = 8;
	if (width <= columns)
		return s;
	/* keep one third of the begin and two thirds of the end, which distinguishes labels better
	 */
	head = (columns - pen_width(gap)) / 3;
	tail = columns - pen_width(gap) - head;
	return pen_printf(
	    p, "%.*s%s%s", (int)offset_of(s, head), s, gap, s + offset_of(s, width - tail));
}

void
pen_wrap(struct pen *p, const char *margin, const char *text)
{
	int room = p->terminal ? p->columns - pen_width(margin) : 0, used = 0;

	fputs(margin, p->out);
	while (*text != '\0') {
		int len = (int)strcspn(text, " "),
		    width = pen_width(pen_printf(p, "%.*s", len, text));

		if (used > 0 && room > 0 && used + 1 + width > room) {
			fprintf(p->out, "\n%s", margin);
			used = 0;
		}
		fprintf(p->out, "%s%.*s", used > 0 ? " " : "", len, text);
		used += width + (used > 0);
		text += len + strspn(text + len, " ");
	}
	fputc('\n', p->out);
}

const char *
pen_count(struct pen *p, double n)
{
	char digits[32], *s = take(p, 48), *to = s;
	int len;

	if (!(fabs(n) < 1e15))
		return pen_printf(p, "%g", n);
	len = snprintf(digits, sizeof digits, "%.0f", n);
	for (int i = 0; i < len; i++) {
		if (i > 0 && (len - i) % 3 == 0 && digits[i - 1] != '-')
			*to++ = ',';
		*to++ = digits[i];
	}
	*to = '\0';
	return s;
}

/* Three significant digits. */
static const char *
three(struct pen *p, double v)
{
	return pen_printf(p, "%.*f", fabs(v) < 9.995 ? 2 : fabs(v) < 99.95 ? 1 : 0, v);
}

const char *
pen_ms(struct pen *p, double ms)
{
	if (fabs(ms) >= 999.5)
		return pen_printf(p, "%s s", three(p, ms / 1e3));
	if (fabs(ms) >= 0.9995 || ms == 0)
		return pen_printf(p, "%s ms", three(p, ms));
	return pen_printf(p, "%s us", three(p, ms * 1e3));
}

const char *
pen_seconds(struct pen *p, double s)
{
	if (s < 99.95)
		return pen_printf(p, "%.1f s", s);
	if (s < 3600)
		return pen_printf(p, "%d min %d s", (int)s / 60, (int)s % 60);
	return pen_printf(p, "%.0f h %d min", floor(s / 3600), (int)fmod(s, 3600) / 60);
}

const char *
pen_share(struct pen *p, double share)
{
	double pct = share * 100;

	if (pct != 0 && fabs(pct) < 9.95)
		return pen_printf(p, "%.1f %%", pct);
	return pen_printf(p, "%.0f %%", pct);
}

const char *
pen_bar(struct pen *p, double share, int cells)
{
	static const char *const eighths[] = { "", "▏", "▎", "▍", "▌", "▋", "▊", "▉" };
	char *s = take(p, (size_t)cells * 4 + 1), *to = s;
	int full, i;

	share = share > 0 ? share < 1 ? share : 1 : 0; /* NaN is 0 */
	full = (int)(share * cells * 8 + 0.5);
	if (!p->utf8)
		full = (full + 4) / 8 * 8;
	for (i = 0; i < full / 8; i++)
		to = stpcpy(to, p->utf8 ? "█" : "#");
	if (full % 8 != 0) {
		to = stpcpy(to, eighths[full % 8]);
		i++;
	}
	for (; i < cells; i++)
		to = stpcpy(to, p->utf8 ? "░" : ".");
	*to = '\0';
	return s;
}

const char *
pen_arrow(const struct pen *p)
{
	return p->utf8 ? "→" : "->";
}

/* ---- columns ---- */

void
columns_open(struct columns *t, const char *align)
{
	memset(t, 0, sizeof *t);
	t->align = align;
	t->columns = (int)strlen(align);
	assert(t->columns > 0 && t->columns <= COLUMNS_MAX);
}

void
columns_add(struct columns *t, const char *s)
{
	if (!array_reserve(t->cell, t->cap, (size_t)t->cells + 1)) {
		fputs("hone: out of memory\n", stderr);
		exit(1);
	}
	t->cell[t->cells++] = s;
}

static void
print_cell(struct pen *p, const char *s, int width, char align, bool head, bool last)
{
	int pad = width - pen_width(s);

	if (align == 'r')
		fprintf(p->out, "%*s", pad, "");
	pen_put(p, head ? BOLD : PLAIN, s);
	if (align != 'r' && !last)
		fprintf(p->out, "%*s", pad, "");
	fputs(last ? "\n" : "  ", p->out);
}

void
columns_print(struct columns *t, struct pen *p)
{
	int width[COLUMNS_MAX] = { 0 };

	assert(t->cells % t->columns == 0);
	for (int i = 0; i < t->cells; i++)
		if (pen_width(t->cell[i]) > width[i % t->columns])
			width[i % t->columns] = pen_width(t->cell[i]);
	for (int i = 0; i < t->cells; i++) {
		int c = i % t->columns;

		print_cell(
		    p, t->cell[i], width[c], t->align[c], i < t->columns, c == t->columns - 1);
	}
	columns_release(t);
}

void
columns_release(struct columns *t)
{
	free(t->cell);
	t->cell = NULL;
	t->cells = 0;
	t->cap = 0;
}
