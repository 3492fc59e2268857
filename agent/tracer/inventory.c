/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agent/tracer/inventory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "agent/tracer/tracer_internal.h"
#include "base/array.h"
#include "base/glob.h"
#include "base/hash.h"
#include "base/hash_map.h"
#include "base/texts.h"
#include "wire/loglevel.h"

enum { SERVICE_MAX = 63, LISTS_MISSED_MAX = 3 };

/* Processes of one service that run the same program file. */
struct traced_program {
	uint32_t *names, count; /* its tracepoints: numbers in inventory.names */
	uint8_t *levels;        /* of these */
	bool listed;
	bool confirmed;                        /* by a second list, with no fewer tracepoints */
	uint32_t missed;                       /* lists in which it did not appear */
	uint32_t *probes, nprobes, cap_probes; /* USDT: numbers in inventory.names */
	bool probes_listed;
	bool fileless; /* its file is unknown: it is of one process alone */
};

struct running {
	char service[SERVICE_MAX + 1];
	uint32_t pid;
	bool mapped;
	struct traced_program *program;
};

struct inventory {
	struct texts *names;
	uint32_t *users;  /* by name: number of running processes that have it */
	uint32_t *mapped; /* by name: of these, with a mapping */
	struct map programs;
	struct running *running;
	uint32_t nrunning;
};

struct inventory *
inventory_new(void)
{
	struct inventory *v = calloc(1, sizeof *v);

	if (v != NULL && (v->names = texts_new()) == NULL) {
		free(v);
		return NULL;
	}
	return v;
}

void
inventory_free(struct inventory *v)
{
	struct traced_program *k;
	size_t at = 0;
	uint64_t key;

	if (v == NULL)
		return;
	while ((k = map_next(&v->programs, &at, &key)) != NULL) {
		free(k->names);
		free(k->levels);
		free(k->probes);
		free(k);
	}
	map_release(&v->programs);
	texts_free(v->names);
	free(v->users);
	free(v->mapped);
	free(v->running);
	free(v);
}

static struct traced_program *
program_of(struct inventory *v, const char *service, uint64_t program, uint32_t pid)
{
	uint64_t key = hash_bytes(program, service, strlen(service));
	struct traced_program *k;

	if (program == 0)
		key = hash_u64(key ^ pid);
	if ((k = map_get(&v->programs, key)) != NULL)
		return k;
	if ((k = calloc(1, sizeof *k)) == NULL)
		return NULL;
	if (map_put(&v->programs, key, k))
		return k;
	free(k);
	return NULL;
}

static void
count_names(const struct running *p, uint32_t *users, uint32_t *mapped)
{
	const struct traced_program *k = p->program;

	for (uint32_t i = 0; i < k->count + k->nprobes; i++) {
		uint32_t name = i < k->count ? k->names[i] : k->probes[i - k->count];

		users[name]++;
		mapped[name] += p->mapped;
	}
}

/* Counts for each name the running processes that have it. */
static int
count_users(struct inventory *v, struct err *e)
{
	uint32_t count = texts_count(v->names);
	uint32_t *users = calloc(count + 1, sizeof *users),
		 *mapped = calloc(count + 1, sizeof *mapped);

	if (users == NULL || mapped == NULL) {
		free(users);
		free(mapped);
		return err_set(e, ERR_MEMORY, "out of memory for %u tracepoints", count);
	}
	for (uint32_t i = 0; i < v->nrunning; i++)
		count_names(&v->running[i], users, mapped);
	free(v->users);
	free(v->mapped);
	v->users = users;
	v->mapped = mapped;
	return 0;
}

int
inventory_run(struct inventory *v, const struct inventory_process *p, uint32_t n, struct err *e)
{
	struct running *now;

	if (n > PROGRAMS_MAX)
		n = PROGRAMS_MAX;
	if ((now = calloc(n + 1, sizeof *now)) == NULL)
		return err_set(e, ERR_MEMORY, "out of memory for %u programs", n);
	for (uint32_t i = 0; i < n; i++) {
		strncpy(now[i].service, p[i].service, SERVICE_MAX);
		now[i].pid = p[i].pid;
		now[i].mapped = p[i].mapped;
		if ((now[i].program = program_of(v, p[i].service, p[i].program, p[i].pid)) ==
		    NULL) {
			free(now);
			return err_set(e, ERR_MEMORY, "out of memory for %u programs", n);
		}
		if (p[i].probes_only)
			now[i].program->listed = now[i].program->confirmed = true;
		now[i].program->probes_listed |= p[i].kernel;
		now[i].program->fileless = p[i].program == 0;
	}
	free(v->running);
	v->running = now;
	v->nrunning = n;
	return count_users(v, e);
}

bool
inventory_wants_list(const struct inventory *v)
{
	for (uint32_t i = 0; i < v->nrunning; i++)
		if (!v->running[i].program->listed)
			return true;
	return false;
}

static bool
is_internal(const char *name)
{
	return strncmp(name, "hone:", 5) == 0 || is_tracer_internal(name);
}

bool
inventory_wants_another(const struct inventory *v)
{
	for (uint32_t i = 0; i < v->nrunning; i++)
		if (v->running[i].program->listed && !v->running[i].program->confirmed)
			return true;
	return false;
}

/* Takes list[from..to), the tracepoints of one process. */
static int
program_fill(struct inventory *v, struct traced_program *k, const struct tracepoint *list,
    uint32_t from, uint32_t to)
{
	uint32_t *names = malloc((to - from + 1) * sizeof *names), count = 0;
	uint8_t *levels = malloc(to - from + 1);
	bool ok = names != NULL && levels != NULL;

	for (uint32_t i = from; i < to && count < TRACEPOINTS_MAX && ok; i++) {
		if (is_internal(list[i].name))
			continue;
		levels[count] = list[i].level;
		names[count] = texts_intern(v->names, list[i].name, strlen(list[i].name));
		ok = names[count++] != UINT32_MAX;
	}
	if (!ok) {
		free(names);
		free(levels);
		return ERR_MEMORY;
	}
	if (count < k->count) { /* this process was still starting: keep what is known */
		free(names);
		free(levels);
		k->confirmed = false;
		return 0;
	}
	free(k->names);
	free(k->levels);
	k->names = names;
	k->levels = levels;
	k->count = count;
	k->confirmed = k->listed;
	k->listed = true;
	return 0;
}

static int
by_pid(const void *a, const void *b)
{
	const struct tracepoint *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* The index of the first of list[0..n) whose pid is not less. */
static uint32_t
lower_bound(const struct tracepoint *list, uint32_t n, pid_t pid)
{
	uint32_t from = 0;

	while (n > 0) {
		uint32_t half = n / 2;

		if (list[from + half].pid < pid) {
			from += half + 1;
			n -= half + 1;
		} else {
			n = half;
		}
	}
	return from;
}

int
inventory_listed(struct inventory *v, const struct tracepoints *t, struct err *e)
{
	qsort(t->list, t->count, sizeof *t->list, by_pid);
	for (uint32_t i = 0; i < v->nrunning; i++) {
		struct traced_program *k = v->running[i].program;
		pid_t pid = (pid_t)v->running[i].pid;
		uint32_t from = lower_bound(t->list, t->count, pid),
			 to = lower_bound(t->list, t->count, pid + 1);

		if (from == to)
			k->confirmed = k->listed = k->listed || ++k->missed >= LISTS_MISSED_MAX;
		else if (program_fill(v, k, t->list, from, to) != 0)
			return err_set(
			    e, ERR_MEMORY, "out of memory for %u tracepoints", to - from);
	}
	return count_users(v, e);
}

static bool
is_running_as(const struct running *r, const char *service, uint32_t pid)
{
	return r->pid == pid && strncmp(r->service, service, SERVICE_MAX) == 0;
}

static struct traced_program *
program_at(const struct inventory *v, const char *service, uint32_t pid)
{
	for (uint32_t i = 0; i < v->nrunning; i++)
		if (is_running_as(&v->running[i], service, pid))
			return v->running[i].program;
	return NULL;
}

uint32_t
inventory_unprobed(const struct inventory *v, bool fileless, const char **service)
{
	for (uint32_t i = 0; i < v->nrunning; i++) {
		const struct traced_program *k = v->running[i].program;

		if (!k->probes_listed && (fileless || !k->fileless)) {
			if (service != NULL)
				*service = v->running[i].service;
			return v->running[i].pid;
		}
	}
	return 0;
}

/* Of which names have come. */
static struct traced_program *
unprobed_at(const struct inventory *v, const char *service, uint32_t pid)
{
	for (uint32_t i = 0; i < v->nrunning; i++)
		if (is_running_as(&v->running[i], service, pid) &&
		    !v->running[i].program->probes_listed)
			return v->running[i].program;
	return program_at(v, service, pid);
}

bool
inventory_has_probes(const struct inventory *v, const char *service, uint32_t pid)
{
	const struct traced_program *k = program_at(v, service, pid);

	return k != NULL && k->nprobes > 0;
}

void
inventory_each_probe(const struct inventory *v, void (*each)(void *of, const char *name), void *of)
{
	for (uint32_t i = 0; i < v->nrunning; i++)
		for (uint32_t k = 0; k < v->running[i].program->nprobes; k++)
			each(of, texts_get(v->names, v->running[i].program->probes[k]));
}

int
inventory_probes(struct inventory *v, const char *service, uint32_t pid, const char *names,
    bool last, struct err *e)
{
	struct traced_program *k = unprobed_at(v, service, pid);
	bool failed = false;

	if (k == NULL)
		return 0;
	if (k->probes_listed) { /* they are listed anew */
		k->probes_listed = false;
		k->nprobes = 0;
	}
	for (const char *end; (end = strchr(names, '\n')) != NULL; names = end + 1) {
		uint32_t id = texts_intern(v->names, names, (size_t)(end - names));

		if (k->count + k->nprobes >= TRACEPOINTS_MAX)
			break;
		if (id == UINT32_MAX || !array_reserve(k->probes, k->cap_probes, k->nprobes + 1))
			failed = true;
		else
			k->probes[k->nprobes++] = id;
	}
	k->probes_listed = last;
	return failed ? err_set(e, ERR_MEMORY, "out of memory for USDT probes") : count_users(v, e);
}

static bool
has_user(const struct inventory *v, const uint32_t *users, const char *name)
{
	uint32_t id;

	if (users == NULL)
		return false;
	if (strchr(name, '*') == NULL) {
		id = texts_find(v->names, name, strlen(name));
		return id != UINT32_MAX && users[id] > 0;
	}
	for (id = 0; id < texts_count(v->names); id++)
		if (users[id] > 0 && glob_matches(name, texts_get(v->names, id)))
			return true;
	return false;
}

bool
inventory_has(void *inventory, const char *name)
{
	const struct inventory *v = inventory;

	return has_user(v, v->users, name);
}

bool
inventory_mapped(void *inventory, const char *name)
{
	const struct inventory *v = inventory;

	return has_user(v, v->mapped, name);
}

/* Processes of the same program share the names in *ret. */
static void
program_put(const struct inventory *v, uint32_t i, struct programs *ret, uint8_t *levels)
{
	const struct traced_program *k = v->running[i].program;
	struct program *p = &ret->programs[i];

	*p = (struct program){
		.service = v->running[i].service, .pid = v->running[i].pid, .first = ret->nnames
	};
	for (uint32_t j = 0; j < i; j++) {
		if (v->running[j].program == k) {
			p->first = ret->programs[j].first;
			p->count = ret->programs[j].count;
			return;
		}
	}
	for (uint32_t j = 0; j < k->count + k->nprobes && ret->nnames < TRACEPOINTS_MAX;
	     j++, p->count++) {
		levels[ret->nnames] = j < k->count ? k->levels[j] : LOGLEVEL_NONE;
		ret->names[ret->nnames++] = texts_get(
		    v->names, j < k->count ? k->names[j] : k->probes[j - k->count]);
	}
}

int
inventory_programs(const struct inventory *v, struct programs *ret, struct arena *a, struct err *e)
{
	uint8_t *levels;
	size_t most = 0;

	for (uint32_t i = 0; i < v->nrunning; i++)
		most += v->running[i].program->count + v->running[i].program->nprobes;
	if (most > TRACEPOINTS_MAX)
		most = TRACEPOINTS_MAX;
	memset(ret, 0, sizeof *ret);
	ret->programs = arena_calloc(a, v->nrunning + 1, sizeof *ret->programs);
	ret->names = arena_calloc(a, most + 1, sizeof *ret->names);
	ret->levels = levels = arena_calloc(a, most + 1, sizeof *levels);
	if (ret->programs == NULL || ret->names == NULL || levels == NULL)
		return err_set(e, ERR_MEMORY, "out of memory for %u programs", v->nrunning);
	ret->nprograms = v->nrunning;
	for (uint32_t i = 0; i < v->nrunning; i++)
		program_put(v, i, ret, levels);
	return 0;
}

uint32_t
inventory_count(const struct inventory *v)
{
	return v->nrunning;
}
