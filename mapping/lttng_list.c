/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two passes over the lines: the first counts, so that the second can allocate. */
#include "mapping/lttng_list.h"

#include <stdlib.h>
#include <string.h>

enum { NAME_MAX_BYTES = 255, EVENTS_MAX = 65536, PROGRAMS_MAX = 65536, FIELDS_MAX = 1024 };

enum form { OTHER, PROGRAM, EVENT, FIELD };

struct list_line {
	enum form form;
	const char *name, *type; /* type: of a field */
	size_t name_len, type_len;
	uint32_t pid;
};

static bool
starts(const char **s, const char *end, const char *with)
{
	size_t len = strlen(with);

	if ((size_t)(end - *s) < len || memcmp(*s, with, len) != 0)
		return false;
	*s += len;
	return true;
}

static size_t
word(const char *s, const char *end)
{
	size_t len = 0;

	while (s + len < end && (unsigned char)s[len] > ' ' && s[len] != 0x7f)
		len++;
	return len;
}

static enum form
read_program(struct list_line *l, const char *s, const char *end)
{
	uint64_t pid = 0;

	for (; s < end && *s >= '0' && *s <= '9' && pid < UINT32_MAX; s++)
		pid = pid * 10 + (uint64_t)(*s - '0');
	if (!starts(&s, end, " - Name: ") || pid > UINT32_MAX)
		return OTHER;
	l->pid = (uint32_t)pid;
	l->name = s;
	l->name_len = word(s, end);
	return PROGRAM;
}

/* Reads "NAME (WORD..."; the word is in l->type. For an event it is "loglevel:". */
static bool
read_name(struct list_line *l, const char *s, const char *end)
{
	l->name = s;
	l->name_len = word(s, end);
	s += l->name_len;
	if (l->name_len == 0 || l->name_len > NAME_MAX_BYTES || !starts(&s, end, " ("))
		return false;
	l->type = s;
	for (l->type_len = 0;
	     s + l->type_len < end && s[l->type_len] != ')' && s[l->type_len] != ' ';)
		l->type_len++;
	return true;
}

static struct list_line
read_line(const char *s, const char *end)
{
	struct list_line l = { .form = OTHER };

	while (s < end && *s == ' ')
		s++;
	if (starts(&s, end, "PID: "))
		l.form = read_program(&l, s, end);
	else if (starts(&s, end, "field: "))
		l.form = read_name(&l, s, end) ? FIELD : OTHER;
	else if (read_name(&l, s, end) && memchr(l.name, ':', l.name_len) != NULL &&
		 l.type_len == 9 && memcmp(l.type, "loglevel:", 9) == 0)
		l.form = EVENT;
	return l;
}

struct list_lines {
	const char *at, *end;
};

static bool
next_line(struct list_lines *t, struct list_line *ret)
{
	const char *newline;

	if (t->at == t->end)
		return false;
	if ((newline = memchr(t->at, '\n', (size_t)(t->end - t->at))) == NULL)
		newline = t->end;
	*ret = read_line(t->at, newline);
	t->at = newline < t->end ? newline + 1 : t->end;
	return true;
}

/* The number of lines of that form before one of an outer form. */
static uint32_t
count(struct list_lines t, enum form form, uint32_t max)
{
	struct list_line l;
	uint32_t n = 0;

	while (n < max && next_line(&t, &l) && (l.form == OTHER || l.form >= form))
		n += l.form == form;
	return n;
}

static enum map_field_type
type_of(const struct list_line *l)
{
	static const struct {
		const char *word;
		enum map_field_type type;
	} types[] = { { "integer", MAP_FIELD_INT }, { "enum", MAP_FIELD_ENUM },
		{ "float", MAP_FIELD_REAL }, { "string", MAP_FIELD_TEXT } };

	for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
		if (strlen(types[i].word) == l->type_len &&
		    memcmp(types[i].word, l->type, l->type_len) == 0)
			return types[i].type;
	return MAP_FIELD_OTHER;
}

/* The fields of an event; LTTng lists the last one first. */
static bool
read_fields(struct lttng_list *ret, struct list_lines *t, struct map_event *v)
{
	uint32_t n = count(*t, FIELD, FIELDS_MAX), left = n;
	struct map_field *fields = arena_calloc(&ret->arena, (size_t)n + 1, sizeof *fields);
	struct list_line l;

	while (fields != NULL && left > 0 && next_line(t, &l)) {
		if (l.form != FIELD)
			continue;
		left--;
		fields[left].type = type_of(&l);
		if ((fields[left].name = arena_text(&ret->arena, l.name, l.name_len)) == NULL)
			return false;
	}
	v->fields = fields;
	v->nfields = n;
	return fields != NULL;
}

static bool
read_events(struct lttng_list *ret, struct list_lines *t, struct lttng_list_program *p)
{
	uint32_t n = count(*t, EVENT, EVENTS_MAX);
	struct list_line l;

	if ((p->events = arena_calloc(&ret->arena, (size_t)n + 1, sizeof *p->events)) == NULL)
		return false;
	while (p->nevents < n && next_line(t, &l)) {
		struct map_event *v = &p->events[p->nevents];

		if (l.form != EVENT)
			continue;
		if ((v->name = arena_text(&ret->arena, l.name, l.name_len)) == NULL ||
		    !read_fields(ret, t, v))
			return false;
		p->nevents++;
	}
	return true;
}

int
lttng_list_read(struct lttng_list *ret, const char *text, size_t len, struct err *e)
{
	struct list_lines t = { text, text + len };
	uint32_t n = 0;
	struct list_line l;

	*ret = (struct lttng_list){ 0 };
	while (n < PROGRAMS_MAX && next_line(&t, &l))
		n += l.form == PROGRAM;
	if (n == 0)
		return err_set(e, ERR_INPUT,
		    "no program in it; want what lttng list --userspace --fields writes");
	t.at = text;
	if ((ret->programs = arena_calloc(&ret->arena, n, sizeof *ret->programs)) == NULL)
		goto no_memory;
	while (ret->nprograms < n && next_line(&t, &l)) {
		struct lttng_list_program *p = &ret->programs[ret->nprograms];

		if (l.form != PROGRAM)
			continue;
		p->pid = l.pid;
		if ((p->name = arena_text(&ret->arena, l.name, l.name_len)) == NULL ||
		    !read_events(ret, &t, p))
			goto no_memory;
		ret->nprograms++;
	}
	return 0;
no_memory:
	lttng_list_release(ret);
	return err_set(e, ERR_MEMORY, "no memory for a list of tracepoints");
}

void
lttng_list_release(struct lttng_list *l)
{
	arena_release(&l->arena);
	*l = (struct lttng_list){ 0 };
}

void
lttng_list_comm(const struct lttng_list_program *p, char ret[LTTNG_LIST_COMM_BYTES])
{
	const char *slash = strrchr(p->name, '/'), *name = slash != NULL ? slash + 1 : p->name;
	size_t len = strlen(name) < LTTNG_LIST_COMM_BYTES ? strlen(name)
	                                                  : LTTNG_LIST_COMM_BYTES - 1;

	memcpy(ret, name, len);
	ret[len] = '\0';
}
