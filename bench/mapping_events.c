/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Cost of the mapper for a tracepoint: of a name without a rule, on one thread; and of jobs that
 * move over three threads under two ids, numbers or texts, with few and with many jobs open. The
 * minimum of five interleaved rounds; ratios are to the first case.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "mapping/mapper.h"

static const char MAP[] =
    "[program]\nservice = broker\n"
    "[request call]\nbegin = b:in\nend = b:out\ncorrelate = thread\ntype = CALL\n"
    "[request job]\nbegin = b:queued\nbegin_id = job\nend = b:done\nend_id = task\ncorrelate = field\ntype = JOB\n"
    "step = b:started job -> task\n";

enum { TURNS = 1000000 };

static const char *const names[] = { "x:work", "b:in", "b:out", "b:queued", "b:started", "b:done" };
static const char *const fields[] = { "job", "task" };
static struct mapper *mapper;
static uint64_t ndone;
static bool texts;

static void
fire(uint32_t name, uint32_t tid, uint64_t id)
{
	char words[2][24];
	struct value values[2] = { { .type = VALUE_UINT, .u = id },
		{ .type = VALUE_UINT, .u = ~id } };
	struct mapper_event v = { .time_ns = (int64_t)++ndone,
		.pid = 7,
		.tid = tid,
		.name = names[name],
		.name_id = name,
		.nfields = 2,
		.fields = fields,
		.values = values };
	struct mapper_result place;

	for (int i = 0; i < 2 && texts; i++) {
		values[i].len = (uint32_t)snprintf(
		    words[i], sizeof words[i], "%016llx", (unsigned long long)values[i].u);
		values[i].type = VALUE_TEXT;
		values[i].text = words[i];
	}
	if (mapper_event(mapper, &v, &place, NULL) != 0)
		exit(1);
}

/* A queue with the given number of jobs: for each job that arrives, the oldest one is started
 * and finished. */
static void
jobs(uint64_t open)
{
	static uint64_t id;
	uint64_t end = id + TURNS / 4;

	for (uint64_t i = 0; i < open; i++)
		fire(3, 1, id + i);
	for (; id < end; id++) {
		fire(3, 1, id + open);
		fire(4, 2, id);
		fire(0, 2, id);
		fire(5, 3, id);
	}
	for (uint64_t i = 0; i < open; i++, id++) {
		fire(4, 2, id);
		fire(5, 3, id);
	}
}

static double
ns_of(void (*run)(uint64_t open), uint64_t open)
{
	struct mono begun = clock_mono();
	uint64_t before = ndone;

	run(open);
	return (double)mono_since_ns(clock_mono(), begun) / (double)(ndone - before);
}

static void
unknown(uint64_t open)
{
	(void)open;
	for (uint64_t i = 0; i < TURNS; i++)
		fire(0, (uint32_t)i % 64, i);
}

static void
calls(uint64_t open)
{
	for (uint64_t i = 0; i < TURNS; i++) {
		uint64_t step = i / open % 10;

		fire(step == 0 ? 1 : step == 9 ? 2 : 0, (uint32_t)(i % open), i);
	}
}

int
main(void)
{
	static const struct {
		const char *what;
		void (*run)(uint64_t);
		uint64_t open;
		bool texts;
	} parts[] = {
		{ "of no request", unknown, 0, false },
		{ "calls on 64 threads", calls, 64, false },
		{ "jobs, 10 open", jobs, 10, false },
		{ "jobs, 30,000 open", jobs, 30000, false },
		{ "jobs by texts, 10 open", jobs, 10, true },
	};
	char path[] = "/tmp/mapping_events.XXXXXX";
	struct mapping *map;
	struct err e;
	int fd = mkstemp(path);
	double best[sizeof parts / sizeof parts[0]] = { 0 };

	if (fd < 0 || write(fd, MAP, sizeof MAP - 1) < 0 || map_load(&map, path, &e) != 0 ||
	    mapper_new(&mapper, map, NULL, &e) != 0)
		return 1;
	close(fd);
	unlink(path);
	for (int round = 0; round < 5; round++)
		for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
			double ns;

			texts = parts[i].texts;
			ns = ns_of(parts[i].run, parts[i].open);
			best[i] = best[i] == 0 || ns < best[i] ? ns : best[i];
		}
	for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
		printf("%-24s %6.1f ns a record, %4.1f times\n", parts[i].what, best[i],
		    best[i] / best[0]);
	mapper_free(mapper);
	map_free(map);
	return 0;
}
