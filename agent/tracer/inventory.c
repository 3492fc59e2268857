/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "base/glob.h"
#include "agent/tracer/inventory.h"
#include "agent/tracer/tracer_internal.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/texts.h"

enum { SERVICE_MAX = 63, ATTEMPTS = 3 };

struct kind {                   /* of program: a service and its file */
	uint32_t *names, count; /* numbers in v->names */
	bool listed;
	bool sure;       /* and once more, some time later */
	uint32_t missed; /* lists that it was not in */
};

struct running {
	char service[SERVICE_MAX + 1];
	uint32_t pid;
	bool mapped;
	struct kind *kind;
};

struct inventory {
	struct texts *names;
	uint32_t *users;  /* by name: processes that have it, now */
	uint32_t *mapped; /* of them, those with a mapping */
	struct map kinds;
	struct running *now;
	uint32_t nnow;
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
	struct kind *k;
	size_t at = 0;
	uint64_t key;

	if (v == NULL)
		return;
	while ((k = map_next(&v->kinds, &at, &key)) != NULL) {
		free(k->names);
		free(k);
	}
	map_release(&v->kinds);
	texts_free(v->names);
	free(v->users);
	free(v->mapped);
	free(v->now);
	free(v);
}

static struct kind *
kind_of(struct inventory *v, const char *service, uint64_t program, uint32_t pid)
{
	uint64_t key = hash_bytes(program, service, strlen(service));
	struct kind *k;

	if (program == 0)
		key = hash_u64(key ^ pid);
	if ((k = map_get(&v->kinds, key)) != NULL)
		return k;
	if ((k = calloc(1, sizeof *k)) == NULL)
		return NULL;
	if (map_put(&v->kinds, key, k))
		return k;
	free(k);
	return NULL;
}

/* How many running processes have each name. */
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
	for (uint32_t i = 0; i < v->nnow; i++)
		for (uint32_t j = 0; j < v->now[i].kind->count; j++) {
			users[v->now[i].kind->names[j]]++;
			mapped[v->now[i].kind->names[j]] += v->now[i].mapped;
		}
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
		if ((now[i].kind = kind_of(v, p[i].service, p[i].program, p[i].pid)) == NULL) {
			free(now);
			return err_set(e, ERR_MEMORY, "out of memory for %u programs", n);
		}
	}
	free(v->now);
	v->now = now;
	v->nnow = n;
	return count_users(v, e);
}

bool
inventory_wants_list(const struct inventory *v)
{
	for (uint32_t i = 0; i < v->nnow; i++)
		if (!v->now[i].kind->listed)
			return true;
	return false;
}

static bool
is_ours_or_the_tracers(const char *name)
{
	return strncmp(name, "hone:", 5) == 0 || is_tracers_own(name);
}

bool
inventory_wants_another(const struct inventory *v)
{
	for (uint32_t i = 0; i < v->nnow; i++)
		if (v->now[i].kind->listed && !v->now[i].kind->sure)
			return true;
	return false;
}

/* A process' tracepoints are list[from..to). */
static int
kind_fill(
    struct inventory *v, struct kind *k, const struct tracepoint *list, uint32_t from, uint32_t to)
{
	uint32_t *names = malloc((to - from + 1) * sizeof *names), count = 0;

	if (names == NULL)
		return ERR_MEMORY;
	for (uint32_t i = from; i < to && count < TRACEPOINTS_MAX; i++) {
		if (is_ours_or_the_tracers(list[i].name))
			continue;
		names[count] = texts_intern(v->names, list[i].name, strlen(list[i].name));
		if (names[count++] == UINT32_MAX) {
			free(names);
			return ERR_MEMORY;
		}
	}
	if (count < k->count) { /* this one was starting: of its like we know more */
		free(names);
		k->sure = false;
		return 0;
	}
	free(k->names);
	k->names = names;
	k->count = count;
	k->sure = k->listed;
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

/* The first of list[0..n) that is not before pid. */
static uint32_t
lower(const struct tracepoint *list, uint32_t n, pid_t pid)
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
	for (uint32_t i = 0; i < v->nnow; i++) {
		struct kind *k = v->now[i].kind;
		pid_t pid = (pid_t)v->now[i].pid;
		uint32_t from = lower(t->list, t->count, pid),
			 to = lower(t->list, t->count, pid + 1);

		if (from == to)
			k->sure = k->listed = k->listed || ++k->missed >= ATTEMPTS;
		else if (kind_fill(v, k, t->list, from, to) != 0)
			return err_set(
			    e, ERR_MEMORY, "out of memory for %u tracepoints", to - from);
	}
	return count_users(v, e);
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

/* Where an earlier process of the same kind put the names, or where they go now. */
static void
program_put(const struct inventory *v, uint32_t i, struct programs *ret)
{
	const struct kind *k = v->now[i].kind;
	struct program *p = &ret->programs[i];

	*p = (struct program){
		.service = v->now[i].service, .pid = v->now[i].pid, .first = ret->nnames
	};
	for (uint32_t j = 0; j < i; j++) {
		if (v->now[j].kind == k) {
			p->first = ret->programs[j].first;
			p->count = ret->programs[j].count;
			return;
		}
	}
	for (uint32_t j = 0; j < k->count && ret->nnames < TRACEPOINTS_MAX; j++, p->count++)
		ret->names[ret->nnames++] = texts_get(v->names, k->names[j]);
}

int
inventory_programs(const struct inventory *v, struct programs *ret, struct arena *a, struct err *e)
{
	size_t most = 0;

	for (uint32_t i = 0; i < v->nnow; i++)
		most += v->now[i].kind->count;
	if (most > TRACEPOINTS_MAX)
		most = TRACEPOINTS_MAX;
	memset(ret, 0, sizeof *ret);
	ret->programs = arena_calloc(a, v->nnow + 1, sizeof *ret->programs);
	ret->names = arena_calloc(a, most + 1, sizeof *ret->names);
	if (ret->programs == NULL || ret->names == NULL)
		return err_set(e, ERR_MEMORY, "out of memory for %u programs", v->nnow);
	ret->nprograms = v->nnow;
	for (uint32_t i = 0; i < v->nnow; i++)
		program_put(v, i, ret);
	return 0;
}

uint32_t
inventory_count(const struct inventory *v)
{
	return v->nnow;
}
