/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "below/main/probes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/texts.h"
#include "below/kernel/trap_cost.h"
#include "below/probes/probe_price.h"
#include "wire/below.h"

#define LOOK_NS INT64_C(250000000) /* between two looks at how often probes are passed */

enum { FILES_MAX = 1024, NAMES_MAX = 16384, ASKED_MAX = 4096, NOWHERE = UINT16_MAX };

struct probe_place {
	uint32_t name; /* in probes.names */
	uint16_t at;   /* in the BPF programs' table; NOWHERE: it is off */
	uint64_t offset, semaphore;
	double pass_ns;
	uint32_t nvalues;
	struct raw_value values[RAW_VALUES_MAX];
	uint64_t passes; /* at the last look */
};

struct probed_file {
	struct file_identity identity;
	int fd; /* -1: no probe of it is known */
	struct probe_link link;
	uint32_t generation;
	uint32_t nplaces, cap_places;
	struct probe_place *places;
	bool due; /* what is asked for may have changed */
};

struct asked {
	uint32_t name, id;
	uint8_t word;
	bool on, due; /* due: it was not answered yet */
	bool failed, full;
	uint64_t passed; /* since the last look */
	double pass_ns;  /* of the dearest place that was passed */
	char reason[BELOW_REASON_MAX + 1];
};

struct probes {
	struct trace_bpf *trace;
	struct stacks *stacks;
	struct texts *names;
	struct probed_file *files;
	uint32_t nfiles, cap_files;
	struct asked *asked;
	uint32_t nasked, cap_asked;
	bool used[RAW_PROBES_MAX]; /* places of the BPF programs' table */
	bool due;
	double
	    dearer; /* a pass costs so many times what probe_price_ns() says; 0: not measured yet */
	struct mono looked;
};

struct probes *
probes_new(struct trace_bpf *trace, struct stacks *stacks)
{
	struct probes *p = calloc(1, sizeof *p);

	if (p != NULL && (p->names = texts_new()) == NULL) {
		free(p);
		return NULL;
	}
	if (p != NULL) {
		p->trace = trace;
		p->stacks = stacks;
	}
	return p;
}

void
probes_free(struct probes *p)
{
	if (p == NULL)
		return;
	for (uint32_t i = 0; i < p->nfiles; i++) {
		struct probed_file *f = &p->files[i];

		probe_link_close(&f->link);
		if (f->fd >= 0)
			close(f->fd);
		free(f->places);
	}
	free(p->files);
	free(p->asked);
	texts_free(p->names);
	free(p);
}

/* ---- files ---- */

/* By register of DWARF: its number in struct pt_regs (r15, r14, r13, r12, rbp, rbx, r11 to r8, rax, rcx, rdx, rsi, rdi, orig_rax, rip,
 * cs, flags, rsp, ss). */
static const uint8_t OF_DWARF[] = { 10, 12, 11, 5, 13, 14, 4, 19, 9, 8, 7, 6, 3, 2, 1, 0, 16 };

static struct raw_value
value_of(const struct usdt_argument *a)
{
	static const uint8_t FROM[] = { [USDT_CONSTANT] = RAW_CONSTANT,
		[USDT_REGISTER] = RAW_REGISTER,
		[USDT_MEMORY] = RAW_MEMORY };
	struct raw_value v = { .from = RAW_CONSTANT };

	if ((unsigned)a->kind >= sizeof FROM || a->dwarf_register >= sizeof OF_DWARF)
		return v; /* of a form that is not read: 0 */
	return (struct raw_value){ .from = FROM[a->kind],
		.size = a->size <= 8 ? a->size : 8,
		.at = OF_DWARF[a->dwarf_register],
		.is_signed = a->is_signed,
		.constant = a->constant };
}

/* Out of memory, or with too many names, the place is left out. */
static void
add_place(struct probes *p, struct probed_file *f, const struct file_probe *from)
{
	char name[FILE_PROBE_NAME_MAX + sizeof BELOW_USDT];
	int len = snprintf(name, sizeof name, BELOW_USDT "%s", from->name);
	uint32_t id = texts_count(p->names) < NAMES_MAX ? texts_intern(p->names, name, (size_t)len)
	                                                : texts_find(p->names, name, (size_t)len);
	struct probe_place *to;

	if (id == UINT32_MAX || !array_reserve(f->places, f->cap_places, f->nplaces + 1))
		return;
	to = &f->places[f->nplaces++];
	*to = (struct probe_place){ .name = id,
		.at = NOWHERE,
		.offset = from->offset,
		.semaphore = from->semaphore,
		.pass_ns = probe_price_ns(PROBE_EMULATED, false),
		.nvalues = from->nvalues };
	for (uint32_t i = 0; i < from->nvalues; i++)
		to->values[i] = value_of(&from->values[i]);
}

static struct probed_file *
file_of(struct probes *p, const struct file_identity *identity)
{
	for (uint32_t i = 0; i < p->nfiles; i++)
		if (p->files[i].identity.device == identity->device &&
		    p->files[i].identity.inode == identity->inode)
			return &p->files[i];
	return NULL;
}

/* Makes a file known, of which `first` has the first probes; takes fd. */
static void
add_file(struct probes *p, pid_t pid, uint32_t number, const struct file_identity *identity,
    struct file_probes *first, int fd)
{
	struct probed_file *f;
	struct file_identity same;
	int other;

	if (p->nfiles == FILES_MAX || !array_reserve(p->files, p->cap_files, p->nfiles + 1)) {
		if (fd >= 0)
			close(fd);
		return;
	}
	f = &p->files[p->nfiles++];
	*f = (struct probed_file){ .identity = *identity, .fd = fd, .due = true };
	p->due = true;
	for (uint32_t from = 0; first->count > 0;) {
		for (uint32_t i = 0; i < first->count; i++)
			add_place(p, f, &first->list[i]);
		from += first->count;
		if (from >= first->total ||
		    !stacks_probes(p->stacks, pid, number, from, &same, first, &other))
			break;
		if (other >= 0)
			close(other);
	}
}

/* Calls `each` for all files of the process that are known, or have become so. */
static void
read_files(
    struct probes *p, pid_t pid, void (*each)(void *of, const struct probed_file *f), void *of)
{
	static struct file_probes found;
	struct file_identity identity;
	int fd;

	for (uint32_t i = 0; stacks_probes(p->stacks, pid, i, 0, &identity, &found, &fd); i++) {
		struct probed_file *f = identity.inode != 0 ? file_of(p, &identity) : NULL;

		if (f == NULL && identity.inode != 0 && !found.unread) {
			add_file(p, pid, i, &identity, &found, fd);
			f = file_of(p, &identity);
		} else if (fd >= 0) {
			close(fd);
		}
		if (f != NULL && each != NULL)
			each(of, f);
	}
}

void
probes_follow(struct probes *p, pid_t pid)
{
	read_files(p, pid, NULL, NULL);
}

/* ---- the list ---- */

struct listing {
	const struct probes *p;
	struct below_message m;
	below_take *take;
	void *of;
	uint8_t *told; /* names */
	size_t len;
	char names[BELOW_NAMES_MAX + 1];
};

static void
put_list(struct listing *l, bool last)
{
	l->names[l->len] = '\0';
	l->m.listed.names = l->names;
	l->m.listed.last = last;
	l->take(l->of, &l->m);
	l->len = 0;
}

static void
list_file(void *of, const struct probed_file *f)
{
	struct listing *l = of;

	for (uint32_t i = 0; i < f->nplaces; i++) {
		uint32_t name = f->places[i].name;
		const char *text = texts_get(l->p->names, name);
		size_t len = strlen(text);

		if (l->told[name])
			continue;
		l->told[name] = 1;
		if (l->len + len + 1 > BELOW_NAMES_MAX)
			put_list(l, false);
		memcpy(l->names + l->len, text, len);
		l->len += len;
		l->names[l->len++] = '\n';
	}
}

void
probes_list(struct probes *p, pid_t pid, below_take *take, void *of)
{
	struct listing l = { .p = p,
		.m = { .kind = BELOW_LISTED, .listed.pid = (uint32_t)pid },
		.take = take,
		.of = of,
		.told = calloc(NAMES_MAX, 1) };

	if (l.told != NULL)
		read_files(p, pid, list_file, &l);
	put_list(&l, true);
	free(l.told);
}

/* ---- functions ---- */

struct function_name { /* of "func.SERVICE:NAME_start" */
	char name[BELOW_PROBE_NAME_MAX + 1];
	bool is_end;
};

/* False: it is not of that form. */
static bool
take_function_name(struct function_name *ret, const char *probe)
{
	const char *colon = strchr(probe, ':'), *ending;

	if (strncmp(probe, BELOW_FUNC, strlen(BELOW_FUNC)) != 0 || colon == NULL ||
	    (ending = strrchr(colon, '_')) == NULL || ending == colon + 1)
		return false;
	ret->is_end = strcmp(ending, BELOW_FUNC_DONE) == 0;
	snprintf(ret->name, sizeof ret->name, "%.*s", (int)(ending - colon - 1), colon + 1);
	return ret->is_end || strcmp(ending, BELOW_FUNC_START) == 0;
}

/* Out of memory, the place is left out. */
static void
add_function_place(struct probed_file *f, uint32_t name, uint64_t offset, enum probe_way way)
{
	if (array_reserve(f->places, f->cap_places, f->nplaces + 1))
		f->places[f->nplaces++] = (struct probe_place){ .name = name,
			.at = NOWHERE,
			.offset = offset,
			.pass_ns = probe_price_ns(way, false) };
}

static void
add_functions(struct probed_file *f, uint32_t name, bool is_end, const struct file_functions *found)
{
	for (uint32_t i = 0; i < found->count; i++) {
		const struct file_function *x = &found->list[i];

		if (!is_end)
			add_function_place(
			    f, name, x->entry, x->is_dear ? PROBE_STEPPED : PROBE_EMULATED);
		for (uint32_t k = 0; is_end && k < x->nexits; k++)
			add_function_place(f, name, x->exits[k], PROBE_STEPPED);
	}
}

static bool
has_places(const struct probed_file *f, uint32_t name)
{
	for (uint32_t i = 0; i < f->nplaces; i++)
		if (f->places[i].name == name)
			return true;
	return false;
}

/* Takes fd over. False: there are too many files. */
static bool
keep_functions(struct probes *p, const struct file_identity *identity, int fd,
    const struct asked *a, bool is_end, const struct file_functions *found)
{
	struct probed_file *f = file_of(p, identity);

	if (f != NULL && f->fd < 0)
		f->fd = fd;
	else
		close(fd);
	if (f != NULL)
		add_functions(f, a->name, is_end, found);
	return f != NULL;
}

static const char *const LACKS[FUNCTION_LACKS] = {
	[FUNCTION_MISSING] = "no file of the process has a function of that name: it is compiled "
			     "into those that call it",
	[FUNCTION_MANY] = "too many functions have that name",
	[FUNCTION_NO_PLACE] = "the function has no place at its begin that each call passes "
			      "once",
	[FUNCTION_NO_EXITS] = "it is not known where the function is left",
};

/* Finds the function in the files of its process, in the first that has it. Sets the reason if it cannot be probed. */
static void
find_function(struct probes *p, struct asked *a, pid_t pid, const struct function_name *function)
{
	static struct file_functions found;
	enum function_lack lack = FUNCTION_MISSING;
	struct file_identity identity;
	int fd;

	for (uint32_t i = 0; i < p->nfiles; i++)
		if (has_places(&p->files[i], a->name))
			return;
	for (uint32_t i = 0;
	     stacks_functions(p->stacks, pid, i, function->name, &identity, &found, &fd); i++) {
		if (found.count > 0 && file_of(p, &identity) == NULL)
			probes_follow(p, pid);
		if (found.count > 0 &&
		    keep_functions(p, &identity, fd, a, function->is_end, &found))
			return;
		if (lack == FUNCTION_MISSING)
			lack = (enum function_lack)found.lack;
	}
	a->failed = true;
	a->on = false;
	snprintf(a->reason, sizeof a->reason, "%s", LACKS[lack]);
}

/* ---- on and off ---- */

void
probes_set(struct probes *p, const struct below_probe *asked)
{
	uint32_t number = texts_count(p->names) < NAMES_MAX
	                      ? texts_intern(p->names, asked->name, strlen(asked->name))
	                      : texts_find(p->names, asked->name, strlen(asked->name));
	struct asked *a = NULL;
	struct function_name function;

	for (uint32_t i = 0; i < p->nasked && a == NULL; i++)
		if (p->asked[i].id == asked->id)
			a = &p->asked[i];
	if (a == NULL) {
		if (p->nasked == ASKED_MAX || !array_reserve(p->asked, p->cap_asked, p->nasked + 1))
			return;
		a = &p->asked[p->nasked++];
	}
	*a = (struct asked){
		.name = number, .id = asked->id, .on = asked->on, .word = asked->word, .due = true
	};
	if (number == UINT32_MAX && asked->on) {
		a->failed = true;
		snprintf(a->reason, sizeof a->reason, "too many names of probes");
	} else if (asked->on && take_function_name(&function, asked->name)) {
		find_function(p, a, (pid_t)asked->pid, &function);
	}
	p->due = true;
	for (uint32_t i = 0; i < p->nfiles; i++)
		p->files[i].due = true;
}

static struct asked *
asked_of(struct probes *p, uint32_t name)
{
	for (uint32_t i = 0; i < p->nasked; i++)
		if (p->asked[i].name == name && p->asked[i].on)
			return &p->asked[i];
	return NULL;
}

static uint16_t
free_place(struct probes *p)
{
	for (uint32_t i = 0; i < RAW_PROBES_MAX; i++)
		if (!p->used[i]) {
			p->used[i] = true;
			return (uint16_t)i;
		}
	return NOWHERE;
}

static void
tell_place(
    struct probes *p, const struct probe_place *at, uint32_t generation, const struct asked *a)
{
	struct raw_probe raw = { .generation = generation,
		.id = a != NULL ? a->id : 0,
		.text = a != NULL ? a->word : 0,
		.nvalues = at->nvalues };

	memcpy(raw.values, at->values, sizeof raw.values);
	trace_bpf_set_probe(p->trace, at->at, &raw);
}

static void
drop_place(struct probes *p, struct probe_place *at)
{
	if (at->at == NOWHERE)
		return;
	tell_place(p, at, 0, NULL);
	p->used[at->at] = false;
	at->at = NOWHERE;
}

struct link_list { /* of the places of a file that are to be on */
	uint64_t *offsets, *semaphores, *cookies;
	uint32_t n;
};

/* Gives places in the table to those that are to be on. False: out of memory, or the table is full. */
static bool
gather(struct probes *p, struct probed_file *f, uint32_t generation, struct link_list *l)
{
	uint64_t *room = calloc((size_t)f->nplaces + 1, 3 * sizeof *room);

	*l = (struct link_list){ room, room + f->nplaces, room + 2 * (size_t)f->nplaces, 0 };
	if (room == NULL)
		return false;
	for (uint32_t i = 0; i < f->nplaces; i++) {
		struct probe_place *at = &f->places[i];
		struct asked *a = asked_of(p, at->name);

		if (a == NULL)
			continue;
		if (at->at == NOWHERE) {
			if ((at->at = free_place(p)) == NOWHERE)
				return false;
			at->passes = trace_bpf_passes(p->trace, at->at);
			tell_place(p, at, generation, a);
		}
		l->offsets[l->n] = at->offset;
		l->semaphores[l->n] = at->semaphore;
		l->cookies[l->n++] = (uint64_t)generation << 32 | at->at;
	}
	return true;
}

/* The new link counts from now on; places that are to be off are forgotten. */
static void
turn_over(
    struct probes *p, struct probed_file *f, uint32_t generation, const struct probe_link *link)
{
	struct probe_link old = f->link;

	for (uint32_t i = 0; i < f->nplaces; i++) {
		struct asked *a = asked_of(p, f->places[i].name);

		if (a == NULL)
			drop_place(p, &f->places[i]);
		else if (f->places[i].at != NOWHERE)
			tell_place(p, &f->places[i], generation, a);
	}
	f->link = *link;
	f->generation = generation;
	probe_link_close(&old);
}

/* All that is asked for in this file is off in it, and said to have failed; the old link has no place that counts. */
static void
give_up(struct probes *p, struct probed_file *f, const char *why)
{
	for (uint32_t i = 0; i < f->nplaces; i++) {
		struct asked *a = asked_of(p, f->places[i].name);

		if (a == NULL)
			continue;
		a->failed = a->due = true;
		a->on = false;
		snprintf(a->reason, sizeof a->reason, "%s", why);
	}
	for (uint32_t i = 0; i < f->nplaces; i++)
		drop_place(p, &f->places[i]);
	probe_link_close(&f->link);
}

/* Whether a place is on that should be off, or the other way round. */
static bool
is_other(struct probes *p, const struct probed_file *f)
{
	for (uint32_t i = 0; i < f->nplaces; i++)
		if ((asked_of(p, f->places[i].name) != NULL) != (f->places[i].at != NOWHERE))
			return true;
	return false;
}

static void
apply_file(struct probes *p, struct probed_file *f)
{
	uint32_t generation = f->generation + 1;
	struct link_list l = { 0 };
	char why[BELOW_REASON_MAX + 1] = "too many places are probed at a time";
	struct probe_link link = { 0 };
	bool done;

	f->due = false;
	if (!is_other(p, f))
		return;
	if ((done = gather(p, f, generation, &l)) && l.n > 0) {
		const struct probe_link_places places = { l.offsets, l.semaphores, l.cookies, l.n };

		done = trace_bpf_attach_probes(p->trace, f->fd, &places, &link) == 0;
		snprintf(why, sizeof why, "the kernel does not attach it: %s", strerror(errno));
	}
	if (done)
		turn_over(p, f, generation, &link);
	else
		give_up(p, f, why);
	free(l.offsets);
}

static uint32_t
places_of(const struct probes *p, uint32_t name)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->nfiles; i++)
		for (uint32_t k = 0; k < p->files[i].nplaces; k++)
			n += p->files[i].places[k].name == name;
	return n;
}

/* Where the kernel permits few places at a time, those that were asked for first have them. */
static void
refuse_many(struct probes *p)
{
	uint32_t max = trace_bpf_probes_max(p->trace), taken = 0;

	for (uint32_t i = 0; i < p->nasked && max < RAW_PROBES_MAX; i++) {
		struct asked *a = &p->asked[i];
		uint32_t n = a->on ? places_of(p, a->name) : 0;

		if (taken + n <= max) {
			taken += n;
			continue;
		}
		a->on = false;
		a->failed = a->full = a->due = true;
		snprintf(a->reason, sizeof a->reason,
		    "it needs %u of the %u places that can be probed at a time here; %u are taken",
		    n, max, taken);
	}
}

/* How much a trap costs is a matter of the machine, and of what it runs in. */
static void
measure(struct probes *p)
{
	double ns = trap_cost_ns(p->trace), usual_ns = probe_price_ns(PROBE_EMULATED, false);

	p->dearer = ns > usual_ns ? ns / usual_ns : 1;
}

void
probes_apply(struct probes *p, below_take *take, void *of)
{
	struct below_message m = { .kind = BELOW_PROBED };
	uint32_t kept = 0;

	if (!p->due)
		return;
	p->due = false;
	refuse_many(p);
	if (p->dearer == 0)
		measure(p);
	for (uint32_t i = 0; i < p->nfiles; i++)
		if (p->files[i].due)
			apply_file(p, &p->files[i]);
	for (uint32_t i = 0; i < p->nasked; i++) {
		struct asked *a = &p->asked[i];

		if (a->due) {
			m.probed = (struct below_probed){ a->id, a->on, a->failed ? a->reason : "",
				a->full };
			take(of, &m);
		}
		a->due = false;
		if (a->on)
			p->asked[kept++] = *a;
	}
	p->nasked = kept;
}

/* ---- the limit ---- */

static int
by_cost(const void *a, const void *b)
{
	const struct probe_rate *x = a, *y = b;

	double a_ns = x->per_second * x->pass_ns, b_ns = y->per_second * y->pass_ns;

	if (a_ns != b_ns)
		return a_ns < b_ns ? 1 : -1;
	return x->id < y->id ? -1 : x->id > y->id;
}

uint32_t
probes_over(struct probe_rate *list, uint32_t n)
{
	double sum_ns = 0; /* of a second */
	uint32_t over = 0;

	for (uint32_t i = 0; i < n; i++)
		sum_ns += list[i].per_second * list[i].pass_ns;
	if (n > 0)
		qsort(list, n, sizeof *list, by_cost);
	for (; over < n && sum_ns > PROBES_SHARE_MAX * 1e9; over++)
		sum_ns -= list[over].per_second * list[over].pass_ns;
	return over;
}

static void
count_passes(struct probes *p)
{
	for (uint32_t i = 0; i < p->nasked; i++) {
		p->asked[i].passed = 0;
		p->asked[i].pass_ns = 0;
	}
	for (uint32_t i = 0; i < p->nfiles; i++)
		for (uint32_t k = 0; k < p->files[i].nplaces; k++) {
			struct probe_place *at = &p->files[i].places[k];
			struct asked *a = at->at != NOWHERE ? asked_of(p, at->name) : NULL;
			uint64_t passes;

			if (a == NULL)
				continue;
			passes = trace_bpf_passes(p->trace, at->at);
			a->passed += passes - at->passes;
			if (at->pass_ns > a->pass_ns)
				a->pass_ns = at->pass_ns;
			at->passes = passes;
		}
}

static void
switch_off(struct probes *p, uint32_t id, double per_second)
{
	for (uint32_t i = 0; i < p->nasked; i++) {
		struct asked *a = &p->asked[i];

		if (a->id != id)
			continue;
		a->on = false;
		a->failed = a->due = p->due = true;
		snprintf(a->reason, sizeof a->reason,
		    "passed %.0f times a second: all probes together may take %.0f %% of a core",
		    per_second, PROBES_SHARE_MAX * 100);
	}
}

void
probes_limit(struct probes *p, struct mono now, below_take *take, void *of)
{
	int64_t passed_ns = mono_since_ns(now, p->looked);
	struct probe_rate *list;
	uint32_t over;

	if (p->nasked == 0 || passed_ns < LOOK_NS ||
	    (list = calloc(p->nasked, sizeof *list)) == NULL)
		return;
	count_passes(p);
	for (uint32_t i = 0; i < p->nasked; i++)
		list[i] = (struct probe_rate){ p->asked[i].id,
			p->looked.ns != 0 ? (double)p->asked[i].passed * 1e9 / (double)passed_ns
					  : 0,
			p->asked[i].pass_ns * p->dearer };
	p->looked = now;
	over = probes_over(list, p->nasked);
	for (uint32_t i = 0; i < over; i++)
		switch_off(p, list[i].id, list[i].per_second);
	free(list);
	for (uint32_t i = 0; over > 0 && i < p->nfiles; i++)
		p->files[i].due = true;
	probes_apply(p, take, of);
}
