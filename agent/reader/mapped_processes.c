/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agent/reader/mapped_processes.h"

#include <stdlib.h>
#include <string.h>

#include "agent/reader/mapped_state.h"

struct mapped_process { /* has written a record */
	uint32_t program, pid;
	int64_t dead_ns; /* all its records are before this time; 0: it is alive */
	bool seen;       /* mark of the update in progress */
};

static uint64_t
process_key(uint32_t program, uint32_t pid)
{
	return ((uint64_t)program << 32 | pid) + 1;
}

bool
mapped_processes_add(struct mapped_source *s, uint32_t program, uint32_t pid)
{
	uint64_t key = process_key(program, pid);
	struct mapped_process *p;

	if (map_get(&s->processes, key) != NULL)
		return true;
	if ((p = calloc(1, sizeof *p)) == NULL)
		return false;
	*p = (struct mapped_process){ .program = program, .pid = pid };
	if (map_put(&s->processes, key, p))
		return s->fresh = true;
	free(p);
	return false;
}

void
mapped_processes_update(struct mapped_source *s, const struct source_stats *stats)
{
	struct mapped_process *p;
	uint64_t key;

	if (stats->changes == s->changes && !s->fresh)
		return;
	s->changes = stats->changes;
	s->fresh = false;
	for (size_t at = 0; (p = map_next(&s->processes, &at, &key)) != NULL;)
		p->seen = false;
	for (uint32_t i = 0; i < stats->nprocesses; i++)
		for (uint32_t k = 0; k < s->nprograms; k++)
			if ((p = map_get(&s->processes, process_key(k, stats->processes[i].pid))) !=
				NULL &&
			    strncmp(s->programs[k].service, stats->processes[i].service,
				SERVICE_BYTES - 1) == 0)
				p->seen = true;
	for (size_t at = 0; (p = map_next(&s->processes, &at, &key)) != NULL;)
		if (!p->seen && p->dead_ns == 0)
			p->dead_ns = s->polled_ns;
}

void
mapped_processes_end(struct mapped_source *s, int64_t watermark_ns)
{
	struct mapped_process *p;
	uint64_t key;

	for (size_t at = 0; (p = map_next(&s->processes, &at, &key)) != NULL;) {
		if (p->dead_ns == 0 || p->dead_ns > watermark_ns)
			continue;
		mapper_gone(s->programs[p->program].mapper, p->pid);
		map_take(&s->processes, key);
		free(p);
	}
}

void
mapped_give_up(struct mapped_source *s)
{
	struct mapped_process *p;
	uint64_t key;

	for (size_t at = 0; (p = map_next(&s->processes, &at, &key)) != NULL;)
		mapper_gone(s->programs[p->program].mapper, p->pid);
	map_release(&s->probed);
}

void
mapped_processes_release(struct mapped_source *s)
{
	struct mapped_process *p;
	uint64_t key;

	for (size_t at = 0; (p = map_next(&s->processes, &at, &key)) != NULL;)
		free(p);
	map_release(&s->processes);
}
