/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the services tell each other about: lines of goods, one a line of text,
 * "product<TAB>quantity<TAB>cents<TAB>name". */
#ifndef SHOP_GOODS_H
#define SHOP_GOODS_H

#include <stdint.h>
#include "text.h"

enum { GOODS_MAX = 24, GOODS_PRODUCTS = 400 };

struct line {
	int64_t product, quantity, cents;
	char name[48];
};

struct goods {
	struct line lines[GOODS_MAX];
	int n;
};

void line_print(const struct line *l, struct text *to);
int line_read(struct line *l, char *from); /* 0, or -1: not one. Writes into `from`. */
void goods_print(const struct goods *g, struct text *to);
int goods_read(struct goods *g, const char *from); /* returns how many lines */
int64_t goods_cents(const struct goods *g);

/* "12:2,15:1", the short form for a query argument, without names and prices. */
void goods_print_short(const struct goods *g, struct text *to);

#endif
