/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Cost of reading recordings of the kernel, in processor time of a process of its own.
 *
 * CTF in pairs with `babeltrace2 -o dummy`, which decodes the same events and does nothing with them: a recording that Hone wrote, and
 * LTTng's many-threads of the data sets (HONE_DATA). Text: events per second. Measures only: no time makes it fail.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/rng.h"
#include "kernel/files/ctf_writer.h"
#include "kernel/files/kernel_files.h"

enum { PAIRS = 7, EVENTS = 1000000, CPUS = 4, BATCH = 20000 };

static void
die(const char *what)
{
	fprintf(stderr, "kernel_files_read: %s\n", what);
	exit(1);
}

/* ---- processes -------------------------------------------------------------- */

static void
read_it(const char *path)
{
	struct kernel_files_options o = { 0 };
	struct kernel_files_counts counts;
	struct kernel_names names;
	struct err e;

	if (kernel_names_new(&names, &e) != 0 ||
	    kernel_files_read((char *[]){ (char *)path }, 1, &o, &names, &counts, &e) != 0)
		die(e.text);
	kernel_names_release(&names);
}

static void
decode_it(const char *path)
{
	int null = open("/dev/null", O_WRONLY);

	dup2(null, STDOUT_FILENO);
	dup2(null, STDERR_FILENO);
	execlp("babeltrace2", "babeltrace2", "-o", "dummy", path, (char *)NULL);
	_exit(127);
}

/* Processor time of a process that does it, in s; *peak_kib its most memory. */
static double
cpu_s(void (*it)(const char *path), const char *path, long *peak_kib)
{
	struct rusage used;
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		it(path);
		_exit(0);
	}
	if (pid < 0 || wait4(pid, &status, 0, &used) != pid || status != 0)
		die("a process has failed");
	*peak_kib = used.ru_maxrss;
	return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
	       (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
}

static int
by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static void
in_pairs(const char *name, const char *path, double events)
{
	double ratios[PAIRS], ours = 1e9, theirs = 1e9;
	long peak = 0, their_peak = 0;

	for (int i = 0; i < PAIRS; i++) {
		double a, b;

		if (i % 2 == 0) {
			a = cpu_s(read_it, path, &peak);
			b = cpu_s(decode_it, path, &their_peak);
		} else {
			b = cpu_s(decode_it, path, &their_peak);
			a = cpu_s(read_it, path, &peak);
		}
		ratios[i] = a / b;
		ours = a < ours ? a : ours;
		theirs = b < theirs ? b : theirs;
	}
	qsort(ratios, PAIRS, sizeof *ratios, by_size);
	printf(
	    "%-22s %9.0f events  %6.2f M/s, babeltrace2 -o dummy %6.2f M/s; time %.2f times as much (%.2f to %.2f, "
	    "%d pairs); %ld and %ld MiB\n",
	    name, events, events / ours / 1e6, events / theirs / 1e6, ratios[PAIRS / 2], ratios[0],
	    ratios[PAIRS - 1], PAIRS, peak >> 10, their_peak >> 10);
}

static void
alone(const char *name, const char *path)
{
	double least = 1e9;
	long peak = 0;

	for (int i = 0; i < 3; i++) {
		double a = cpu_s(read_it, path, &peak);

		least = a < least ? a : least;
	}
	printf("%-22s %9d events  %6.2f M/s; %ld MiB\n", name, EVENTS, EVENTS / least / 1e6,
	    peak >> 10);
}

/* ---- recordings ------------------------------------------------------------- */

struct load { /* of CPUs that switch between threads, with interrupts */
	struct rng rng;
	int64_t time_ns;
	uint32_t runs[CPUS];
	bool in_softirq[CPUS];
};

static const char *const names[] = { "nginx", "mysqld", "Web Content", "kworker/0:1", "a-b" };

static void
write_ftrace(FILE *f)
{
	struct load l = { .time_ns = INT64_C(1000000000000) };

	rng_seed(&l.rng, 1);
	fputs("# tracer: nop\n#\n", f);
	for (int i = 0; i < EVENTS; i++) {
		uint32_t cpu = (uint32_t)rng_below(&l.rng, CPUS), runs = l.runs[cpu],
			 next = (uint32_t)rng_below(&l.rng, 5);

		l.time_ns += 200 + (int64_t)rng_below(&l.rng, 2000);
		fprintf(f, "%16s-%-7u [%03u] d..2. %ld.%06ld: ", names[runs], 100 + runs, cpu,
		    (long)(l.time_ns / 1000000000), (long)(l.time_ns / 1000 % 1000000));
		if (l.in_softirq[cpu]) {
			fputs("softirq_exit: vec=3 [action=NET_RX]\n", f);
			l.in_softirq[cpu] = false;
		} else if (i % 4 == 0) {
			fputs("softirq_entry: vec=3 [action=NET_RX]\n", f);
			l.in_softirq[cpu] = true;
		} else if (i % 4 == 1) {
			fprintf(f, "sched_waking: comm=%s pid=%u prio=120 target_cpu=%03u\n",
			    names[next], 100 + next, cpu);
		} else {
			fprintf(f,
			    "sched_switch: prev_comm=%s prev_pid=%u prev_prio=120 prev_state=S ==> "
			    "next_comm=%s next_pid=%u next_prio=120\n",
			    names[runs], 100 + runs, names[next], 100 + next);
			l.runs[cpu] = next;
		}
	}
}

/* As bpftrace writes them: batches of each CPU, one after the other. */
static void
write_psv(FILE *f)
{
	struct rng rng;
	int64_t time_ns = 0;

	rng_seed(&rng, 1);
	for (int i = 0; i < EVENTS; i++) {
		uint32_t cpu = (uint32_t)(i / (BATCH / CPUS)) % CPUS,
			 thread = (uint32_t)rng_below(&rng, 5);

		if (i % (BATCH / CPUS) == 0)
			time_ns = i / BATCH * INT64_C(25000000);
		time_ns += (int64_t)rng_below(&rng, 8000);
		fprintf(f, "\"%s\"|\"%u\"|\"%ld\"|\"%u\"|", names[thread], 100 + thread,
		    (long)time_ns, cpu);
		if (i % 4 == 0)
			fputs("\"MT:tracepoint:syscalls:sys_enter_recvfrom\"\n", f);
		else if (i % 4 == 2)
			fputs("\"MT:tracepoint:syscalls:sys_exit_recvfrom\"\n", f);
		else
			fprintf(f,
			    "\"MT:%s\"|\"sport=80 dport=%u saddr=10.0.0.2 daddr=10.0.0.1\"\n",
			    i % 4 == 1 ? "tracepoint:tcp:tcp_rcv_space_adjust"
				       : "kprobe:sock_sendmsg",
			    5000 + thread);
	}
}

static void
write_text(const char *path, void (*write)(FILE *f))
{
	FILE *f = fopen(path, "w");

	if (f == NULL)
		die(path);
	write(f);
	if (fclose(f) != 0)
		die(path);
}

/* Converts a recording. Returns its number of events. */
static double
write_own(const char *from, const char *to)
{
	struct kernel_files_options o = { .take = kernel_ctf_take };
	struct kernel_files_counts counts;
	struct kernel_ctf_writer *w;
	struct kernel_names n;
	uint64_t events, bytes;
	struct err e;

	if (kernel_names_new(&n, &e) != 0 || kernel_ctf_open(&w, to, &n, NULL, &e) != 0)
		die(e.text);
	o.of = w;
	if (kernel_files_read((char *[]){ (char *)from }, 1, &o, &n, &counts, &e) != 0)
		die(e.text);
	kernel_ctf_written(w, &events, &bytes);
	if (kernel_ctf_close(w, &e) != 0)
		die(e.text);
	kernel_names_release(&n);
	return (double)events;
}

static void
run(const char *command)
{
	if (system(command) != 0)
		die(command);
}

int
main(void)
{
	const char *data = getenv("HONE_DATA");
	char folder[] = "/tmp/hone_bench_XXXXXX", path[4][64], command[512];

	if (mkdtemp(folder) == NULL)
		die("no temporary folder");
	snprintf(path[0], sizeof path[0], "%s/ftrace.txt", folder);
	snprintf(path[1], sizeof path[1], "%s/log.psv", folder);
	snprintf(path[2], sizeof path[2], "%s/own", folder);
	snprintf(path[3], sizeof path[3], "%s/many-threads", folder);
	write_text(path[0], write_ftrace);
	write_text(path[1], write_psv);
	alone("ftrace", path[0]);
	alone("psv, CPU by CPU", path[1]);
	in_pairs("CTF that Hone wrote", path[2], write_own(path[0], path[2]));
	snprintf(command, sizeof command, "%s/kernel/many-threads.tar.gz",
	    data != NULL ? data : "../shared/data");
	if (access(command, R_OK) == 0) {
		snprintf(command, sizeof command,
		    "tar -xzf '%s/kernel/many-threads.tar.gz' -C '%s'",
		    data != NULL ? data : "../shared/data", folder);
		run(command);
		in_pairs("CTF of LTTng", path[3], 240644);
	} else {
		printf("CTF of LTTng: no data sets; HONE_DATA says where they are\n");
	}
	snprintf(command, sizeof command, "rm -rf -- '%s'", folder);
	run(command);
	return 0;
}
