/* SPDX-License-Identifier: GPL-3.0-or-later */
/* shop-load: the requests of the shop's users. */
#include <math.h>
#include <stdio.h>
#include "examples/load.h"

enum { USERS = 300, PRODUCTS = 400 };

static struct load_type types[] = {
	{ "GET_HOME", 20 },
	{ "GET_PRODUCT", 22 },
	{ "SEARCH", 14 },
	{ "ADD_TO_CART", 16 },
	{ "CHECKOUT", 14 },
	{ "GET_ORDERS", 14 },
	{ 0 },
};
static const char *const words[] = { "lamp", "chair", "table", "green", "small", "oak", "steel",
	"garden", "kitchen", "reading", "foldable", "outdoor", "classic", "waterproof",
	"rechargeable", "handmade" };

/* A query of 3 to 70 characters. */
static void
query_of(uint64_t k, char *out, size_t size)
{
	size_t length = 3 + load_chance(k, 1) % 68, n = 0;

	for (uint64_t i = 2; n < length && n < size - 1; i++) {
		const char *word = words[load_chance(k, i) % (sizeof words / sizeof *words)];

		n += (size_t)snprintf(out + n, size - n, "%s%s", n ? "+" : "", word);
	}
	out[length] = 0;
	for (n = length; n && out[n - 1] == '+'; n--)
		out[n - 1] = 'x';
}

/* Writes the path of a request; returns 1 for POST, 0 for GET. Few products are popular, many are rarely requested. */
static int
path_of(uint64_t k, int type, char *out, size_t size)
{
	static const char *const regions[] = { "DE", "FR", "IT", "PL", "SE" };
	int user = 1 + (int)(load_chance(k, 1) % USERS);
	int product = 1 + (int)(PRODUCTS * pow(load_share(k, 2), 3));
	char query[128];

	switch (type) {
	case 0:
		snprintf(out, size, "/?user=%d", user);
		return 0;
	case 1:
		snprintf(out, size, "/product?user=%d&id=%d&region=%s", user, product,
		    regions[load_chance(k, 3) % 5]);
		return 0;
	case 2:
		query_of(k, query, sizeof query);
		snprintf(out, size, "/search?user=%d&q=%s", user, query);
		return 0;
	case 3:
		snprintf(out, size, "/cart?user=%d&product=%d&quantity=%d", user, product,
		    1 + (int)(load_chance(k, 3) % 4));
		return 1;
	case 4:
		snprintf(out, size, "/checkout?user=%d", user);
		return 1;
	default:
		snprintf(out, size, "/orders?user=%d", user);
		return 0;
	}
}

int
main(int argc, char **argv)
{
	static const struct load_app shop = { "shop-load", "the shop", types, path_of };

	return load_main(argc, argv, &shop);
}
