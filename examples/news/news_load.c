/* SPDX-License-Identifier: GPL-3.0-or-later */
/* news-load: the requests of the news site's users. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include "examples/load.h"

enum { USERS = 300, ARTICLES = 600, WORDS = 400 };

static struct load_type types[] = {
	{ "READ", 55 },
	{ "SEARCH", 25 },
	{ "PUBLISH", 20 },
	{ 0 },
};

/* Few articles are popular, many are rarely read; all words are searched for equally often. */
static int
path_of(uint64_t k, int type, char *out, size_t size)
{
	int user = 1 + (int)(load_chance(k, 1) % USERS);
	int article = 1 + (int)(ARTICLES * pow(load_share(k, 2), 2));

	switch (type) {
	case 0:
		snprintf(out, size, "/article?id=%d&user=%d", article, user);
		return 0;
	case 1:
		snprintf(out, size, "/search?q=word%" PRIu64 "&user=%d", load_chance(k, 3) % WORDS,
		    user);
		return 0;
	default:
		snprintf(out, size, "/article?id=%d&user=%d", article, user);
		return 1;
	}
}

int
main(int argc, char **argv)
{
	static const struct load_app news = { "news-load", "news-gate", types, path_of };

	return load_main(argc, argv, &news);
}
