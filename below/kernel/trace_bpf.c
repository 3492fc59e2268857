/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "below/kernel/trace_bpf.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/btf.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "below/kernel/bpf_refusal.h"
#include "below/kernel/probe_link.h"
#include "below/kernel/process_map.h"
#include "below/kernel/record_numbers.h"
#include "wire/below.h"

/* Of all rings together, and of the least one: a CPU's stacks of 20 ms. */
enum { LINKS_MAX = 16, RINGS_BYTES = 16 << 20, RING_MIN_BYTES = 256 << 10 };
#define LOST_UNTIMED_NS \
	INT64_C(1000000000) /* how far back a loss is taken to reach whose begin is not noted yet */
enum { LEFT_THREADS_MAX = 16384 }; /* 200 bytes each, where the kernel has no bpf_task_from_pid() */

/* trace.bpf.o, made by clang */
extern const char trace_object_begin[], trace_object_end[];
__asm__(".section .rodata\n"
	".balign 8\n"
	".global trace_object_begin, trace_object_end\n"
	"trace_object_begin:\n"
	".incbin \"" TRACE_OBJECT "\"\n"
	"trace_object_end:\n"
	".previous\n");

struct trace_bpf {
	struct bpf_object *object;
	struct bpf_link **links;
	int nlinks, capacity;
	struct ring_buffer *ring; /* all of them */
	struct cpu_ring {
		struct trace_bpf *of;
		uint32_t cpu;
		int map;
	} * rings;
	int nrings;
	struct cpu_merge *merge;
	struct record_numbers *numbers;
	trace_bpf_take *take; /* during a read */
	void *take_of;
	int processes, probes, passes; /* maps */
	int ncpus;
	int on_probe;          /* program; -1: not possible */
	uint32_t probes_max;   /* places at a time; 0: none */
	bool knows_threads;    /* the kernel has bpf_task_from_pid() */
	struct raw_lost *lost; /* of trace.bpf.c */
	uint64_t told;         /* of what the programs count */
	uint64_t forgotten;    /* for lack of memory */
	uint64_t missing_sum,
	    explained; /* numbers that are missing; of these, those that were told */
	int64_t missing_from_ns, missing_to_ns;
	uint64_t told_forgotten;
	uint32_t can;
	char missing[BELOW_MISSING_MAX + 1];
};

static void
lacks(struct trace_bpf *t, const char *text)
{
	size_t n = strlen(t->missing);

	snprintf(t->missing + n, sizeof t->missing - n, "%s%s", n > 0 ? "; " : "", text);
}

static bool
keep_link(struct trace_bpf *t, struct bpf_link *link)
{
	if (link == NULL)
		return false;
	if (t->nlinks == t->capacity) {
		int capacity = t->capacity > 0 ? 2 * t->capacity : LINKS_MAX;
		struct bpf_link **links = reallocarray(t->links, (size_t)capacity, sizeof *links);

		if (links == NULL) {
			bpf_link__destroy(link);
			return false;
		}
		t->links = links;
		t->capacity = capacity;
	}
	t->links[t->nlinks++] = link;
	return true;
}

/* One event for each CPU, on the clock of that CPU. */
static bool
attach_clock(struct trace_bpf *t, struct bpf_program *p, uint32_t hz)
{
	long ncpus = sysconf(_SC_NPROCESSORS_CONF);
	int attached = 0;

	for (int cpu = 0; cpu < ncpus; cpu++) {
		struct perf_event_attr a = { .type = PERF_TYPE_SOFTWARE,
			.size = sizeof a,
			.config = PERF_COUNT_SW_CPU_CLOCK,
			.freq = 1,
			.sample_freq = hz };
		int fd = (int)syscall(SYS_perf_event_open, &a, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

		if (fd < 0)
			continue; /* a CPU that is off */
		if (keep_link(t, bpf_program__attach_perf_event(p, fd)))
			attached++;
		else
			close(fd);
	}
	return attached > 0;
}

static bool
is_named(const struct bpf_program *p, const char *name)
{
	return strcmp(bpf_program__name(p), name) == 0;
}

static bool
is_of_children(const struct bpf_program *p)
{
	return is_named(p, "on_fork") || is_named(p, "on_exec");
}

static int
attach(struct trace_bpf *t, const struct trace_bpf_options *o, struct err *e)
{
	struct bpf_program *p;

	bpf_object__for_each_program(p, t->object)
	{
		if (is_named(p, "on_probe"))
			continue; /* its places come later */
		if (!o->children && is_of_children(p))
			continue;
		if (is_named(p, "on_clock")) {
			if (o->samples_hz == 0 || (o->without & BELOW_CAN_SAMPLES) != 0)
				lacks(t, "no samples on the CPU: switched off");
			else if (attach_clock(t, p, o->samples_hz))
				t->can |= BELOW_CAN_SAMPLES;
			else
				lacks(t,
				    "no samples on the CPU: the kernel refuses clock events (CAP_PERFMON, or "
				    "kernel.perf_event_paranoid)");
			continue;
		}
		if (!keep_link(t, bpf_program__attach(p)))
			return bpf_refusal(errno, e);
	}
	return 0;
}

static uint64_t
time_of(const void *record, size_t len)
{
	uint32_t kind = 0;

	if (len >= sizeof(struct raw_head))
		kind = ((const struct raw_head *)record)->kind;
	if (kind == RAW_STACK && len >= offsetof(struct raw_stack, bytes))
		return ((const struct raw_stack *)record)->time_ns;
	if (kind == RAW_WAIT && len >= sizeof(struct raw_wait))
		return ((const struct raw_wait *)record)->in_ns;
	if (kind == RAW_HIT && len >= sizeof(struct raw_hit))
		return ((const struct raw_hit *)record)->time_ns;
	return 0; /* RAW_BEGUN, too */
}

/* Without memory the record is lost. */
static int
keep(void *of, void *record, size_t len)
{
	const struct cpu_ring *g = of;

	if (!cpu_merge_add(g->of->merge, g->cpu, time_of(record, len), record, len))
		g->of->forgotten++;
	return 0;
}

static int
switch_off(struct trace_bpf *t, uint32_t without, struct err *e)
{
	const struct raw_without off = { (without & BELOW_CAN_STACKS) != 0,
		(without & BELOW_CAN_HOLDERS) != 0, (without & TRACE_WITHOUT_TASK_FROM_PID) != 0 };
	struct bpf_map *constants = bpf_object__find_map_by_name(t->object, ".rodata");

	return constants != NULL && bpf_map__set_initial_value(constants, &off, sizeof off) == 0
	           ? 0
	           : err_set(e, ERR_SYSTEM, "the constants of the BPF programs cannot be set");
}

static bool
has_function(const char *name)
{
	struct btf *kernel = btf__load_vmlinux_btf();
	bool has = kernel != NULL && btf__find_by_name_kind(kernel, name, BTF_KIND_FUNC) > 0;

	btf__free(kernel);
	return has;
}

static void
find_can(struct trace_bpf *t, uint32_t without)
{
	t->can |= BELOW_CAN_WAITS | BELOW_CAN_FAULTS;
	if ((without & BELOW_CAN_STACKS) == 0)
		t->can |= BELOW_CAN_STACKS;
	else
		lacks(t, "no stacks: switched off");
	if ((without & BELOW_CAN_HOLDERS) != 0)
		lacks(t, "not what the holder of a lock does: switched off");
	else
		t->can |= BELOW_CAN_HOLDERS;
	if ((without & BELOW_CAN_HOLDERS) == 0 && !t->knows_threads)
		lacks(t, "the holder of a lock only if it has left a CPU since the program is "
			 "followed: the kernel has no bpf_task_from_pid (Linux 6.2)");
	if ((without & BELOW_CAN_PROBES) != 0)
		lacks(t, "no probes in the code: switched off");
	else if (t->probes_max == 0)
		lacks(t,
		    "no probes in the code: the kernel has neither links to many of them (Linux "
		    "6.6) nor events of single ones");
	else
		t->can |= BELOW_CAN_PROBES;
	if (t->probes_max == PROBE_LINK_FEW)
		lacks(t, "8 places in the code at a time: the kernel has no links to many of them "
			 "(Linux 6.6)");
}

static uint32_t
ring_bytes(int ncpus)
{
	uint32_t bytes = RINGS_BYTES;

	while (bytes > RING_MIN_BYTES && bytes > (uint32_t)RINGS_BYTES / (uint32_t)ncpus)
		bytes /= 2;
	return bytes;
}

/* Makes the ring of a CPU, tells the programs, and maps it. */
static bool
make_ring(struct trace_bpf *t, int outer, uint32_t cpu, uint32_t bytes)
{
	int fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "ring", 0, 0, bytes, NULL);

	if (fd < 0)
		return false;
	struct cpu_ring *g = &t->rings[t->nrings++];

	*g = (struct cpu_ring){ t, cpu, fd };
	if (bpf_map_update_elem(outer, &cpu, &fd, BPF_ANY) != 0)
		return false;
	if (t->ring != NULL)
		return ring_buffer__add(t->ring, fd, keep, g) == 0;
	return (t->ring = ring_buffer__new(fd, keep, g, NULL)) != NULL;
}

static bool
make_rings(struct trace_bpf *t, int ncpus)
{
	int outer = bpf_object__find_map_fd_by_name(t->object, "rings");
	bool made = true;

	if ((t->merge = cpu_merge_new((uint32_t)ncpus)) == NULL ||
	    (t->numbers = record_numbers_new((uint32_t)ncpus, (uint64_t)clock_mono().ns)) == NULL ||
	    (t->rings = calloc((size_t)ncpus, sizeof *t->rings)) == NULL)
		return false;
	for (int cpu = 0; made && cpu < ncpus; cpu++)
		made = make_ring(t, outer, (uint32_t)cpu, ring_bytes(ncpus));
	return made;
}

enum probing { MANY_PROBES, FEW_PROBES, NO_PROBES }; /* in the order in which they are tried */

/* Says how the program for probes is to be loaded. */
static void
prepare_probes(struct trace_bpf *t, enum probing how)
{
	struct bpf_program *p = bpf_object__find_program_by_name(t->object, "on_probe");

	if (how == MANY_PROBES)
		bpf_program__set_expected_attach_type(p, (enum bpf_attach_type)PROBE_LINK_TYPE);
	bpf_program__set_autoload(p, how != NO_PROBES);
}

/* Of a program that is loaded. False: it can be attached to nothing. */
static bool
has_probes(struct trace_bpf *t, enum probing how)
{
	t->on_probe = how != NO_PROBES
	                  ? bpf_program__fd(bpf_object__find_program_by_name(t->object, "on_probe"))
	                  : -1;
	t->probes_max = how == MANY_PROBES  ? RAW_PROBES_MAX
	                : how == FEW_PROBES ? PROBE_LINK_FEW
	                                    : 0;
	return how == NO_PROBES || (how == MANY_PROBES ? probe_link_is_possible(t->on_probe)
						       : probe_link_few_are_possible());
}

/* Loads the programs. */
static int
load_object(struct trace_bpf *t, const struct trace_bpf_options *o, int ncpus, enum probing how,
    struct err *e)
{
	struct bpf_program *p;
	int rc;

	t->object = bpf_object__open_mem(
	    trace_object_begin, (size_t)(trace_object_end - trace_object_begin), NULL);
	if (t->object == NULL)
		return bpf_refusal(errno, e);
	if ((rc = switch_off(t, o->without, e)) != 0)
		return rc;
	if (ncpus <= 0 || bpf_map__set_max_entries(bpf_object__find_map_by_name(t->object, "rings"),
			      (uint32_t)ncpus) != 0)
		return err_set(e, ERR_SYSTEM, "the number of processors is not known");
	if (!t->knows_threads && (o->without & BELOW_CAN_HOLDERS) == 0 &&
	    bpf_map__set_max_entries(
		bpf_object__find_map_by_name(t->object, "left_threads"), LEFT_THREADS_MAX) != 0)
		return err_set(e, ERR_SYSTEM, "the maps of the BPF programs cannot be set");
	if (o->children &&
	    bpf_map__set_max_entries(
		bpf_object__find_map_by_name(t->object, "processes"), TRACE_CHILDREN_MAX) != 0)
		return err_set(e, ERR_SYSTEM, "the maps of the BPF programs cannot be set");
	prepare_probes(t, how);
	bpf_object__for_each_program(p, t->object)
	{
		if (is_of_children(p))
			bpf_program__set_autoload(p, o->children);
	}
	if (bpf_object__load(t->object) != 0)
		return bpf_refusal(errno, e);
	return has_probes(t, how) ? 0 : err_set(e, ERR_MISSING, "the kernel has no such probes");
}

/* The programs' variables as they are in the kernel. libbpf's own copy has only their first values: it maps them for skeletons alone. */
static struct raw_lost *
map_variables(const struct trace_bpf *t)
{
	int fd = bpf_object__find_map_fd_by_name(t->object, ".bss");
	void *at = fd >= 0 ? mmap(NULL, sizeof *t->lost, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
	                   : MAP_FAILED;

	return at != MAP_FAILED ? at : NULL;
}

/* With as many probes as possible: a kernel that has no links to many does not know the type of that program. */
static int
load(struct trace_bpf *t, const struct trace_bpf_options *o, struct err *e)
{
	enum probing how = (o->without & BELOW_CAN_PROBES) != 0             ? NO_PROBES
	                   : (o->without & TRACE_WITHOUT_UPROBE_MULTI) != 0 ? FEW_PROBES
	                                                                    : MANY_PROBES;
	int rc, ncpus = libbpf_num_possible_cpus();

	t->knows_threads = (o->without & TRACE_WITHOUT_TASK_FROM_PID) == 0 &&
	                   has_function("bpf_task_from_pid");
	while ((rc = load_object(t, o, ncpus, how, e)) != 0 && how != NO_PROBES) {
		bpf_object__close(t->object);
		t->object = NULL;
		how++;
	}
	if (rc != 0)
		return rc;
	t->ncpus = ncpus;
	t->probes = bpf_object__find_map_fd_by_name(t->object, "probes");
	t->passes = bpf_object__find_map_fd_by_name(t->object, "passes");
	t->processes = bpf_object__find_map_fd_by_name(t->object, "processes");
	t->lost = map_variables(t);
	if (t->lost == NULL || !make_rings(t, ncpus))
		return err_set(e, ERR_SYSTEM,
		    "the ring buffers of the BPF programs cannot be mapped: %s", strerror(errno));
	return 0;
}

int
trace_bpf_open(struct trace_bpf **ret, const struct trace_bpf_options *o, struct err *e)
{
	struct trace_bpf *t = calloc(1, sizeof *t);
	int rc;

	if (t == NULL)
		return err_set(e, ERR_MEMORY, "out of memory");
	bpf_refusal_begin();
	if ((rc = load(t, o, e)) != 0 || (rc = attach(t, o, e)) != 0) {
		trace_bpf_close(t);
		return rc;
	}
	find_can(t, o->without);
	*ret = t;
	return 0;
}

void
trace_bpf_close(struct trace_bpf *t)
{
	if (t == NULL)
		return;
	for (int i = 0; i < t->nlinks; i++)
		bpf_link__destroy(t->links[i]);
	free(t->links);
	ring_buffer__free(t->ring);
	for (int i = 0; i < t->nrings; i++)
		close(t->rings[i].map);
	free(t->rings);
	cpu_merge_free(t->merge);
	record_numbers_free(t->numbers);
	if (t->lost != NULL)
		munmap(t->lost, sizeof *t->lost);
	bpf_object__close(t->object);
	free(t);
}

uint32_t
trace_bpf_can(const struct trace_bpf *t)
{
	return t->can;
}

const char *
trace_bpf_missing(const struct trace_bpf *t)
{
	return t->missing;
}

int
trace_bpf_follow(struct trace_bpf *t, pid_t pid, const struct raw_process *p, struct err *e)
{
	uint32_t key = (uint32_t)pid;

	if (bpf_map_update_elem(t->processes, &key, p, BPF_ANY) == 0)
		return 0;
	return errno == E2BIG
	           ? err_set(e, ERR_FULL, "process %d is not followed: too many are", (int)pid)
	           : err_errno(e, "process %d cannot be followed", (int)pid);
}

void
trace_bpf_unfollow(struct trace_bpf *t, pid_t pid)
{
	uint32_t key = (uint32_t)pid;

	bpf_map_delete_elem(t->processes, &key);
}

void
trace_bpf_forget_ended(struct trace_bpf *t)
{
	process_map_forget_ended(t->processes);
}

uint64_t
trace_bpf_unfollowed(const struct trace_bpf *t)
{
	return __atomic_load_n(&t->lost->unfollowed, __ATOMIC_RELAXED);
}

int
trace_bpf_set_probe(struct trace_bpf *t, uint32_t place, const struct raw_probe *p)
{
	return bpf_map_update_elem(t->probes, &place, p, BPF_ANY) == 0 ? 0 : ERR_SYSTEM;
}

uint64_t
trace_bpf_passes(struct trace_bpf *t, uint32_t place)
{
	uint64_t *of_cpu = calloc((size_t)t->ncpus, sizeof *of_cpu), sum = 0;

	if (of_cpu != NULL && bpf_map_lookup_elem(t->passes, &place, of_cpu) == 0)
		for (int i = 0; i < t->ncpus; i++)
			sum += of_cpu[i];
	free(of_cpu);
	return sum;
}

uint32_t
trace_bpf_probes_max(const struct trace_bpf *t)
{
	return t->probes_max;
}

int
trace_bpf_attach_probes(
    struct trace_bpf *t, int file, const struct probe_link_places *p, struct probe_link *ret)
{
	char path[40];

	snprintf(path, sizeof path, "/proc/self/fd/%d", file);
	if (t->probes_max == 0) {
		errno = ENOSYS;
		return -1;
	}
	return t->probes_max == PROBE_LINK_FEW ? probe_link_open_few(ret, t->on_probe, path, p)
	                                       : probe_link_open(ret, t->on_probe, path, p);
}

static void
number_and_take(void *of, uint32_t queue, void *record, size_t len)
{
	const struct raw_head *head = record;
	const struct raw_begun *begun = record;
	struct trace_bpf *t = of;

	if (len < sizeof *head)
		return;
	record_numbers_take(t->numbers, head->cpu, head->number,
	    head->kind == RAW_BEGUN && len >= sizeof *begun ? begun->time_ns
							    : time_of(record, len));
	t->take(t->take_of, queue, record, len);
}

void
trace_bpf_read(struct trace_bpf *t, trace_bpf_take *take, void *of)
{
	uint64_t now_ns = (uint64_t)clock_mono().ns, from_ns, to_ns, n;

	t->take = take;
	t->take_of = of;
	ring_buffer__consume(t->ring);
	cpu_merge_take(t->merge, now_ns, number_and_take, t);
	if ((n = record_numbers_turn(t->numbers, &from_ns, &to_ns)) == 0)
		return;
	t->missing_sum += n;
	t->missing_from_ns = (int64_t)from_ns;
	t->missing_to_ns = (int64_t)to_ns;
}

/* The programs count first, and then note the time. The begin is taken back before the count is read, so that a loss which comes meanwhile has
 * a begin of its own, here or the next time. */
uint64_t
trace_bpf_lost(struct trace_bpf *t, int64_t *from_ns, int64_t *to_ns)
{
	uint64_t began = __atomic_exchange_n(&t->lost->from_ns, 0, __ATOMIC_SEQ_CST);
	uint64_t now = __atomic_load_n(&t->lost->count, __ATOMIC_SEQ_CST), n = now - t->told;
	uint64_t forgotten = t->forgotten - t->told_forgotten;
	uint64_t told = now + t->forgotten + t->explained; /* with what is told now */

	if (n == 0 && forgotten > 0)
		*from_ns = *to_ns = clock_mono().ns;
	if (n > 0) {
		*to_ns = (int64_t)__atomic_load_n(&t->lost->to_ns, __ATOMIC_SEQ_CST);
		*from_ns = began != 0 ? (int64_t)began : *to_ns - LOST_UNTIMED_NS;
	}
	n += forgotten;
	t->told = now;
	t->told_forgotten = t->forgotten;
	if (t->missing_sum <= told)
		return n;
	/* More are missing than anybody knows of. */
	*from_ns = n == 0 || t->missing_from_ns < *from_ns ? t->missing_from_ns : *from_ns;
	*to_ns = n == 0 || t->missing_to_ns > *to_ns ? t->missing_to_ns : *to_ns;
	n += t->missing_sum - told;
	t->explained += t->missing_sum - told;
	return n;
}
