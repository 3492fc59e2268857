/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The goods that the services exchange: lines of text, each
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

void line_print(const struct line *l, struct shop_text *to);
int line_read(struct line *l, char *from); /* 0; -1: malformed. Modifies `from`. */
void goods_print(const struct goods *g, struct shop_text *to);
int goods_read(struct goods *g, const char *from); /* returns the number of lines */
int64_t goods_cents(const struct goods *g);

/* Appends "12:2,15:1", product:quantity, for a query argument. */
void goods_print_short(const struct goods *g, struct shop_text *to);

#endif
