/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "below/main/record_main.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "agent/system/thread_context.h"
#include "below/main/record_serve.h"
#include "kernel/kernel_stream.h"

enum { DONE = 0, FAILED = 1, MISUSED = 2, PIDS_MAX = 256, RING_KIB_MAX = 1 << 20 };

static const struct {
	const char *word;
	uint32_t groups;
} GROUPS[] = { { "lean", RECORD_OF_NET },
	{ "full", RECORD_OF_NET | RECORD_OF_IRQ | RECORD_OF_SYSCALLS | RECORD_OF_BLOCK },
	{ "sched", 0 }, { "irq", RECORD_OF_IRQ }, { "syscalls", RECORD_OF_SYSCALLS },
	{ "net", RECORD_OF_NET }, { "packets", RECORD_OF_PACKETS }, { "block", RECORD_OF_BLOCK },
	{ "faults", RECORD_OF_FAULTS }, { "migrations", RECORD_OF_MIGRATIONS },
	{ "units", RECORD_OF_UNITS } };

struct record_arguments {
	struct record_serve_options serve;
	pid_t pids[PIDS_MAX], place_pids[PIDS_MAX];
	struct record_place places[PIDS_MAX];
	const char *counted[RECORD_COUNTED_MAX]; /* as they were given: system:name */
	const char *kernel_names[RECORD_COUNTED_MAX];
	char *events, *list; /* list: writable copy */
	long reader;
};

/* What is wrong with the command line is told like an error of recording: in the stream, which a program reads. */
static int
misused(const char *what, const char *value, struct err *e)
{
	return err_set(
	    e, ERR_INPUT, "%s%s%s", what, value != NULL ? ": " : "", value != NULL ? value : "");
}

static int
parse_events(struct record_arguments *a, struct err *e)
{
	char *rest = a->list, *word;

	while ((word = strsep(&rest, ",")) != NULL) {
		struct record_bpf_options *o = &a->serve.bpf;
		const char *colon = strchr(word, ':');
		bool known = false;

		for (size_t i = 0; i < sizeof GROUPS / sizeof *GROUPS; i++)
			if (strcmp(word, GROUPS[i].word) == 0) {
				o->groups |= GROUPS[i].groups;
				known = true;
			}
		if (strcmp(word, "stacks") == 0)
			a->serve.stacks = known = true;
		if (known)
			continue;
		if (colon == NULL || colon == word || colon[1] == '\0')
			return misused(
			    "--events: must be lean, full, sched, irq, syscalls, net, packets, block, faults, "
			    "migrations, units, stacks, or SYSTEM:TRACEPOINT to be counted, with commas between",
			    word, e);
		if (o->ncounted == RECORD_COUNTED_MAX)
			return misused("--events: at most 8 tracepoints are counted", NULL, e);
		a->counted[o->ncounted] = word;
		a->kernel_names[o->ncounted++] = colon + 1;
	}
	return 0;
}

static int
parse_pids(struct record_arguments *a, char *list, struct err *e)
{
	char *rest = list, *word, *end;

	while ((word = strsep(&rest, ",")) != NULL) {
		long pid = strtol(word, &end, 10);
		char path[40];

		if (*word == '\0' || *end != '\0' || pid < 1 || pid > 1 << 22)
			return misused(
			    "--pid: must be ids of processes, with commas between", word, e);
		if (a->serve.bpf.npids == PIDS_MAX)
			return misused("--pid: at most 256 processes", NULL, e);
		snprintf(path, sizeof path, "/proc/%ld", pid);
		if (access(path, F_OK) != 0)
			return err_set(e, ERR_MISSING, "there is no process %ld", pid);
		a->pids[a->serve.bpf.npids++] = (pid_t)pid;
	}
	return 0;
}

static int
parse_one(struct record_arguments *a, int c, struct err *e)
{
	char *end;
	long kib;

	switch (c) {
	case 'p':
		return parse_pids(a, optarg, e);
	case 's':
		a->serve.seconds = strtod(optarg, &end);
		if (*optarg == '\0' || *end != '\0' || !(a->serve.seconds > 0) ||
		    a->serve.seconds > 86400)
			return misused(
			    "--seconds: must be more than 0, and a day at most", optarg, e);
		return 0;
	case 'e':
		free(a->list);
		a->serve.bpf.groups = 0;
		a->serve.bpf.ncounted = 0;
		a->serve.stacks = false;
		if ((a->list = strdup(optarg)) == NULL)
			return err_set(e, ERR_MEMORY, "out of memory");
		return parse_events(a, e);
	case 'b':
		kib = strtol(optarg, &end, 10);
		if (*optarg == '\0' || *end != '\0' || kib < 4 || kib > RING_KIB_MAX ||
		    (kib & (kib - 1)) != 0)
			return misused(
			    "--ring: must be a power of two of KiB, 4 to 1048576", optarg, e);
		a->serve.bpf.ring_bytes = (uint32_t)kib << 10;
		return 0;
	case 'r':
		a->reader = strtol(optarg, &end, 10);
		return *end != '\0' || a->reader < 1
		           ? misused("--reader: must be the id of a process", optarg, e)
		           : 0;
	case 't':
		a->serve.bpf.texts = true;
		return 0;
	case 'R':
		return 0;
	}
	return misused("unknown option; see hone-below --help", NULL, e);
}

static int
parse(int argc, char **argv, struct record_arguments *a, struct err *e)
{
	static const struct option OPTIONS[] = { { "record", no_argument, NULL, 'R' },
		{ "pid", required_argument, NULL, 'p' },
		{ "seconds", required_argument, NULL, 's' },
		{ "events", required_argument, NULL, 'e' },
		{ "ring", required_argument, NULL, 'b' },
		{ "reader", required_argument, NULL, 'r' }, { "texts", no_argument, NULL, 't' },
		{ 0 } };
	int c, rc = 0;

	opterr = 0;
	while (rc == 0 && (c = getopt_long(argc, argv, "", OPTIONS, NULL)) != -1)
		rc = parse_one(a, c, e);
	if (rc == 0 && optind < argc)
		rc = misused("unexpected argument", argv[optind], e);
	if (rc == 0 && a->serve.stacks && a->serve.bpf.npids == 0)
		rc = misused(
		    "--events: stacks are recorded of the processes of --pid only", NULL, e);
	return rc;
}

/* Where the processes have the contexts of their threads; those without libhone have none. */
static void
find_places(struct record_arguments *a)
{
	struct record_bpf_options *o = &a->serve.bpf;
	struct hone_context_place place;
	uint64_t address;

	o->places = a->places;
	o->place_pids = a->place_pids;
	for (size_t i = 0; (o->groups & RECORD_OF_UNITS) != 0 && i < o->npids; i++) {
		enum thread_context c = thread_context_find(a->pids[i], &place, &address);

		if (c != THREAD_CONTEXT_FOUND && c != THREAD_CONTEXT_UNREAD)
			continue;
		a->place_pids[o->nplaces] = a->pids[i];
		a->places[o->nplaces++] = (struct record_place){
			c == THREAD_CONTEXT_FOUND ? place.offset : 0, address,
			c == THREAD_CONTEXT_FOUND ? place.unit_id : 0
		};
	}
}

/* An error before anything is recorded, as a stream. */
static void
tell(const struct err *why)
{
	struct kernel_names none = { 0 };
	struct kernel_writer *w = kernel_writer_new(&none);
	struct buf out = { 0 };

	if (w != NULL) {
		kernel_writer_news(w,
		    &(struct kernel_news){
			.kind = KERNEL_FAILED, .code = why->code, .text = why->text },
		    &out);
		kernel_writer_flush(w, &out);
		if (!out.failed && write(STDOUT_FILENO, out.data, out.len) < 0)
			perror("hone-below");
	}
	kernel_writer_free(w);
	buf_release(&out);
}

int
record_main(int argc, char **argv, const volatile sig_atomic_t *ended)
{
	struct record_arguments a = {
		.serve = { .bpf.groups = RECORD_OF_NET, .seconds = 10, .out = STDOUT_FILENO }
	};
	struct err e;
	int rc;

	signal(SIGPIPE, SIG_IGN);
	if (isatty(STDOUT_FILENO)) {
		fputs(
		    "hone-below: --record writes a stream, not for a terminal; hone kernel record makes a "
		    "recording of it\n",
		    stderr);
		return MISUSED;
	}
	rc = parse(argc, argv, &a, &e);
	if (rc != 0) {
		tell(&e);
	} else {
		a.serve.bpf.pids = a.pids;
		find_places(&a);
		a.serve.bpf.counted = a.kernel_names;
		a.serve.counted = a.counted;
		a.serve.bpf.excluded[0] = getpid();
		a.serve.bpf.excluded[1] = (pid_t)a.reader;
		if (a.reader != 0) { /* the pipe's end says so, too */
			prctl(PR_SET_PDEATHSIG, SIGTERM);
			if (getppid() != a.reader) {
				free(a.list);
				return FAILED;
			}
		}
		rc = record_serve(&a.serve, ended, &e);
	}
	free(a.list);
	if (rc != 0 && a.reader == 0)
		fprintf(stderr, "hone-below: %s\n", e.text);
	return rc == 0 ? DONE : rc == ERR_INPUT ? MISUSED : FAILED;
}
