/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Text of ftrace: the file trace of tracefs, and what trace-cmd report prints, also with -R and -t.
 *
 *	   Web Content-1234  (  1200) [003] d..2.  5612.123456: sched_switch: prev_comm=Web Content prev_pid=1234 ...
 *	   name             tid  pid      CPU   flags  time       event         fields
 *	CPU:1 [LOST 23 EVENTS]
 *
 * The process and the flags are not always there; a name may have any characters. So the CPU's brackets are found first, behind
 * which there must be a time.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "kernel/files/recording_text.h"

enum { WINDOW_BYTES = 8 << 20, FLAGS_MAX = 12, SNIFF_LINES = 40 };

struct cpu_loss {
	bool pending, any;
	uint64_t count;
	int64_t last_ns; /* of its last event */
};

struct recording_ftrace {
	struct recording_text text;
	struct cpu_loss *losses; /* by CPU */
	uint32_t nlosses, losses_cap;
	char name[64]; /* of a system call's event, put together */
};

struct ftrace_head { /* of a line */
	const char *comm;
	size_t comm_len;
	int64_t tid, pid, cpu, time_ns; /* pid -1: not known */
	const char *rest;               /* from the event on */
};

/* ---- the head of a line ----------------------------------------------------- */

/* Seconds, a point, and 6 or 9 digits. */
static bool
read_time(const char **at, const char *end, int64_t *ret)
{
	int64_t seconds, part;
	const char *s = *at, *point;

	if (!text_number(&s, end, &seconds) || s == end || *s != '.' ||
	    seconds > INT64_MAX / 2000000000)
		return false;
	point = ++s;
	if (!text_number(&s, end, &part) || (s - point != 6 && s - point != 9))
		return false;
	*ret = seconds * 1000000000 + (s - point == 6 ? part * 1000 : part);
	*at = s;
	return true;
}

static const char *
skip_spaces(const char *at, const char *end)
{
	while (at < end && *at == ' ')
		at++;
	return at;
}

/* What follows the CPU: flags perhaps, the time, a colon. */
static bool
read_rest(const char *at, const char *end, struct ftrace_head *ret)
{
	const char *word;

	word = at = skip_spaces(at, end);
	if (!read_time(&at, end, &ret->time_ns)) {
		while (at < end && *at != ' ' && at - word < FLAGS_MAX)
			at++;
		if (at == word || at == end || *at != ' ')
			return false;
		at = skip_spaces(at, end);
		if (!read_time(&at, end, &ret->time_ns))
			return false;
	}
	if (at == end || *at != ':')
		return false;
	ret->rest = skip_spaces(at + 1, end);
	return ret->rest < end;
}

/* What precedes the CPU's bracket, from the right: the process in parentheses perhaps, the thread, its name. */
static bool
read_thread(const char *begin, const char *at, struct ftrace_head *ret)
{
	const char *digits;

	while (at > begin && at[-1] == ' ')
		at--;
	ret->pid = -1;
	if (at > begin && at[-1] == ')') {
		const char *close = --at;

		while (at > begin && at[-1] != '(')
			at--;
		if (at == begin)
			return false;
		digits = skip_spaces(at, close);
		if (!text_number(&digits, close, &ret->pid))
			ret->pid = -1; /* "-----" */
		for (at--; at > begin && at[-1] == ' ';)
			at--;
	}
	for (digits = at; digits > begin && digits[-1] >= '0' && digits[-1] <= '9';)
		digits--;
	if (digits == begin || digits[-1] != '-' || !text_number(&digits, at, &ret->tid))
		return false;
	while (at > begin && at[-1] != '-')
		at--;
	ret->comm = skip_spaces(begin, at);
	if (ret->comm == at)
		return false;
	ret->comm_len = (size_t)(at - 1 - ret->comm);
	return true;
}

static bool
read_head(const char *line, const char *end, struct ftrace_head *ret)
{
	for (const char *at = line; (at = memchr(at, '[', (size_t)(end - at))) != NULL; at++) {
		const char *cpu = at + 1;

		if (text_number(&cpu, end, &ret->cpu) && cpu < end && *cpu == ']' &&
		    ret->cpu < TEXT_CPUS_MAX && read_rest(cpu + 1, end, ret) &&
		    read_thread(line, at, ret))
			return ret->tid <= INT32_MAX && ret->pid <= INT32_MAX;
	}
	return false;
}

/* ---- fields that are not key=value ------------------------------------------ */

/* The state of a thread that leaves, "S", "R+", "D|K" or a number, as the number that the kernel has for it. */
static bool
read_state(const char *at, const char *end, int64_t *ret)
{
	static const char letters[] = "RSDTtXZPIKWxNn";
	static const int64_t states[] = { 0, 1, 2, 4, 8, 16, 32, 64, 128, 128, 0, 64, 0, 0 };

	if (text_value(at, end, ret))
		return true;
	*ret = 0;
	for (; at < end; at++) {
		const char *found = strchr(letters, *at);

		if (*at == '|' || *at == '+')
			continue;
		if (*at == '\0' || found == NULL)
			return false;
		*ret |= states[found - letters];
	}
	return true;
}

/* "comm:pid [prio]" of trace-cmd, up to `end`. What follows is *after. */
static bool
read_pretty(const char *at, const char *end, struct field_said *comm, struct field_said *tid,
    const char **after)
{
	const char *bracket = memrchr(at, '[', (size_t)(end - at)), *colon;

	if (bracket == NULL || bracket == at)
		return false;
	colon = memrchr(at, ':', (size_t)(bracket - at));
	if (colon == NULL || !text_value(colon + 1, bracket - 1, &tid->number))
		return false;
	tid->type = RAW_NUMBER;
	*comm = (struct field_said){ RAW_TEXT, 0, at, (size_t)(colon - at) };
	*after = memchr(bracket, ']', (size_t)(end - bracket));
	return *after != NULL;
}

/* "swapper/1:0 [120] R ==> bash:1234 [120]" */
static void
read_pretty_switch(struct raw_event *raw, const char *at, const char *end)
{
	const char *arrow = memmem(at, (size_t)(end - at), " ==> ", 5), *after, *unused;
	struct field_said *v = raw->values;

	if (arrow == NULL || !read_pretty(at, arrow, &v[3], &v[0], &after) ||
	    !read_pretty(arrow + 5, end, &v[4], &v[2], &unused))
		return;
	after = skip_spaces(after + 1, arrow);
	if (read_state(after, arrow, &v[1].number))
		v[1].type = RAW_NUMBER;
}

static void
read_fields(struct raw_event *raw, const char *at, const char *end)
{
	struct field_said *v = raw->values;
	const char *unused;

	text_pairs(raw, at, end);
	switch (raw->name->meaning->kind) {
	case MEANING_SWITCH:
		if (v[0].type == RAW_ABSENT)
			read_pretty_switch(raw, at, end);
		else if (v[1].type == RAW_TEXT &&
			 read_state(v[1].text, v[1].text + v[1].len, &v[1].number))
			v[1].type = RAW_NUMBER;
		break;
	case MEANING_WAKING:
	case MEANING_WAKEUP:
	case MEANING_WAKEUP_NEW:
	case MEANING_TTWU:
		if (v[0].type == RAW_ABSENT)
			read_pretty(at, end, &v[1], &v[0], &unused);
		break;
	case MEANING_FORK: /* the kernel's comm=, pid= are of the parent */
		break;
	default:
		break;
	}
}

/* Hexadecimal numbers behind "name: ", of a system call. */
static void
read_argument(struct raw_event *raw, int slot, const char *name, const char *at, const char *end)
{
	const char *found = memmem(at, (size_t)(end - at), name, strlen(name));

	if (found == NULL)
		return;
	found += strlen(name);
	found += end - found > 2 && found[0] == '0' && found[1] == 'x' ? 2 : 0;
	if (text_hex(&found, end, &raw->values[slot].number))
		raw->values[slot].type = RAW_NUMBER;
}

/* "uaddr: 7f0, op: 81, val: 1, ..." */
static void
read_call(struct raw_event *raw, const char *at, const char *end)
{
	read_argument(raw, 0, ": ", at, end);
	read_argument(raw, 1, "uaddr: ", at, end);
	read_argument(raw, 2, "op: ", at, end);
	read_argument(raw, 3, "val: ", at, end);
}

static void
read_result(struct raw_event *raw, const char *at, const char *end)
{
	at = skip_spaces(at, end);
	if (text_value(at, end, &raw->values[0].number))
		raw->values[0].type = RAW_NUMBER;
}

/* "NR 202 (7f0, 81, 1, 0, 0, 0)", "NR 202 = 0" */
static void
read_raw_call(struct raw_event *raw, const char *at, const char *end)
{
	struct field_said *v = raw->values;

	if (end - at < 3 || memcmp(at, "NR ", 3) != 0) {
		text_pairs(raw, at, end);
		return;
	}
	at += 3;
	if (*at == '-' ? text_value(at, memchr(at, ' ', (size_t)(end - at)) ?: end, &v[0].number)
		       : text_number(&at, end, &v[0].number))
		v[0].type = RAW_NUMBER;
	at = memchr(
	    at, raw->name->meaning->kind == MEANING_RAW_CALL_IN ? '(' : '=', (size_t)(end - at));
	if (at == NULL)
		return;
	at++;
	if (raw->name->meaning->kind == MEANING_RAW_CALL_OUT) {
		at = skip_spaces(at, end);
		if (text_value(at, end, &v[1].number))
			v[1].type = RAW_NUMBER;
		return;
	}
	for (int i = 1; i <= 3; i++) {
		at = skip_spaces(at, end);
		if (!text_hex(&at, end, &v[i].number))
			return;
		v[i].type = RAW_NUMBER;
		if (at == end || *at != ',')
			return;
		at++;
	}
}

/* ---- events ----------------------------------------------------------------- */

static size_t
name_len(const char *at, const char *end)
{
	const char *s = at;

	while (s < end && ((*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') ||
			      (*s >= '0' && *s <= '9') || *s == '_' || *s == '.' || *s == '-'))
		s++;
	return (size_t)(s - at);
}

/* Finds the name and where the fields begin. The file trace has "sys_read(fd: 3, ...)" and "sys_read -> 0x1" for events that are
 * called sys_enter_read and sys_exit_read. */
static struct event_name *
find_name(struct recording_ftrace *f, const char *at, const char *end, const char **fields)
{
	size_t len = name_len(at, end), put;
	bool begins = at + len < end && at[len] == '(';
	bool ends = end - at > (ptrdiff_t)len + 4 && memcmp(at + len, " -> ", 4) == 0;

	if (len > 4 && memcmp(at, "sys_", 4) == 0 && (begins || ends) &&
	    len < sizeof f->name - 16) {
		put = (size_t)(stpcpy(f->name, begins ? "sys_enter_" : "sys_exit_") - f->name);
		memcpy(f->name + put, at + 4, len - 4);
		*fields = at + len + (begins ? 1 : 4);
		return recording_text_name(&f->text, f->name, put + len - 4);
	}
	*fields = at + len;
	if (len == 0 || at + len == end || at[len] != ':') /* a function, a mark */
		return NULL;
	*fields = skip_spaces(at + len + 1, end);
	return recording_text_name(&f->text, at, len);
}

static enum text_line
parse_event(struct recording_ftrace *f, const char *at, const char *end, struct raw_event *raw)
{
	const char *fields;
	size_t len = name_len(at, end);

	raw->name = find_name(f, at, end, &fields);
	if (raw->name == NULL || raw->name->meaning == NULL) {
		account_unused(f->text.setting->account, at, len);
		return LINE_UNUSED;
	}
	switch (raw->name->meaning->kind) {
	case MEANING_CALL_IN:
		read_call(raw, fields, end);
		break;
	case MEANING_CALL_OUT:
		read_result(raw, fields, end);
		break;
	case MEANING_RAW_CALL_IN:
	case MEANING_RAW_CALL_OUT:
		read_raw_call(raw, fields, end);
		break;
	default:
		read_fields(raw, fields, end);
	}
	return LINE_EVENT;
}

/* ---- losses ----------------------------------------------------------------- */

static struct cpu_loss *
loss_of(struct recording_ftrace *f, int64_t cpu)
{
	uint32_t n = (uint32_t)cpu + 1;

	if (n > f->nlosses) {
		if (!array_reserve(f->losses, f->losses_cap, n)) {
			f->text.rc = ERR_MEMORY;
			return NULL;
		}
		memset(&f->losses[f->nlosses], 0, (n - f->nlosses) * sizeof *f->losses);
		f->nlosses = n;
	}
	return &f->losses[cpu];
}

/* "CPU:1 [LOST 23 EVENTS]", "CPU:1 [23 EVENTS DROPPED]", "CPU:1 [EVENTS DROPPED]": before the next event of that CPU. */
static enum text_line
parse_loss(struct recording_ftrace *f, const char *at, const char *end, const char **why)
{
	int64_t cpu, count = 0;
	struct cpu_loss *l;

	*why = "a loss that cannot be read";
	at += 4;
	if (!text_number(&at, end, &cpu) || cpu >= TEXT_CPUS_MAX || end - at < 2 || at[0] != ' ' ||
	    at[1] != '[')
		return LINE_BAD;
	at += 2;
	if (end - at > 5 && memcmp(at, "LOST ", 5) == 0)
		at += 5;
	text_number(&at, end, &count);
	if ((l = loss_of(f, cpu)) == NULL)
		return LINE_OTHER;
	l->pending = true;
	l->count += (uint64_t)count;
	return LINE_OTHER;
}

/* The CPU has an event again: the loss was between it and the one before. */
static void
end_loss(struct recording_ftrace *f, const struct raw_event *raw)
{
	struct cpu_loss *l = loss_of(f, raw->cpu);
	struct kernel_event ev = {
		.time_ns = raw->time_ns, .cpu = raw->cpu, .host = raw->host, .kind = KERNEL_LOST
	};

	if (l == NULL)
		return;
	if (l->pending) {
		ev.lost.count = l->count;
		ev.lost.from_ns = l->any ? l->last_ns : raw->time_ns;
		recording_text_add(&f->text, &ev);
	}
	*l = (struct cpu_loss){ .any = true, .last_ns = raw->time_ns };
}

/* ---- lines ------------------------------------------------------------------ */

static enum text_line
parse(
    struct recording_text *t, const char *line, size_t len, struct raw_event *raw, const char **why)
{
	struct recording_ftrace *f = (struct recording_ftrace *)t;
	const char *end = line + len, *at = skip_spaces(line, end);
	struct ftrace_head h;

	if (at == end || *at == '#')
		return LINE_OTHER;
	if (end - at > 4 && memcmp(at, "CPU:", 4) == 0)
		return parse_loss(f, at, end, why);
	if (!read_head(line, end, &h)) {
		*why = "no event of ftrace";
		return at[0] == '=' || (end - at > 5 && memcmp(at, "cpus=", 5) == 0) ||
		               memmem(at, (size_t)(end - at), "trace>", 6) != NULL
		           ? LINE_OTHER
		           : LINE_BAD;
	}
	raw->time_ns = h.time_ns;
	raw->cpu = (uint16_t)h.cpu;
	raw->has_tid = true;
	raw->tid = (uint32_t)h.tid;
	raw->has_pid = h.pid > 0;
	raw->pid = h.pid > 0 ? (uint32_t)h.pid : 0;
	if (h.tid != 0 && !(h.comm_len == 5 && memcmp(h.comm, "<...>", 5) == 0)) {
		raw->has_procname = true;
		raw->procname = h.comm;
		raw->procname_len = h.comm_len;
	}
	end_loss(f, raw);
	return parse_event(f, h.rest, end, raw);
}

static void
release(struct recording_text *t)
{
	free(((struct recording_ftrace *)t)->losses);
}

int
recording_ftrace_open(struct recording **ret, struct input *in, const char *path,
    struct recording_setting *setting, struct err *e)
{
	size_t window = setting->waiting_left < WINDOW_BYTES ? setting->waiting_left : WINDOW_BYTES;
	struct recording_text *t;
	int rc = recording_text_open(
	    &t, sizeof(struct recording_ftrace), in, path, setting, window, e);

	if (rc != 0)
		return rc;
	t->parse = parse;
	t->in_order = true;
	t->release = release;
	*ret = &t->recording;
	return 0;
}

int
recording_ftrace_sniff(const char *head, size_t len)
{
	const char *end = head + len;
	int good = 0, bad = 0;

	if (len > 9 && memcmp(head, "# tracer:", 9) == 0)
		return 95;
	for (int i = 0; i < SNIFF_LINES && head < end; i++) {
		const char *stop = memchr(head, '\n', (size_t)(end - head));
		struct ftrace_head h;

		if (stop == NULL)
			stop = end;
		if (read_head(head, stop, &h))
			good++;
		else if (stop > head && *head != '#' && *head != 'C' && *head != 'c')
			bad++;
		head = stop + (stop < end);
	}
	return good > bad ? 80 : 0;
}
