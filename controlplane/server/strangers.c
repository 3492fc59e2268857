/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/server/strangers.h"

#include <assert.h>
#include <string.h>

#include "base/hash.h"

/* A stranger of this cell by chance, silent ones before those that spoke; the new one is a silent one. */
static int
choose(const struct stranger *all, int n, unsigned cell, bool new_too, struct rng *rng)
{
	int found = new_too ? CLOSE_NEW : CLOSE_NONE, silent = 0, spoke = 0;

	for (int i = 0; i < n; i++) {
		if (all[i].cell != cell)
			continue;
		if (!all[i].spoke && rng_below(rng, (uint64_t)++silent) == 0)
			found = i;
		if (all[i].spoke && silent == 0 && !new_too &&
		    rng_below(rng, (uint64_t)++spoke) == 0)
			found = i;
	}
	return found;
}

int
stranger_to_close(const struct stranger *all, int n, unsigned cell, const struct admission *limits,
    struct rng *rng)
{
	int count[SOURCE_CELLS] = { 0 };
	unsigned most = cell;

	assert(cell < SOURCE_CELLS && limits->max > 0 && limits->share > 0);
	for (int i = 0; i < n; i++)
		count[all[i].cell]++;
	/* 1 */
	if (count[cell] >= limits->share)
		return choose(all, n, cell, true, rng);
	/* 3 */
	if (n < limits->max)
		return CLOSE_NONE;
	/* 2 */
	count[cell]++;
	for (int i = 0; i < n; i++)
		if (count[all[i].cell] > count[most])
			most = all[i].cell;
	return choose(all, n, most, most == cell, rng);
}

unsigned
source_cell(uint64_t secret, const char *source)
{
	return (unsigned)(hash_bytes(secret, source, strlen(source)) % SOURCE_CELLS);
}

void
sources_init(struct sources *s, struct mono now)
{
	for (int i = 0; i < SOURCE_CELLS; i++)
		bucket_init(&s->failures[i], FAILURES_PER_S, FAILURES_AT_ONCE, now);
}

void
source_failed(struct sources *s, unsigned cell, struct mono now)
{
	bucket_wait_ns(&s->failures[cell], now);
}

bool
source_penalised(struct sources *s, unsigned cell, struct mono now)
{
	return bucket_empty(&s->failures[cell], now);
}
