/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "searchspace/strategy.h"

#include <string.h>

static const struct strategy STRATEGIES[] = {
#define STRATEGY(name, help) { #name, help, strategy_##name },
#include "searchspace/strategies.tbl.h"
#undef STRATEGY
};

const struct strategy *
strategy_at(unsigned i)
{
	return i < sizeof STRATEGIES / sizeof STRATEGIES[0] ? &STRATEGIES[i] : NULL;
}

const struct strategy *
strategy_find(const char *name)
{
	for (unsigned i = 0; strategy_at(i) != NULL; i++)
		if (strcmp(STRATEGIES[i].name, name) == 0)
			return &STRATEGIES[i];
	return NULL;
}
