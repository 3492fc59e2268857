/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any events with fixed maps: a trace has one begin and at most one end, and no event after that;
 * the counters add up. */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/hash_map.h"
#include "mapping/map.h"
#include "mapping/mapper.h"
#include "tests/fuzz/common/fuzz.h"

static const char *const files[] = {
	"[program]\nservice = x\n[request r]\nbegin = a:b*\nend = *:e\ncorrelate = thread\nlimit = 1ms\n"
	"[request o]\nbegin = b:b\nend = a:e\ncorrelate = thread\nnested = no\ntype_field = t\n",
	"[program]\nservice = x\n[request r]\nbegin = a:b\nbegin_id = i\nend = a:e\nend_id = t\ncorrelate = field\n"
	"step = a:s i -> t\nstep = b:* t -> i\ntype_field = t\n",
	"[program]\nservice = x\n[request r]\nbegin = a:b\nbegin_id = i\nend = a:e\nend_id = i\ncorrelate = field\ncarry = no\n"
	"step = b:b i -> t\nstep = b:e t\n[request o]\nbegin = b:b\nend = b:e\ncorrelate = thread\n"
	"[request p]\nbegin = a:s\nbegin_id = t\nend = a:e\nend_id = t\ncorrelate = field\nlimit = 1ms\n",
	"[program]\nservice = x\n[request r]\nbegin = a:b\nend = a:e\ncorrelate = span\nbegin_id = i\nend_id = i\ntrace_id = t\n"
	"parent_id = p | t\n[request s]\nbegin = b:b\nend = b:e\ncorrelate = span\nbegin_id = t\nend_id = i | t\ntrace_id = t | i\n"
	"parent_id = p\ntype_field = p | i\n",
};
enum { MAPS = sizeof files / sizeof files[0] };

static struct mapping *maps[MAPS];

static void
load(void)
{
	for (int i = 0; i < MAPS && maps[i] == NULL; i++) {
		char path[] = "/tmp/fuzz_events.XXXXXX";
		int fd = mkstemp(path);

		check(fd >= 0 && write(fd, files[i], strlen(files[i])) > 0 &&
		      map_load(&maps[i], path, NULL) == 0);
		close(fd);
		unlink(path);
	}
}

static bool
sampled(void *of, const char *type)
{
	(void)of;
	return type[0] != '1';
}

static struct value
value_of(uint8_t b)
{
	static const char letters[] = "1aaa";

	switch (b >> 5) {
	case 0:
		return (struct value){ .type = VALUE_TEXT, .len = b % 5, .text = letters };
	case 1:
		return (struct value){ .type = VALUE_REAL, .d = b };
	case 2:
		return (struct value){ .type = VALUE_INT, .i = -(b % 4) };
	case 3:
		return (struct value){ .type = VALUE_NONE };
	default:
		return (struct value){ .type = VALUE_UINT, .u = b % 8 };
	}
}

static char open_mark, ended_mark;

static void
check_place(struct map *traces, const struct mapper_result *place)
{
	void *known;

	check((place->trace_id == 0) == (place->unit_id == 0));
	check((place->begins || place->ends || place->unit_begins || place->unit_ends) ==
		  (place->type != NULL) &&
	      !(place->begins && place->ends));
	check(!place->span ||
	      place->begins + place->ends + place->unit_begins + place->unit_ends == 1);
	if (place->trace_id == 0 || place->span) /* programs choose the ids of spans */
		return;
	known = map_get(traces, place->trace_id);
	check(place->begins ? known == NULL : known == &open_mark);
	map_put(traces, place->trace_id, place->ends ? &ended_mark : &open_mark);
}

static void
one(struct mapper *p, const uint8_t *d, int64_t *now_ns, struct map *traces)
{
	static const char *const names[] = { "a:b", "a:e", "a:s", "b:b", "b:e", "x:x", "a:b2", "" };
	static const char *const fields[] = { "i", "t" };
	struct value values[] = { value_of(d[2]), value_of(d[3]) };
	struct mapper_event v = { .pid = d[1] & 1,
		.tid = d[1] >> 1 & 3,
		.name = names[d[0] & 7],
		.name_id = (d[0] & 7) * 3 + (d[1] >> 4) % 3,
		.nfields = (d[1] >> 4) % 3,
		.fields = fields,
		.values = values };
	struct mapper_result place;
	struct err e;

	v.time_ns = *now_ns += (int64_t)(d[0] >> 3) << (d[1] >> 6) * 8;
	if (d[0] == 255)
		mapper_gone(p, d[1] & 1);
	else if (d[0] == 254)
		mapper_expire(p, *now_ns);
	else {
		check(mapper_event(p, &v, &place, &e) == 0);
		check_place(traces, &place);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct mapper_options o = { .sampled = sampled };
	struct mapper_counts n;
	struct map traces = { 0 };
	struct mapper *p;
	int64_t now_ns = 0;
	struct err e;

	load();
	if (len < 2)
		return 0;
	o.requests_max = 1 + data[1] % 16;
	check(mapper_new(&p, maps[data[0] % MAPS], &o, &e) == 0);
	for (size_t i = 2; i + 4 <= len; i += 4) {
		one(p, data + i, &now_ns, &traces);
		check(mapper_open(p) <= o.requests_max);
	}
	mapper_gone(p, 0);
	mapper_gone(p, 1);
	mapper_get_counts(p, &n);
	check(mapper_open(p) == 0 && n.begun == n.ended + n.given_up + n.clashes);
	mapper_free(p);
	map_release(&traces);
	return 0;
}
