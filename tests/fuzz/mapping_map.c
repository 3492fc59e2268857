/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as a mapping: refused with file and line, or a mapping that meets its contract. */
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "mapping/map.h"
#include "mapping/mapper.h"
#include "tests/fuzz/common/fuzz.h"

static void
count(void *of, bool wrong, int line, const char *words)
{
	check(line > 0 && words[0] != '\0');
	*(uint32_t *)of += wrong;
}

static void
check_rule(const struct map_rule *r)
{
	check(r->line > 0 && r->begin_line > r->line && r->limit_ns > 0 &&
	      !(r->type != NULL && r->type_field != NULL));
	check((r->begin_id != NULL) == (r->correlate == MAP_FIELD) &&
	      (r->end_id != NULL) == (r->correlate == MAP_FIELD));
	check((r->nids > 0) == (r->correlate == MAP_FIELD) && r->nsteps <= MAP_STEPS_MAX);
	for (uint32_t i = 0; i < r->nsteps; i++)
		check(r->steps[i].id_kind < r->nids && r->steps[i].gives_kind < r->nids);
}

static void
check_mapping(const struct mapping *m)
{
	static const struct map_field fields[] = { { "job", MAP_FIELD_INT },
		{ "text", MAP_FIELD_TEXT } };
	static const struct map_event events[] = { { "a:b", 2, fields }, { "a:e", 1, fields },
		{ "b:x", 0, fields } };
	struct mapper *p;
	uint32_t wrong = 0;
	struct err e;

	check(m->nrules > 0 && m->nrules <= MAP_RULES_MAX && m->service[0] != '\0');
	for (uint32_t i = 0; i < m->nrules; i++) {
		check_rule(&m->rules[i]);
		if (strchr(m->rules[i].begin, '*') == NULL)
			check(map_needs(m, m->rules[i].begin));
	}
	for (uint32_t i = 0; i < m->npatterns; i++)
		check(map_pattern(m, i) != NULL);
	check(map_pattern(m, m->npatterns) == NULL);
	check(map_check(m, events, 3, count, &wrong) == wrong);
	check(mapper_new(&p, m, NULL, &e) == 0);
	mapper_free(p);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static char path[64];
	static int fd = -1;
	struct mapping *m = NULL;
	struct err e = { 0 };

	if (fd < 0) {
		fd = memfd_create("map", 0);
		snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	}
	check(ftruncate(fd, 0) == 0 && pwrite(fd, data, len, 0) == (ssize_t)len);
	if (map_load(&m, path, &e) == 0) {
		check_mapping(m);
		map_free(m);
	} else {
		check(
		    strncmp(e.text, path, strlen(path)) == 0 && strlen(e.text) > strlen(path) + 3);
	}
	return 0;
}
