/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * source_dump OUTPUT SHM UNTIL [keep] [memory=BYTES] [records=N] [unrelated=0] [stall_ms=N]: reads
 * a session until the file UNTIL exists and the watermark has passed the time at which it was
 * found. Prints records on standard output, one a line, and counters as shell variables on standard
 * error. SHM "follow": reads the sessions in OUTPUT/0, OUTPUT/1..., as they are created and
 * removed.
 */
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/reader/source_lttng.h"
#include "agent/reader/sources.h"

static uint64_t unordered, early, bad_losses, polls, going_back;
static int64_t most_behind_ns;
static double fullest;

static void
print_text(const char *s, uint32_t len)
{
	putchar('"');
	for (uint32_t i = 0; i < len; i++) {
		if (s[i] == '\n' || s[i] == '\t')
			printf("\\%c", s[i] == '\n' ? 'n' : 't');
		else if (s[i] == '"' || s[i] == '\\')
			printf("\\%c", s[i]);
		else
			putchar(s[i]);
	}
	putchar('"');
}

static void
print_value(const struct value *v)
{
	switch (v->type) {
	case VALUE_INT:
		printf("%" PRId64, v->i);
		break;
	case VALUE_UINT:
		printf("%" PRIu64, v->u);
		break;
	case VALUE_REAL:
		printf("%g", v->d);
		break;
	case VALUE_TEXT:
		print_text(v->text, v->len);
		break;
	default:
		printf("none");
		break;
	}
}

static void
print_record(const struct record *r, const struct batch_label *l)
{
	printf("%020" PRId64 " %.*s pid=%u tid=%u trace=%" PRIu64 " unit=%" PRIu64 " link=%" PRIu64,
	    r->time_ns, (int)l->len, l->text, r->pid, r->tid, r->trace_id, r->unit_id, r->link_id);
	for (uint32_t i = 0; i < r->nvalues; i++) {
		printf(" %s=", l->fields[i]);
		print_value(&r->values[i]);
	}
	putchar('\n');
}

static void
check(const struct source_output *t, const struct batch_label *labels, uint32_t nlabels,
    int64_t before_ns, int64_t now_ns)
{
	for (uint32_t i = 0; i < t->nrecords; i++) {
		const struct record *r = &t->records[i];
		unordered += i > 0 && r->time_ns < t->records[i - 1].time_ns;
		early += i >= t->nlate && r->time_ns <= before_ns;
		early += r->label >= nlabels || r->nvalues != labels[r->label].nfields ||
		         r->time_ns > t->watermark_ns + 1;
		print_record(r, &labels[r->label]);
	}
	for (uint32_t i = 0; i < t->nlosses; i++) {
		const struct loss *l = &t->losses[i];
		bad_losses += l->count == 0 || l->from_ns > l->to_ns;
		fprintf(stderr, "# loss %u: %" PRIu64 " from %" PRId64 " to %" PRId64 "\n",
		    l->reason, l->count, l->from_ns, l->to_ns);
	}
	going_back += t->watermark_ns < before_ns;
	if (before_ns > 0 && now_ns - t->watermark_ns > most_behind_ns)
		most_behind_ns = now_ns - t->watermark_ns;
}

static void
summary(struct source *s)
{
	struct source_stats l;

	s->stats(s->state, &l);
	fprintf(stderr,
	    "records=%" PRIu64 " unrelated=%" PRIu64 " late=%" PRIu64 " packets=%" PRIu64
	    " lost_ring=%" PRIu64 " lost_decode=%" PRIu64 " stalls=%" PRIu64 " unordered=%" PRIu64
	    " early=%" PRIu64 " bad_losses=%" PRIu64 " going_back=%" PRIu64 " behind_ms=%" PRId64
	    " polls=%" PRIu64 " fullest=%.0f changes=%" PRIu64 " live=%u\n",
	    l.records, l.outside_dropped, l.late, l.packets, l.lost[LOSS_RING], l.lost[LOSS_DECODE],
	    l.stalls, unordered, early, bad_losses, going_back, most_behind_ns / 1000000, polls,
	    fullest * 100, l.changes, l.nprocesses);
	fprintf(stderr, "trouble='%s'\n", l.trouble);
}

static void
show_live(struct source *s)
{
	static uint64_t changes = UINT64_MAX, stalls;
	struct source_stats l;

	s->stats(s->state, &l);
	if (l.stalls != stalls)
		fprintf(stderr, "# stalls %" PRIu64 "\n", l.stalls);
	stalls = l.stalls;
	if (l.fullest > fullest)
		fullest = l.fullest;
	if (l.changes == changes)
		return;
	changes = l.changes;
	fprintf(stderr, "# live");
	for (uint32_t i = 0; i < l.nprocesses; i++)
		fprintf(stderr, " %s:%u", l.processes[i].service, l.processes[i].pid);
	fprintf(stderr, "\n");
}

int
main(int argc, char **argv)
{
	struct source_options o = { .outside = true };
	struct source_place place = { .channel = "hone" };
	const char *reader = "hone";
	struct source s;
	struct err e;
	int64_t until_ns = 0, before_ns = 0;

	if (argc < 4)
		return 2;
	for (int i = 4; i < argc; i++) {
		o.keep |= strcmp(argv[i], "keep") == 0;
		if (strncmp(argv[i], "memory=", 7) == 0)
			o.memory_bytes = strtoull(argv[i] + 7, NULL, 10);
		if (strncmp(argv[i], "reader=", 7) == 0)
			reader = argv[i] + 7;
		if (strncmp(argv[i], "records=", 8) == 0)
			o.records_max = (uint32_t)atoi(argv[i] + 8);
		if (strncmp(argv[i], "stall_ms=", 9) == 0)
			o.stall_ns = atoll(argv[i] + 9) * 1000000;
		if (strcmp(argv[i], "unrelated=0") == 0)
			o.outside = false;
	}
	place.folder = argv[1];
	if ((strcmp(argv[2], "follow") == 0
		    ? sources_open(&s, reader, &place, &o, &e)
		    : source_lttng_open(&s, argv[1], argv[2], "hone", &o, &e)) != 0) {
		fprintf(stderr, "%s\n", e.text);
		return 1;
	}
	while (until_ns == 0 || before_ns < until_ns) {
		struct source_output t;
		struct mono now = clock_mono();
		uint32_t nlabels;
		polls++;
		if (s.poll(s.state, now, &t, &e) != 0) {
			fprintf(stderr, "%s\n", e.text);
			return 1;
		}
		const struct batch_label *labels = s.labels(s.state, &nlabels);
		check(&t, labels, nlabels, before_ns, now.ns);
		before_ns = t.watermark_ns;
		show_live(&s);
		if (until_ns == 0 && access(argv[3], F_OK) == 0)
			until_ns = now.ns;
		if (!t.more)
			poll(NULL, 0, 5);
	}
	summary(&s);
	s.close(s.state);
	return 0;
}
