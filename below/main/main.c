/* SPDX-License-Identifier: GPL-3.0-or-later */
/* hone-below(8) */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "agent/system/otel_context.h"
#include "agent/system/thread_context.h"
#include "base/clock.h"
#include "below/main/below_watch.h"
#include "below/main/helper.h"
#include "below/main/probe_table.h"
#include "below/main/record_main.h"
#include "below/main/table.h"

enum { DONE = 0, FAILED = 1, MISUSED = 2, AGENT_SOCKET = 3, READ_MS = 50, SAMPLES_HZ = 999 };

struct arguments {
	long pid;
	double seconds;
	uint32_t without;
	const char *probes; /* NULL: waits and samples */
	bool all, can, json;
};

static volatile sig_atomic_t ended;

static void
on_end(int signal_number)
{
	(void)signal_number;
	ended = 1;
}

static void
usage(FILE *out)
{
	fputs(
	    "usage: hone-below --pid N [--seconds S] [--all] [--probes PATTERN] [--json]\n"
	    "       hone-below --can [--json]\n"
	    "       hone-below --record [--pid N,...] [--seconds S] [--events LIST] [--texts] [--ring KIB] [--reader N]\n"
	    "\n"
	    "What the threads of a process do in probed requests: on a CPU, ready, or waiting, for what, and where in the\n"
	    "code. Without arguments it is hone-agent's helper. With CAP_BPF and CAP_PERFMON it sees all of that; without, what looks\n"
	    "at /proc again and again can tell of programs of the same user.\n"
	    "\n"
	    "  --pid N         the process\n"
	    "  --seconds S     how long to observe it (10)\n"
	    "  --all           all of its threads at all times, not only those in probed requests\n"
	    "  --probes PATTERN  instead, count how often it passes those of its USDT probes that match (*: any text);\n"
	    "                  func.NAME: begin and end of that function\n"
	    "  --without LIST  as if the kernel could not do these: bpf, samples, stacks, holders, probes; or did not\n"
	    "                  have these features: task_from_pid (Linux 6.2), uprobe_multi (6.6)\n"
	    "  --can           print what this machine and these privileges permit\n"
	    "  --record        write what happens in the kernel to standard output, for hone kernel record\n"
	    "  --json          print JSON\n"
	    "  --help          print this text\n"
	    "  --version       print the version\n",
	    out);
}

static int
misused(const char *what, const char *value)
{
	fprintf(stderr, "hone-below: %s%s%s; see hone-below --help\n", what,
	    value != NULL ? ": " : "", value != NULL ? value : "");
	return MISUSED;
}

/* "samples,holders". False: another word. */
static bool
parse_without(char *list, uint32_t *ret)
{
	static const struct {
		const char *word;
		uint32_t flag;
	} WORDS[] = { { "samples", BELOW_CAN_SAMPLES }, { "stacks", BELOW_CAN_STACKS },
		{ "holders", BELOW_CAN_HOLDERS }, { "probes", BELOW_CAN_PROBES },
		{ "task_from_pid", TRACE_WITHOUT_TASK_FROM_PID },
		{ "uprobe_multi", TRACE_WITHOUT_UPROBE_MULTI }, { "bpf", WATCH_WITHOUT_BPF } };
	char *rest = list, *word;

	while ((word = strsep(&rest, ",")) != NULL) {
		bool known = false;

		for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS; i++)
			if (strcmp(word, WORDS[i].word) == 0) {
				*ret |= WORDS[i].flag;
				known = true;
			}
		if (!known)
			return false;
	}
	return true;
}

/* DONE, or -1: go on. */
static int
parse(int argc, char **argv, struct arguments *a)
{
	static const struct option OPTIONS[] = { { "pid", required_argument, NULL, 'p' },
		{ "seconds", required_argument, NULL, 's' }, { "all", no_argument, NULL, 'a' },
		{ "probes", required_argument, NULL, 'P' },
		{ "without", required_argument, NULL, 'w' }, { "can", no_argument, NULL, 'c' },
		{ "json", no_argument, NULL, 'j' }, { "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' }, { 0 } };
	char *end;
	int c;

	while ((c = getopt_long(argc, argv, "", OPTIONS, NULL)) != -1) {
		switch (c) {
		case 'p':
			a->pid = strtol(optarg, &end, 10);
			if (*optarg == '\0' || *end != '\0' || a->pid < 1 || a->pid > 1 << 22)
				return misused("--pid: must be the id of a process", optarg);
			break;
		case 's':
			a->seconds = strtod(optarg, &end);
			if (*optarg == '\0' || *end != '\0' || !(a->seconds > 0) ||
			    a->seconds > 86400)
				return misused(
				    "--seconds: must be more than 0, and a day at most", optarg);
			break;
		case 'w':
			if (!parse_without(optarg, &a->without))
				return misused(
				    "--without: must be bpf, samples, stacks, holders, probes, task_from_pid or "
				    "uprobe_multi, with commas between",
				    NULL);
			break;
		case 'P':
			a->probes = optarg;
			break;
		case 'a':
			a->all = true;
			break;
		case 'c':
			a->can = true;
			break;
		case 'j':
			a->json = true;
			break;
		case 'h':
			usage(stdout);
			return DONE;
		case 'V':
			printf("hone-below %s\n", HONE_VERSION);
			return DONE;
		default:
			fputs("see hone-below --help\n", stderr);
			return MISUSED;
		}
	}
	if (optind < argc)
		return misused("unexpected argument", argv[optind]);
	if (!a->can && a->pid == 0)
		return misused("--pid or --can is missing", NULL);
	return -1;
}

static int
failed(const struct err *e)
{
	fprintf(stderr, "hone-below: %s\n", e->text);
	return FAILED;
}

static int
print_can(const struct arguments *a)
{
	static const struct {
		uint32_t flag;
		const char *word, *text;
	} ALL[] = { { BELOW_CAN_WAITS, "waits", "waits off the CPU, with their cause" },
		{ BELOW_CAN_FAULTS, "faults", "waits for page faults" },
		{ BELOW_CAN_SAMPLES, "samples", "samples on the CPU" },
		{ BELOW_CAN_STACKS, "stacks", "places in the code" },
		{ BELOW_CAN_HOLDERS, "holders", "what the holder of a lock does" },
		{ BELOW_CAN_PROBES, "probes", "probes in the code that programs ship (USDT)" },
		{ BELOW_CAN_SAMPLED, "sampled",
		    "all of this by looks at /proc, again and again" } };
	const struct observer_options o = { SAMPLES_HZ, a->without };
	struct below_watch w;
	struct err e;
	bool opened = watch_open(&w, &o, &e) == 0;
	struct below_can can = opened ? watch_can(&w) : (struct below_can){ 0, e.text };
	json_t *list = json_object();

	for (size_t i = 0; i < sizeof ALL / sizeof *ALL; i++) {
		bool has = (can.flags & ALL[i].flag) != 0;

		json_object_set_new(list, ALL[i].word, json_boolean(has));
		if (!a->json)
			printf("%-3s  %s\n", has ? "yes" : "no", ALL[i].text);
	}
	json_object_set_new(list, "missing", json_string(can.missing));
	if (a->json)
		json_dumpf(list, stdout, JSON_INDENT(2)), puts("");
	else if (can.missing[0] != '\0')
		printf("%s\n", can.missing);
	json_decref(list);
	watch_close(&w);
	return opened ? DONE : FAILED;
}

/* Where the process keeps its contexts. */
static int
find_context(long pid, struct below_follow *f, struct err *e)
{
	struct hone_context_place p = { 0 };
	struct otel_context otel;
	uint64_t address = 0;
	enum thread_context c = thread_context_find((pid_t)pid, &p, &address);

	if (kill((pid_t)pid, 0) != 0 && errno == ESRCH)
		return err_set(e, ERR_MISSING, "there is no process %ld", pid);
	if (c == THREAD_CONTEXT_NONE && otel_context_find((pid_t)pid, &otel)) {
		*f = (struct below_follow){ .pid = (uint32_t)pid,
			.flags = BELOW_FOLLOW_WAITS,
			.context = (uint8_t)(BELOW_CONTEXT_OTEL_FIXED + otel.model),
			.offset = otel.offset,
			.address = otel.address };
		return 0;
	}
	if (c != THREAD_CONTEXT_FOUND)
		return err_set(e, ERR_MISSING,
		    "process %ld: its requests are not known: %s (--all follows all threads)", pid,
		    thread_context_text(c));
	*f = (struct below_follow){ .pid = (uint32_t)pid,
		.flags = BELOW_FOLLOW_WAITS,
		.offset = p.offset,
		.trace_id = p.trace_id,
		.unit_id = p.unit_id,
		.request_type = p.request_type,
		.probed = p.probed };
	return 0;
}

/* Processes of other users may not be signalled, and are observed all the same. */
static bool
is_alive(long pid)
{
	return kill((pid_t)pid, 0) == 0 || errno == EPERM;
}

static int
observe(const struct arguments *a)
{
	const struct observer_options o = { SAMPLES_HZ, a->without };
	struct below_follow f;
	struct below_watch w = { 0 };
	struct table *t = table_new();
	struct mono begun;
	double seconds = 0;
	struct err e;
	int rc = DONE;

	if (t == NULL || (!a->all && find_context(a->pid, &f, &e) != 0) ||
	    watch_open(&w, &o, &e) != 0 ||
	    watch_follow(&w, (pid_t)a->pid, a->all ? NULL : &f, &e) != 0) {
		rc = failed(t != NULL ? &e : &(struct err){ ERR_MEMORY, "out of memory" });
		goto end;
	}
	fprintf(stderr, "hone-below: observing process %ld for %g s\n", a->pid, a->seconds);
	begun = clock_mono();
	while (!ended && seconds < a->seconds && is_alive(a->pid)) {
		int64_t wait_ns = watch_wait_ns(&w, READ_MS * INT64_C(1000000));

		nanosleep(&(struct timespec){ .tv_nsec = wait_ns }, NULL);
		watch_turn(&w, table_take, t);
		watch_read(&w, false, table_take, t);
		seconds = (double)mono_since_ns(clock_mono(), begun) / 1e9;
	}
	watch_read(&w, true, table_take, t);
	if (watch_can(&w).flags & BELOW_CAN_SAMPLED)
		fprintf(stderr, "hone-below: %s\n", watch_can(&w).missing);
	if (a->json)
		rc = table_json(t, stdout, seconds) == 0 ? DONE : FAILED;
	else
		table_print(t, stdout, seconds);
end:
	watch_close(&w);
	table_free(t);
	return rc;
}

static int
count_probes(const struct arguments *a)
{
	const struct observer_options o = { SAMPLES_HZ, a->without };
	struct below_follow f = { .pid = (uint32_t)a->pid, .flags = BELOW_FOLLOW_ALL };
	struct probe_table *t = probe_table_new();
	struct below_watch w = { 0 };
	struct mono begun;
	double seconds = 0;
	struct err e;
	int rc = DONE;

	if (t == NULL || (!a->all && find_context(a->pid, &f, &e) != 0) ||
	    watch_open(&w, &o, &e) != 0 || watch_follow(&w, (pid_t)a->pid, &f, &e) != 0) {
		rc = failed(t != NULL ? &e : &(struct err){ ERR_MEMORY, "out of memory" });
		goto end;
	}
	watch_list(&w, (pid_t)a->pid, probe_table_take, t);
	if (probe_table_ask(t, &w, (pid_t)a->pid, a->probes) == 0) {
		err_set(&e, ERR_MISSING, "process %ld has no probe that matches %s%s%s", a->pid,
		    a->probes, watch_can(&w).missing[0] != '\0' ? ": " : "", watch_can(&w).missing);
		rc = failed(&e);
		goto end;
	}
	watch_apply(&w, probe_table_take, t);
	fprintf(stderr, "hone-below: observing process %ld for %g s\n", a->pid, a->seconds);
	begun = clock_mono();
	while (!ended && seconds < a->seconds && is_alive(a->pid)) {
		nanosleep(&(struct timespec){ .tv_nsec = READ_MS * 1000000L }, NULL);
		watch_read(&w, false, probe_table_take, t);
		seconds = (double)mono_since_ns(clock_mono(), begun) / 1e9;
	}
	watch_read(&w, true, probe_table_take, t);
	if (a->json)
		rc = probe_table_json(t, stdout, seconds) == 0 ? DONE : FAILED;
	else
		probe_table_print(t, stdout);
end:
	watch_close(&w);
	probe_table_free(t);
	return rc;
}

static bool
is_helper(void)
{
	int type;
	socklen_t len = sizeof type;

	return getsockopt(AGENT_SOCKET, SOL_SOCKET, SO_TYPE, &type, &len) == 0 &&
	       type == SOCK_SEQPACKET;
}

int
main(int argc, char **argv)
{
	struct arguments a = { .seconds = 10 };
	struct sigaction end = { .sa_handler = on_end };
	struct err e;
	int rc;

	/* copied stacks are user data: no core file, no debugger */
	prctl(PR_SET_DUMPABLE, 0);
	setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
	if (argc == 1 && is_helper())
		return helper_serve(AGENT_SOCKET, &e) == 0 ? DONE : failed(&e);
	sigaction(SIGINT, &end, NULL);
	sigaction(SIGTERM, &end, NULL);
	if (argc > 1 && strcmp(argv[1], "--record") == 0)
		return record_main(argc, argv, &ended);
	if ((rc = parse(argc, argv, &a)) >= 0)
		return rc;
	return a.can ? print_can(&a) : a.probes != NULL ? count_probes(&a) : observe(&a);
}
