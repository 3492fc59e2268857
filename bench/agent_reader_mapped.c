/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Cost of source_mapped.c for a record: of a program without a mapping; of a request that is not
 * sampled; of one that is sampled but not probed; of one that is probed. Several threads alternate
 * in requests of ten records each.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/reader/source_mapped.h"

enum { RECORDS = 8192, THREADS = 64, EACH = 10, TURNS = 400 };

static struct batch_label labels[] = {
	{ RECORD_POINT, 11, 0, "broker/b:in", NULL },
	{ RECORD_POINT, 12, 0, "broker/b:out", NULL },
	{ RECORD_POINT, 15, 0, "broker/b:inside", NULL },
	{ RECORD_POINT, 11, 0, "web/w:thing", NULL },
};
static struct record records[RECORDS];
static enum mapped_choice choice;
static int64_t time_ns;
static bool foreign;

/* One thread after the other writes a record; the first and the last of ten records begin and
 * end its request. */
static int
tape_poll(void *state, struct mono now, struct source_output *ret, struct err *e)
{
	(void)state;
	(void)now;
	(void)e;
	for (uint32_t i = 0; i < RECORDS; i++) {
		uint32_t step = (uint32_t)(time_ns / THREADS % EACH);

		records[i] = (struct record){ .time_ns = ++time_ns,
			.pid = 7,
			.tid = (uint32_t)(time_ns % THREADS + 1),
			.label = foreign            ? 3
			         : step == 0        ? 0
			         : step == EACH - 1 ? 1
			                            : 2,
			.trace_id = foreign };
	}
	*ret = (struct source_output){
		.records = records, .nrecords = RECORDS, .watermark_ns = time_ns
	};
	return 0;
}

static void
tape_stats(void *state, struct source_stats *ret)
{
	(void)state;
	memset(ret, 0, sizeof *ret);
}

static const struct batch_label *
tape_labels(void *state, uint32_t *count)
{
	(void)state;
	*count = sizeof labels / sizeof labels[0];
	return labels;
}

static void
tape_close(void *state)
{
	(void)state;
}

static enum mapped_choice
choose(void *of, const char *type)
{
	(void)of;
	(void)type;
	return choice;
}

static void
run(struct source *s, const char *what)
{
	const struct mono begun = clock_mono();
	struct source_output t;
	uint64_t out = 0;
	struct err e;

	for (int i = 0; i < TURNS; i++) {
		if (s->poll(s->state, (struct mono){ time_ns }, &t, &e) != 0)
			exit(1);
		out += t.nrecords;
	}
	printf("%-12s %6.1f ns a record in, %.2f out for one in\n", what,
	    (double)mono_since_ns(clock_mono(), begun) / TURNS / RECORDS,
	    (double)out / TURNS / RECORDS);
}

int
main(void)
{
	static const char MAP[] =
	    "[program]\nservice = broker\n[request r]\nbegin = b:in\nend = b:out\n"
	    "correlate = thread\ntype = R\n";
	const struct source tape = { NULL, tape_poll, tape_stats, tape_labels, tape_close };
	const struct mapped_options o = { .choose = choose };
	char folder[] = "/tmp/mapped-XXXXXX", file[64];
	struct source s;
	struct maps maps;
	struct err e;
	FILE *f;

	if (mkdtemp(folder) == NULL || snprintf(file, sizeof file, "%s/r.map", folder) < 0 ||
	    (f = fopen(file, "w")) == NULL)
		return 1;
	fputs(MAP, f);
	fclose(f);
	if (maps_load(&maps, folder, &e) != 0 ||
	    source_mapped_open(&s, &tape, &maps, &o, &e) != 0) {
		fprintf(stderr, "%s\n", e.text);
		return 1;
	}
	for (int round = 0; round < 3; round++) {
		foreign = true;
		run(&s, "no mapping");
		foreign = false;
		for (choice = MAPPED_NOT; choice <= MAPPED_PROBED; choice++)
			run(&s, (const char *[]){ "not sampled", "sampled", "probed" }[choice]);
	}
	s.close(s.state);
	maps_release(&maps);
	unlink(file);
	rmdir(folder);
	return 0;
}
