/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agent/main/probed_programs.h"

#include <string.h>

#include "agent/system/process.h"

#define FIND_NS (2 * SECOND)

static bool
is_mapped_by_probes(void *of, const char *comm)
{
	const struct mapping *m = maps_of(of, comm);

	return m != NULL && map_has_probes(m);
}

static bool
any_map_has_probes(const struct maps *maps)
{
	for (uint32_t i = 0; i < maps->count; i++)
		if (map_has_probes(maps->list[i]))
			return true;
	return false;
}

/* Whether the tracer lists the process, beside what is listed here. */
static bool
is_traced(const struct agent *a, uint32_t pid)
{
	const struct source_stats *s = &a->records.stats;

	for (uint32_t i = 0; i < s->nprocesses; i++)
		if (s->processes[i].pid == pid && !s->processes[i].probes_only)
			return true;
	return false;
}

static bool
is_new(const struct agent_probes *p, const struct process_found *list, uint32_t n)
{
	if (n != p->nfound)
		return true;
	for (uint32_t i = 0; i < n; i++)
		if (list[i].pid != p->found[i].pid || strcmp(list[i].comm, p->found[i].comm) != 0)
			return true;
	return false;
}

/* Takes the programs out that are traced, or whose users are not listed. */
static uint32_t
choose(struct agent *a, struct process_found *list, uint32_t n)
{
	uint32_t kept = 0, user;

	for (uint32_t i = 0; i < n; i++)
		if (!is_traced(a, (uint32_t)list[i].pid) &&
		    (a->records.users.n == 0 || (process_real_user(list[i].pid, &user) &&
						    listed_users_have(&a->records.users, user))))
			list[kept++] = list[i];
	return kept;
}

void
probed_programs_find(struct agent *a, struct mono now)
{
	struct agent_probes *p = &a->probes;
	struct process_found list[PROBED_PROGRAMS_MAX];
	struct source_process told[PROBED_PROGRAMS_MAX];
	uint32_t n;

	if (!any_map_has_probes(&a->maps) ||
	    (mono_since_ns(now, p->found_at) < FIND_NS && p->found_at.ns != 0))
		return;
	p->found_at = now;
	n = process_find(is_mapped_by_probes, &a->maps, list, PROBED_PROGRAMS_MAX);
	n = choose(a, list, n);
	if (!is_new(p, list, n))
		return;
	for (uint32_t i = 0; i < n; i++)
		told[i] = (struct source_process){ .service = list[i].comm,
			.pid = (uint32_t)list[i].pid,
			.outside = true,
			.probes_only = true };
	if (!source_below_programs(a->below.source, told, n))
		return;
	memcpy(p->found, list, n * sizeof *list);
	p->nfound = n;
}
