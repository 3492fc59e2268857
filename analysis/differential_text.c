/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/differential_text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/below_time.h"

#define SHARE_MIN 1e-3 /* of the tree's root, where that fits */

static const char *const words[] = { [DIFFERENCE_STATE] = "state",
	[DIFFERENCE_SELF] = "self",
	[DIFFERENCE_INCLUSIVE] = "inclusive" };

/* ---- to text ---- */

static void
put_line(struct buf *out, const char *word, const double *x, int n, const char *text)
{
	buf_printf(out, "%s\t", word);
	for (int i = 0; i < n; i++)
		buf_printf(out, "%.6g\t", x[i]);
	for (; *text != '\0'; text++)
		buf_u8(out, iscntrl((unsigned char)*text) ? '?' : (uint8_t)*text);
	buf_u8(out, '\n');
}

static void
put_all(struct buf *out, const struct differential *d, const struct difference_node *tree,
    uint32_t count)
{
	const double all[] = { d->nslow, d->nusual, d->slow_ns, d->usual_ns, d->slow_from_ns,
		d->confidence };

	put_line(out, "all", all, 6, "");
	for (uint32_t i = 0; i < d->count; i++) {
		const struct difference *x = &d->items[i];
		const double item[] = { x->slow_ns, x->usual_ns, x->more_ns.low, x->more_ns.high,
			x->p, x->slow, x->usual };

		put_line(out, words[x->of], item, 7,
		    x->of == DIFFERENCE_STATE ? below_state_word((enum below_state)x->state)
					      : x->function);
	}
	for (uint32_t i = 0; i < count; i++) {
		const double node[] = { tree[i].parent, tree[i].slow_ns, tree[i].usual_ns };

		put_line(out, "at", node, 3, tree[i].text);
	}
	buf_u8(out, 0);
}

void
differential_write(struct buf *out, struct differential *d, struct difference_node *tree,
    uint32_t count, double p_max)
{
	size_t begun = out->len;

	/* With share_min over 1 only the root is left, and items are at most 15 KiB: a name has at most 300 bytes. */
	for (double share_min = SHARE_MIN; share_min < 4; share_min *= 2) {
		differential_shorten(d, tree, &count, p_max, DIFFERENTIAL_SELF_MAX,
		    DIFFERENTIAL_INCLUSIVE_MAX, share_min);
		out->len = begun;
		put_all(out, d, tree, count);
		if (out->failed || out->len - begun <= DIFFERENTIAL_TEXT_MAX)
			return;
	}
}

/* ---- from text ---- */

/* The numbers of a line, each with a tab behind it; *at moves behind them. */
static bool
numbers(const char **at, double *x, int n)
{
	for (int i = 0; i < n; i++) {
		char *end;

		x[i] = strtod(*at, &end);
		if (isspace((unsigned char)**at) || end == *at || *end != '\t')
			return false;
		*at = end + 1;
	}
	return true;
}

static bool
is_count(double x)
{
	return x >= 0 && x < UINT32_MAX;
}

static bool
read_all(struct differential *d, const char *at)
{
	double x[6];

	if (!numbers(&at, x, 6) || !is_count(x[0]) || !is_count(x[1]))
		return false;
	d->nslow = (uint32_t)x[0];
	d->nusual = (uint32_t)x[1];
	d->slow_ns = x[2];
	d->usual_ns = x[3];
	d->slow_from_ns = x[4];
	d->confidence = x[5];
	return true;
}

/* 1, 0: it is none, or ERR_MEMORY. */
static int
read_item(struct difference *ret, enum difference_of of, const char *at, struct arena *a)
{
	size_t len;
	double x[7];

	if (!numbers(&at, x, 7) || !is_count(x[5]) || !is_count(x[6]))
		return 0;
	len = strcspn(at, "\n");
	*ret = (struct difference){ .of = of,
		.slow_ns = x[0],
		.usual_ns = x[1],
		.more_ns = { x[2], x[3] },
		.p = x[4],
		.slow = (uint32_t)x[5],
		.usual = (uint32_t)x[6] };
	if (of == DIFFERENCE_STATE)
		ret->state = below_state_of(at, len);
	else if ((ret->function = arena_text(a, at, len)) == NULL)
		return ERR_MEMORY;
	return 1;
}

static int
read_node(struct difference_node *ret, uint32_t number, const char *at, struct arena *a)
{
	double x[3];

	/* the root's parent is itself */
	if (!numbers(&at, x, 3) || !(x[0] >= 0 && x[0] < (number > 0 ? number : 1)))
		return 0;
	*ret = (struct difference_node){ arena_text(a, at, strcspn(at, "\n")), (uint32_t)x[0], x[1],
		x[2] };
	return ret->text != NULL ? 1 : ERR_MEMORY;
}

/* One line, whose numbers begin at `at`. As read_item(). */
static int
read_line(struct differential *d, struct difference_node *tree, uint32_t *count, const char *word,
    size_t len, const char *at, struct arena *a)
{
	int rc = 0;

	if (len == 2 && memcmp(word, "at", 2) == 0) {
		if (*count < DIFFERENTIAL_NODES_MAX &&
		    (rc = read_node(&tree[*count], *count, at, a)) > 0)
			(*count)++;
		return rc;
	}
	for (unsigned of = 0; of < sizeof words / sizeof *words; of++)
		if (strlen(words[of]) == len && memcmp(word, words[of], len) == 0 &&
		    (rc = read_item(&d->items[d->count], (enum difference_of)of, at, a)) > 0)
			d->count++;
	return rc;
}

static uint32_t
lines_of(const char *text)
{
	uint32_t n = 0;

	while ((text = strchr(text, '\n')) != NULL) {
		text++;
		n++;
	}
	return n;
}

int
differential_read(struct differential *ret, struct difference_node **tree, uint32_t *count,
    const char *text, struct arena *a, struct err *e)
{
	uint32_t lines = lines_of(text), line = 0;
	int rc = 1;

	*ret = (struct differential){ .items = arena_calloc(
					  a, (size_t)lines + 1, sizeof *ret->items) };
	*tree = arena_calloc(a, (size_t)lines + 1, sizeof **tree);
	*count = 0;
	if (ret->items == NULL || *tree == NULL)
		return err_set(e, ERR_MEMORY, "out of memory for %u lines of a comparison", lines);
	for (const char *end; rc > 0 && (end = strchr(text, '\n')) != NULL; text = end + 1) {
		size_t len = strcspn(text, "\t\n");

		if (text[len] != '\t')
			rc = 0;
		else if (line++ == 0)
			rc = len == 3 && memcmp(text, "all", 3) == 0 && read_all(ret, text + 4);
		else
			rc = read_line(ret, *tree, count, text, len, text + len + 1, a);
	}
	if (rc == ERR_MEMORY)
		return err_set(e, rc, "out of memory for a comparison of requests");
	if (rc == 0 || line == 0 || *text != '\0')
		return err_set(
		    e, ERR_INPUT, "line %u of a comparison of requests is damaged", line);
	return 0;
}
