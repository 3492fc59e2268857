/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "below/kernel/record_bpf.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "below/kernel/bpf_refusal.h"
#include "below/kernel/cpu_merge.h"

enum {
	LINKS_MAX = 64,
	MISSING_MAX = 512,
	PAGE = 4096,
	MARGIN_NS = 50000,     /* between the clock here and that of the BPF programs */
	HELD_NS = 1000000000,  /* a CPU that is held up in a record is waited for no longer */
	MISSES_NS = 1000000000 /* how often the kernel is asked what it has left out */
};

/* record.bpf.o, made by clang */
extern const char record_object_begin[], record_object_end[];
__asm__(".section .rodata\n"
	".balign 8\n"
	".global record_object_begin, record_object_end\n"
	"record_object_begin:\n"
	".incbin \"" RECORD_OBJECT "\"\n"
	"record_object_end:\n"
	".previous\n");

/* A ring buffer of the kernel, mapped: Documentation/bpf/ringbuf.rst, kernel/bpf/ringbuf.c. */
struct mapped_ring {
	int map;
	uint64_t *consumed;       /* page of its own, written here */
	const uint64_t *produced; /* page of its own */
	const uint8_t *data;      /* twice, one behind the other */
	uint64_t last_ns;         /* of the last record that was taken */
};

struct record_bpf {
	bool filtered;
	struct bpf_object *object;
	struct bpf_link *links[LINKS_MAX], *lists;
	int programs[LINKS_MAX];
	const char *names[LINKS_MAX]; /* of the programs */
	int nlinks;
	struct mapped_ring *rings;
	uint32_t nrings, ring_bytes;
	struct cpu_merge *merge;
	uint64_t until_ns;     /* records up to this were handed on */
	uint64_t hold_ns;      /* none later than this, unless all are; 0: any */
	uint64_t forgotten;    /* for lack of memory here */
	uint64_t misses;       /* of the kernel, as told */
	uint64_t missed;       /* of programs for interrupts */
	uint64_t misses_at_ns; /* when it was asked last */
	uint64_t late;
	int gaps, followed; /* maps */
	bool filters, over; /* only processes in `followed`; all of them have ended */
	const uint64_t *unfollowed;
	char missing[MISSING_MAX];
};

/* ---- loading ------------------------------------------------------------------ */

/* Which programs a group needs. Those that are not here are always needed. */
static const struct {
	const char *program;
	uint32_t groups; /* any of these; 0: see is_needed() */
	const char *
	    without; /* what is missing where the kernel has no such tracepoint; NULL: it is needed */
} PROGRAMS[] = { { "reschedule_end", 0, "interrupts between processors" },
	{ "reschedule_begin", 0, "" }, { "call_function_end", 0, "" },
	{ "call_function_begin", 0, "" }, { "call_function_single_end", 0, "" },
	{ "call_function_single_begin", 0, "" }, { "irq_work_end", 0, "" },
	{ "irq_work_begin", 0, "" }, { "on_received", RECORD_OF_NET, NULL },
	{ "call_end", RECORD_OF_NET | RECORD_OF_SYSCALLS, NULL },
	{ "call_begin", RECORD_OF_NET | RECORD_OF_SYSCALLS | RECORD_OF_UNITS, NULL },
	{ "packet_out", RECORD_OF_PACKETS, NULL }, { "packet_in", RECORD_OF_PACKETS, NULL },
	{ "count_fault", RECORD_OF_FAULTS, "page faults" },
	{ "count_migration", RECORD_OF_MIGRATIONS, NULL } };

static void
lacks(struct record_bpf *r, const char *text)
{
	size_t n = strlen(r->missing);

	snprintf(r->missing + n, sizeof r->missing - n,
	    "%sno %s: the kernel has no tracepoint for them", n > 0 ? "; " : "", text);
}

/* "tp_btf/NAME": whether the kernel has that tracepoint. */
static bool
has_tracepoint(const struct btf *kernel, const struct bpf_program *p)
{
	const char *slash = strchr(bpf_program__section_name(p), '/');
	char name[80];

	if (slash == NULL || strncmp(bpf_program__section_name(p), "tp_btf/", 7) != 0)
		return true;
	snprintf(name, sizeof name, "btf_trace_%s", slash + 1);
	return btf__find_by_name_kind(kernel, name, BTF_KIND_TYPEDEF) > 0;
}

/* The number n of "count_n", a program for any tracepoint; -1: another program. */
static int
any_number(const char *name)
{
	return strncmp(name, "count_", 6) == 0 && name[6] >= '0' && name[6] <= '9' &&
	               name[7] == '\0'
	           ? name[6] - '0'
	           : -1;
}

/* Loads only what is needed, and what the kernel has. */
static void
choose(struct record_bpf *r, const struct record_bpf_options *o, const struct btf *kernel)
{
	struct bpf_program *p;

	bpf_object__for_each_program(p, r->object)
	{
		const char *name = bpf_program__name(p);
		int any = any_number(name);
		bool load = any < 0 || (size_t)any < o->ncounted;

		for (size_t i = 0; i < sizeof PROGRAMS / sizeof *PROGRAMS; i++) {
			if (strcmp(PROGRAMS[i].program, name) != 0)
				continue;
			if (PROGRAMS[i].groups != 0 && (PROGRAMS[i].groups & o->groups) == 0)
				load = false;
			else if (PROGRAMS[i].without != NULL && !has_tracepoint(kernel, p)) {
				load = false;
				if (PROGRAMS[i].without[0] != '\0')
					lacks(r, PROGRAMS[i].without);
			}
		}
		bpf_program__set_autoload(p, load);
	}
}

static uint32_t
ring_bytes(const struct record_bpf_options *o, uint32_t ncpus)
{
	uint32_t bytes = RECORD_RINGS_BYTES;

	if (o->ring_bytes != 0)
		return o->ring_bytes;
	while (bytes > RECORD_RING_MIN_BYTES && bytes > RECORD_RINGS_BYTES / ncpus)
		bytes /= 2;
	return bytes;
}

/* Makes the ring of a CPU, tells the programs, and maps it. */
static bool
make_ring(struct record_bpf *r, int outer, uint32_t cpu)
{
	struct mapped_ring *g = &r->rings[cpu];
	void *written, *read;

	if ((g->map = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "ring", 0, 0, r->ring_bytes, NULL)) < 0)
		return false;
	r->nrings++;
	if (bpf_map_update_elem(outer, &cpu, &g->map, BPF_ANY) != 0)
		return false;
	written = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, g->map, 0);
	if (written == MAP_FAILED)
		return false;
	g->consumed = written;
	read = mmap(NULL, PAGE + 2 * (size_t)r->ring_bytes, PROT_READ, MAP_SHARED, g->map, PAGE);
	if (read == MAP_FAILED)
		return false;
	g->produced = read;
	g->data = (const uint8_t *)read + PAGE;
	return true;
}

static bool
make_rings(struct record_bpf *r, uint32_t ncpus)
{
	int outer = bpf_object__find_map_fd_by_name(r->object, "rings");
	bool made = true;

	if ((r->merge = cpu_merge_new(ncpus + 1)) == NULL ||
	    (r->rings = calloc(ncpus, sizeof *r->rings)) == NULL)
		return false;
	for (uint32_t cpu = 0; made && cpu < ncpus; cpu++)
		made = make_ring(r, outer, cpu);
	return made;
}

static int
load(struct record_bpf *r, const struct record_bpf_options *o, struct err *e)
{
	const struct record_options options = { o->groups, o->npids > 0 || o->filtered, o->texts,
		{ (uint32_t)o->excluded[0], (uint32_t)o->excluded[1] } };
	int ncpus = libbpf_num_possible_cpus();
	struct btf *kernel = btf__load_vmlinux_btf();
	struct bpf_map *map;
	size_t size = 0;

	if (kernel == NULL)
		return bpf_refusal(errno, e);
	r->object = bpf_object__open_mem(
	    record_object_begin, (size_t)(record_object_end - record_object_begin), NULL);
	if (r->object != NULL)
		choose(r, o, kernel);
	btf__free(kernel);
	if (r->object == NULL)
		return bpf_refusal(errno, e);
	map = bpf_object__find_map_by_name(r->object, ".rodata");
	if (map == NULL || bpf_map__set_initial_value(map, &options, sizeof options) != 0)
		return err_set(e, ERR_SYSTEM, "the constants of the BPF programs cannot be set");
	if (ncpus <= 0 || bpf_map__set_max_entries(bpf_object__find_map_by_name(r->object, "rings"),
			      (uint32_t)ncpus) != 0)
		return err_set(e, ERR_SYSTEM, "the number of processors is not known");
	if (bpf_object__load(r->object) != 0)
		return bpf_refusal(errno, e);
	r->gaps = bpf_object__find_map_fd_by_name(r->object, "gaps");
	r->followed = bpf_object__find_map_fd_by_name(r->object, "followed");
	map = bpf_object__find_map_by_name(r->object, ".bss");
	r->unfollowed = map != NULL ? bpf_map__initial_value(map, &size) : NULL;
	r->ring_bytes = ring_bytes(o, (uint32_t)ncpus);
	if (!make_rings(r, (uint32_t)ncpus) || size < sizeof *r->unfollowed)
		return err_set(e, ERR_SYSTEM,
		    "the ring buffers of the BPF programs, %u KiB each, cannot be mapped: %s",
		    r->ring_bytes / 1024, strerror(errno));
	return 0;
}

/* ---- attaching ------------------------------------------------------------------ */

static int
attach_one(
    struct record_bpf *r, const struct record_bpf_options *o, struct bpf_program *p, struct err *e)
{
	int any = any_number(bpf_program__name(p));
	struct bpf_link *link;

	if (r->nlinks == LINKS_MAX)
		return err_set(e, ERR_FULL, "more than %d BPF programs", LINKS_MAX);
	link = any < 0 ? bpf_program__attach(p)
	               : bpf_program__attach_raw_tracepoint(p, o->counted[any]);
	if (link == NULL && any >= 0 && errno == ENOENT)
		return err_set(e, ERR_MISSING, "the kernel has no tracepoint %s", o->counted[any]);
	if (link == NULL)
		return bpf_refusal(errno, e);
	r->programs[r->nlinks] = bpf_program__fd(p);
	r->names[r->nlinks] = bpf_program__name(p);
	r->links[r->nlinks++] = link;
	return 0;
}

static bool
ends_with(const char *name, const char *end)
{
	size_t n = strlen(name), m = strlen(end);

	return n > m && strcmp(name + n - m, end) == 0;
}

/* Notes the begin or the end of an interrupt. */
static bool
is_context(const char *name)
{
	return strcmp(name, "call_begin") != 0 && strcmp(name, "call_end") != 0 &&
	       (ends_with(name, "_begin") || ends_with(name, "_end"));
}

/* Ends of interrupts first: one that begins then ends, too. */
static int
attach(struct record_bpf *r, const struct record_bpf_options *o, struct err *e)
{
	struct bpf_program *p;
	int rc;

	for (int ends = 1; ends >= 0; ends--) {
		bpf_object__for_each_program(p, r->object)
		{
			const char *name = bpf_program__name(p);

			if (!bpf_program__autoload(p) || strcmp(name, "list_threads") == 0 ||
			    ends_with(name, "_end") != (ends != 0))
				continue;
			if ((rc = attach_one(r, o, p, e)) != 0)
				return rc;
		}
	}
	p = bpf_object__find_program_by_name(r->object, "list_threads");
	if ((r->lists = bpf_program__attach(p)) == NULL)
		return bpf_refusal(errno, e);
	return 0;
}

/* ---- which threads there are ---------------------------------------------------- */

typedef void record_thread_take(void *of, const struct record_thread *t);

/* All threads that there are now, in no order. */
static int
list_threads(struct record_bpf *r, record_thread_take *take, void *of, struct err *e)
{
	struct record_thread some[64];
	int fd = bpf_iter_create(bpf_link__fd(r->lists));
	ssize_t n = 0;
	size_t have = 0;

	if (fd < 0)
		return err_errno(e, "the kernel does not list its threads");
	while ((n = read(fd, (char *)some + have, sizeof some - have)) > 0 ||
	       (n < 0 && (errno == EAGAIN || errno == EINTR))) {
		size_t whole;

		have += n > 0 ? (size_t)n : 0;
		whole = have / sizeof *some;
		for (size_t i = 0; i < whole; i++)
			take(of, &some[i]);
		have -= whole * sizeof *some;
		memmove(some, some + whole, have);
	}
	if (n < 0)
		err_errno(e, "the kernel does not list its threads");
	close(fd);
	return n < 0 ? ERR_SYSTEM : 0;
}

/* ---- whom it follows ------------------------------------------------------------- */

struct record_family {
	struct record_bpf *of;
	uint32_t (*list)[2]; /* process, parent */
	size_t n, cap;
	bool failed;
};

static void
note_process(void *of, const struct record_thread *t)
{
	struct record_family *f = of;

	if (t->tid != t->pid)
		return;
	if (!array_reserve(f->list, f->cap, f->n + 1)) {
		f->failed = true;
		return;
	}
	f->list[f->n][0] = t->pid;
	f->list[f->n++][1] = t->parent_pid;
}

static bool
follows(struct record_bpf *r, uint32_t pid)
{
	uint32_t value;

	return bpf_map_lookup_elem(r->followed, &pid, &value) == 0;
}

/* Adds the children of processes that are followed. Returns how many; negative: an error. */
static int
add_children(struct record_bpf *r, struct err *e)
{
	struct record_family f = { .of = r };
	int added = 0, rc = list_threads(r, note_process, &f, e), round;

	if (rc == 0 && f.failed)
		rc = err_set(e, ERR_MEMORY, "out of memory");
	do {
		round = 0;
		for (size_t i = 0; rc == 0 && i < f.n; i++) {
			uint32_t one = 1;

			if (!follows(r, f.list[i][1]) || follows(r, f.list[i][0]))
				continue;
			if (bpf_map_update_elem(r->followed, &f.list[i][0], &one, BPF_ANY) != 0)
				rc = err_set(e, ERR_FULL, "too many processes to follow");
			round++;
		}
		added += round;
	} while (rc == 0 && round > 0);
	free(f.list);
	return rc != 0 ? rc : added;
}

static int
follow(struct record_bpf *r, const struct record_bpf_options *o, struct err *e)
{
	int n;

	for (size_t i = 0; i < o->npids; i++) {
		uint32_t pid = (uint32_t)o->pids[i], one = 1;

		if (bpf_map_update_elem(r->followed, &pid, &one, BPF_ANY) != 0)
			return err_set(e, ERR_FULL, "too many processes to follow");
	}
	for (size_t i = 0; i < o->nplaces; i++) {
		uint32_t pid = (uint32_t)o->place_pids[i];
		int map = bpf_object__find_map_fd_by_name(r->object, "places");

		if (bpf_map_update_elem(map, &pid, &o->places[i], BPF_ANY) != 0)
			return err_set(e, ERR_FULL, "too many processes with contexts");
	}
	r->filters = o->npids > 0;
	if (!r->filters)
		return 0;
	/* a child may be born while its parent is not followed yet: until none is new */
	do {
		n = add_children(r, e);
	} while (n > 0);
	return n;
}

/* Messages that are under way now are seen by one side alone. */
static void
tell_following(struct record_bpf *r, uint64_t from_ns)
{
	const struct record_lost l = { .head = { .time_ns = (uint64_t)clock_mono().ns,
					   .kind = RECORD_LOST,
					   .flags = RECORD_FOLLOWING,
					   .vector = RECORD_NO_VECTOR },
		.from_ns = from_ns };

	if (!cpu_merge_add(r->merge, r->nrings, l.head.time_ns, &l, sizeof l))
		r->forgotten++;
}

int
record_bpf_follow(struct record_bpf *r, pid_t pid, struct err *e)
{
	uint32_t number = (uint32_t)pid, one = 1;
	uint64_t from_ns = (uint64_t)clock_mono().ns;
	int n;

	if (bpf_map_update_elem(r->followed, &number, &one, BPF_ANY) != 0)
		return err_set(e, ERR_FULL, "too many processes to follow");
	do {
		n = add_children(r, e);
	} while (n > 0);
	tell_following(r, from_ns);
	return n;
}

int64_t
record_bpf_until(const struct record_bpf *r)
{
	return (int64_t)r->until_ns;
}

int
record_bpf_open(struct record_bpf **ret, const struct record_bpf_options *o, struct err *e)
{
	struct record_bpf *r = calloc(1, sizeof *r);
	int rc;

	if (r == NULL)
		return err_set(e, ERR_MEMORY, "out of memory");
	bpf_refusal_begin();
	if ((rc = load(r, o, e)) != 0 || (rc = attach(r, o, e)) != 0 ||
	    (rc = follow(r, o, e)) != 0) {
		record_bpf_close(r);
		return rc;
	}
	r->misses_at_ns = (uint64_t)clock_mono().ns;
	r->filtered = o->filtered;
	*ret = r;
	return 0;
}

static void
detach(struct record_bpf *r)
{
	for (int i = 0; i < r->nlinks; i++)
		bpf_link__destroy(r->links[i]);
	r->nlinks = 0;
}

void
record_bpf_close(struct record_bpf *r)
{
	if (r == NULL)
		return;
	detach(r);
	bpf_link__destroy(r->lists);
	for (uint32_t i = 0; i < r->nrings; i++) {
		if (r->rings[i].consumed != NULL)
			munmap(r->rings[i].consumed, PAGE);
		if (r->rings[i].produced != NULL)
			munmap((void *)(uintptr_t)r->rings[i].produced,
			    PAGE + 2 * (size_t)r->ring_bytes);
		close(r->rings[i].map);
	}
	free(r->rings);
	cpu_merge_free(r->merge);
	bpf_object__close(r->object);
	free(r);
}

const char *
record_bpf_missing(const struct record_bpf *r)
{
	return r->missing;
}

/* ---- reading ---------------------------------------------------------------------- */

enum { BUSY = (int)0x80000000, DISCARDED = 0x40000000, HEADER = 8 };

/* Takes all records that are complete. False: there is one that is not. */
static bool
read_ring(struct record_bpf *r, uint32_t cpu)
{
	struct mapped_ring *g = &r->rings[cpu];
	uint64_t at = *g->consumed, until = __atomic_load_n(g->produced, __ATOMIC_ACQUIRE);

	while (at < until) {
		const uint8_t *p = g->data + (at & (r->ring_bytes - 1));
		uint32_t word = __atomic_load_n(
			     (const uint32_t *)(const void *)p, __ATOMIC_ACQUIRE),
			 len = word & ~(uint32_t)(BUSY | DISCARDED);
		const struct record_head *h = (const void *)(p + HEADER);

		if ((word & (uint32_t)BUSY) != 0)
			return false;
		if ((word & DISCARDED) == 0 && len >= sizeof *h) {
			if (!cpu_merge_add(r->merge, cpu, h->time_ns, h, len))
				r->forgotten++;
			g->last_ns = h->time_ns > g->last_ns ? h->time_ns : g->last_ns;
		}
		at += (HEADER + len + 7) / 8 * 8;
		__atomic_store_n(g->consumed, at, __ATOMIC_RELEASE);
	}
	return true;
}

struct record_hand_on {
	struct record_bpf *from;
	record_bpf_take *take;
	void *of;
};

static void
hand_on(void *of, uint32_t cpu, void *record, size_t len)
{
	struct record_hand_on *x = of;
	struct record_head *h = record;

	if (h->time_ns < x->from->until_ns) {
		h->time_ns = x->from->until_ns;
		x->from->late++;
	}
	x->take(x->of, cpu < x->from->nrings ? cpu : 0, h, len);
}

static void
tell_lost(
    const struct record_hand_on *x, uint32_t cpu, uint64_t count, uint64_t from_ns, uint64_t to_ns)
{
	const struct record_lost l = { .head = { .time_ns = to_ns, .kind = RECORD_LOST },
		.count = count,
		.from_ns = from_ns < to_ns ? from_ns : to_ns };

	if (count > 0)
		x->take(x->of, cpu, &l.head, sizeof l);
}

/* How often the kernel did not run a program, since an interrupt came while the same one ran: those that only note interrupts, or
 * the others. */
static uint64_t
count_misses(const struct record_bpf *r, bool of_contexts)
{
	uint64_t sum = 0;

	for (int i = 0; i < r->nlinks; i++) {
		struct bpf_prog_info info = { 0 };
		uint32_t len = sizeof info;

		if (is_context(r->names[i]) == of_contexts &&
		    bpf_obj_get_info_by_fd(r->programs[i], &info, &len) == 0)
			sum += info.recursion_misses;
	}
	return sum;
}

/* Of events that were not recorded the CPU is not known. */
static void
tell_misses(struct record_bpf *r, const struct record_hand_on *x, uint64_t sum, uint64_t now_ns)
{
	tell_lost(x, UINT32_MAX, sum - r->misses, r->misses_at_ns, now_ns);
	tell_lost(x, UINT32_MAX, r->forgotten, r->misses_at_ns, now_ns);
	r->misses = sum;
	r->forgotten = 0;
	r->misses_at_ns = now_ns;
}

/* What was lost on a CPU, and not followed by a record that would have told it. */
static void
tell_gaps(struct record_bpf *r, const struct record_hand_on *x, uint64_t now_ns)
{
	struct record_gap *of_cpu = calloc(r->nrings, sizeof *of_cpu);
	uint32_t zero = 0;

	if (of_cpu != NULL && bpf_map_lookup_elem(r->gaps, &zero, of_cpu) == 0)
		for (uint32_t cpu = 0; cpu < r->nrings; cpu++)
			tell_lost(x, cpu, of_cpu[cpu].count, of_cpu[cpu].from_ns, now_ns);
	free(of_cpu);
}

/* Not at their ends: their last threads are still to be recorded then. */
static void
forget_ended(struct record_bpf *r)
{
	if (r->filters)
		r->over = !process_map_forget_ended(r->followed);
}

uint32_t
record_bpf_followed(const struct record_bpf *r, process_map_take *take, void *of)
{
	return process_map_each(r->followed, take, of);
}

double
record_bpf_read(struct record_bpf *r, bool all, record_bpf_take *take, void *of)
{
	struct record_hand_on x = { r, take, of };
	uint64_t now_ns, until_ns, misses = 0;
	double fullest = 0;

	if (all) {
		misses = count_misses(r, false);
		r->missed = count_misses(r, true);
		detach(r);
	}
	now_ns = (uint64_t)clock_mono().ns;
	until_ns = now_ns - MARGIN_NS;
	for (uint32_t cpu = 0; cpu < r->nrings; cpu++) {
		struct mapped_ring *g = &r->rings[cpu];
		uint64_t used = __atomic_load_n(g->produced, __ATOMIC_RELAXED) - *g->consumed;

		if ((double)used / r->ring_bytes > fullest)
			fullest = (double)used / r->ring_bytes;
		if (!read_ring(r, cpu) && g->last_ns < until_ns)
			until_ns = g->last_ns;
	}
	if (now_ns > until_ns + HELD_NS)
		until_ns = now_ns - HELD_NS;
	if (cpu_merge_bytes(r->merge) > RECORD_KEPT_MAX)
		until_ns = now_ns - MARGIN_NS;
	if (r->hold_ns != 0 && until_ns > r->hold_ns)
		until_ns = r->hold_ns;
	if (all)
		until_ns = UINT64_MAX;
	cpu_merge_take(r->merge, until_ns, hand_on, &x);
	if (all)
		now_ns = (uint64_t)clock_mono().ns;
	else if (until_ns > r->until_ns)
		r->until_ns = until_ns;
	if (all) {
		tell_gaps(r, &x, now_ns);
		tell_misses(r, &x, misses, now_ns);
	} else if (now_ns - r->misses_at_ns > MISSES_NS) {
		r->missed = count_misses(r, true);
		tell_misses(r, &x, count_misses(r, false), r->until_ns);
		forget_ended(r);
	}
	return fullest;
}

void
record_bpf_hold(struct record_bpf *r, int64_t until_ns)
{
	r->hold_ns = until_ns > 0 ? (uint64_t)until_ns : 0;
}

static void
add_name(void *of, const struct record_thread *t)
{
	struct record_bpf *r = of;
	struct record_name n = { .other.head = { .time_ns = t->time_ns,
				     .tid = t->tid,
				     .pid = t->pid,
				     .kind = RECORD_NAME,
				     .vector = RECORD_NO_VECTOR },
		.other.is_new = t->asleep != 0 };

	if (r->filtered && !follows(r, t->pid))
		return;
	memcpy(n.name, t->name, sizeof n.name);
	if (!cpu_merge_add(r->merge, r->nrings, t->time_ns, &n, sizeof n))
		r->forgotten++;
}

int
record_bpf_list(struct record_bpf *r, struct err *e)
{
	return list_threads(r, add_name, r, e);
}

bool
record_bpf_is_over(const struct record_bpf *r)
{
	return r->over;
}

uint64_t
record_bpf_late(const struct record_bpf *r)
{
	return r->late;
}

uint64_t
record_bpf_missed(const struct record_bpf *r)
{
	return r->missed;
}

uint64_t
record_bpf_unfollowed(const struct record_bpf *r)
{
	return __atomic_load_n(r->unfollowed, __ATOMIC_RELAXED);
}
