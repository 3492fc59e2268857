/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "goods.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void
line_print(const struct line *l, struct shop_text *to)
{
	text_addf(to, "%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t%s\n", l->product, l->quantity,
	    l->cents, l->name);
}

int
line_read(struct line *l, char *from)
{
	char *fields[4];

	if (text_split(from, '\t', fields, 4) != 4)
		return -1;
	l->product = strtoll(fields[0], NULL, 10);
	l->quantity = strtoll(fields[1], NULL, 10);
	l->cents = strtoll(fields[2], NULL, 10);
	snprintf(l->name, sizeof l->name, "%s", fields[3]);
	return l->product >= 1 && l->quantity >= 0 ? 0 : -1;
}

void
goods_print(const struct goods *g, struct shop_text *to)
{
	for (int i = 0; i < g->n; i++)
		line_print(&g->lines[i], to);
}

int
goods_read(struct goods *g, const char *from)
{
	char one[256];
	size_t length;

	for (g->n = 0; *from && g->n < GOODS_MAX; from += length + (from[length] == '\n')) {
		length = strcspn(from, "\n");
		snprintf(one, sizeof one, "%.*s", (int)length, from);
		if (line_read(&g->lines[g->n], one) == 0)
			g->n++;
	}
	return g->n;
}

int64_t
goods_cents(const struct goods *g)
{
	int64_t sum = 0;

	for (int i = 0; i < g->n; i++)
		sum += g->lines[i].cents * g->lines[i].quantity;
	return sum;
}

void
goods_print_short(const struct goods *g, struct shop_text *to)
{
	for (int i = 0; i < g->n; i++)
		text_addf(to, "%s%" PRId64 ":%" PRId64, i ? "," : "", g->lines[i].product,
		    g->lines[i].quantity);
}
