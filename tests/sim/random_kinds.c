/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "tests/sim/random.h"

const struct kind kind_of[KINDS] = {
#define KIND(name, goal, target, compared, what) \
	{ #name, make_##name, goal, target, compared, what },
#include "tests/sim/random_kinds.tbl.h"
#undef KIND
};

int
kind_find(const char *name)
{
	for (int i = 0; i < KINDS; i++)
		if (strcmp(kind_of[i].name, name) == 0)
			return i;
	return -1;
}

bool
kind_healthy(enum kind_number k)
{
	return strncmp(kind_of[k].name, "healthy_", 8) == 0;
}

struct made *
made_new(enum kind_number kind, uint64_t seed, uint32_t size_max)
{
	struct made *m = kind_of[kind].make(seed, size_max);

	m->kind = kind;
	return m;
}
