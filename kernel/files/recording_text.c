/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE
#include "kernel/files/recording_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

enum { READY_EVENTS = 1024 }; /* made ready at a time */

/* ---- numbers ---------------------------------------------------------------- */

bool
text_number(const char **at, const char *end, int64_t *ret)
{
	const char *s = *at;
	uint64_t n = 0;

	for (; s < end && *s >= '0' && *s <= '9'; s++) {
		if (n > (INT64_MAX - 9) / 10)
			return false;
		n = 10 * n + (uint64_t)(*s - '0');
	}
	*ret = (int64_t)n;
	if (s == *at)
		return false;
	*at = s;
	return true;
}

static int
hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool
text_hex(const char **at, const char *end, int64_t *ret)
{
	const char *s = *at;
	uint64_t n = 0;

	for (; s < end && hex_digit(*s) >= 0 && s - *at < 16; s++)
		n = n << 4 | (uint64_t)hex_digit(*s);
	*ret = (int64_t)n;
	if (s == *at)
		return false;
	*at = s;
	return true;
}

bool
text_value(const char *at, const char *end, int64_t *ret)
{
	bool minus = at < end && *at == '-';

	at += minus;
	if (end - at > 2 && at[0] == '0' && at[1] == 'x') {
		at += 2;
		if (!text_hex(&at, end, ret))
			return false;
	} else if (!text_number(&at, end, ret)) {
		return false;
	}
	if (minus)
		*ret = -*ret;
	return at == end;
}

/* ---- pairs ------------------------------------------------------------------ */

/* Texts may have spaces: they end where the key begins that the kernel writes after them. */
static const char *const followers[][2] = {
	{ "prev_comm", " prev_pid=" },
	{ "next_comm", " next_pid=" },
	{ "child_comm", " child_pid=" },
	{ "parent_comm", " parent_pid=" },
	{ "comm", " pid=" },
	{ "comm", " clone_flags=" },
	{ "oldcomm", " newcomm=" },
	{ "newcomm", " oom_score_adj=" },
	{ "filename", " pid=" },
	{ "name", NULL },
};

enum { FOLLOWERS = sizeof followers / sizeof *followers };

/* Whether a key's value is a text, also if it looks like a number. */
static bool
is_text(const char *key, size_t len)
{
	for (int i = 0; i < FOLLOWERS; i++)
		if (strlen(followers[i][0]) == len && memcmp(followers[i][0], key, len) == 0)
			return true;
	return false;
}

static const char *
value_end(const char *key, size_t key_len, const char *value, const char *end)
{
	const char *space;

	for (int i = 0; i < FOLLOWERS; i++) {
		const char *found;

		if (strlen(followers[i][0]) != key_len ||
		    memcmp(followers[i][0], key, key_len) != 0)
			continue;
		if (followers[i][1] == NULL)
			return end;
		found = memmem(
		    value, (size_t)(end - value), followers[i][1], strlen(followers[i][1]));
		if (found != NULL)
			return found;
	}
	space = memchr(value, ' ', (size_t)(end - value));
	return space != NULL ? space : end;
}

static void
set_pair(struct raw_event *raw, const char *key, size_t key_len, const char *value, const char *end)
{
	const char *const *slots = raw->name->meaning->slots;

	for (int i = 0; slots[i] != NULL; i++) {
		struct field_said *v = &raw->values[i];
		int64_t number = 0;

		if (v->type != RAW_ABSENT || slot_has(slots[i], key, key_len) < 0)
			continue;
		if (!is_text(key, key_len) && text_value(value, end, &number))
			*v = (struct field_said){ RAW_NUMBER, number };
		else
			*v = (struct field_said){ RAW_TEXT, 0, value, (size_t)(end - value) };
		return;
	}
}

void
text_pairs(struct raw_event *raw, const char *at, const char *end)
{
	while (at < end) {
		const char *key, *stop;

		while (at < end && *at == ' ')
			at++;
		for (key = at; at < end && *at != '=' && *at != ' '; at++)
			;
		if (at == end || *at == ' ')
			continue;
		at++;
		stop = value_end(key, (size_t)(at - 1 - key), at, end);
		set_pair(raw, key, (size_t)(at - 1 - key), at, stop);
		at = stop;
	}
}

/* ---- names ------------------------------------------------------------------ */

struct event_name *
recording_text_name(struct recording_text *t, const char *name, size_t len)
{
	uint32_t id = texts_find(t->names, name, len);
	const char *text;

	if (id == UINT32_MAX) {
		if (!array_reserve_max(
			t->events, t->events_cap, texts_count(t->names) + 1, TEXT_NAMES_MAX) ||
		    (id = texts_intern(t->names, name, len)) == UINT32_MAX)
			return NULL;
		text = texts_get(t->names, id);
		event_name_set(&t->events[id], text, false);
		if (t->events[id].meaning == NULL && translator_counts(&t->translator, text))
			event_name_count(&t->events[id]);
	}
	return &t->events[id];
}

/* ---- lines ------------------------------------------------------------------ */

/* The next line: *line and *len, without its end. 1: there is none; or an error. */
static int
next_line(struct recording_text *t, const char **line, size_t *len, bool *whole, struct err *e)
{
	struct input *in = &t->in;
	size_t seen = 0;

	*whole = true;
	for (;;) {
		const char *end = memchr(in->at + seen, '\n', (size_t)(in->end - in->at) - seen);
		int rc;

		if (end != NULL || (in->over && in->at < in->end)) {
			*line = in->at;
			*len = (size_t)((end != NULL ? end : in->end) - in->at);
			in->at = end != NULL ? end + 1 : in->end;
			*len -= *len > 0 && (*line)[*len - 1] == '\r';
			return 0;
		}
		if (in->over)
			return 1;
		seen = (size_t)(in->end - in->at);
		if (seen > TEXT_LINE_MAX) { /* its begin is dropped, its end comes as a line */
			*whole = false;
			in->at = in->end;
			seen = 0;
		}
		rc = input_more(in, e);
		if (rc == ERR_INPUT) {
			account_odd(t->setting->account, ODDITY_TRUNCATED, "%.150s", e->text);
			in->over = true;
		} else if (rc < 0) {
			return rc;
		}
	}
}

static void
report_progress(struct recording_text *t)
{
	uint64_t now = 0, size;

	if (t->setting->read_bytes == NULL)
		return;
	input_progress(&t->in, &now, &size);
	*t->setting->read_bytes += now - t->reported_bytes;
	t->reported_bytes = now;
}

void
recording_text_add(struct recording_text *t, const struct kernel_event *ev)
{
	switch (event_window_add(t->window, ev)) {
	case WINDOW_MOVED:
		if (t->in_order)
			account_odd(t->setting->account, ODDITY_CLOCK,
			    "%" PRId64 " ns on CPU %u: a later time of this CPU came before",
			    ev->time_ns, ev->cpu);
		break;
	case WINDOW_TOOK:
		break;
	case WINDOW_LATE:
		account_odd(t->setting->account, ODDITY_CLOCK,
		    "%" PRId64 " ns on CPU %u: events of later times were given before",
		    ev->time_ns, ev->cpu);
		break;
	case WINDOW_NO_MEMORY:
		t->rc = ERR_MEMORY;
		break;
	}
}

static int
take_line(struct recording_text *t, const char *line, size_t len, bool whole, struct err *e)
{
	struct account *a = t->setting->account;
	struct raw_event raw = { .host = t->host };
	struct kernel_event events[TRANSLATED_MAX];
	const char *why = "";
	int n;

	if (!whole || len > TEXT_LINE_MAX) {
		account_odd(a, ODDITY_MALFORMED, "a line of over %d bytes", TEXT_LINE_MAX);
		return 0;
	}
	switch (t->parse(t, line, len, &raw, &why)) {
	case LINE_EVENT:
		a->counts->events++;
		n = raw_translate(&t->translator, &raw, events, e);
		for (int i = 0; i < n; i++)
			recording_text_add(t, &events[i]);
		if (t->rc != 0)
			return err_set(e, t->rc, "no memory for events");
		return n < 0 ? n : 0;
	case LINE_UNUSED:
		a->counts->events++;
		return 0;
	case LINE_OTHER:
		return 0;
	case LINE_BAD:
		account_odd(a, ODDITY_MALFORMED, "%s: %.*s", why, len < 80 ? (int)len : 80, line);
		return 0;
	}
	return 0;
}

static int
more(struct recording *recording, struct err *e)
{
	struct recording_text *t = (struct recording_text *)recording;
	struct account *a = t->setting->account;
	struct windowed_event out;
	const char *line;
	size_t len;
	bool whole;
	int rc = 0;

	a->file = t->recording.path;
	a->placed = true;
	recording->at = recording->count = 0;
	while (rc == 0 && recording->count < READY_EVENTS) {
		if (t->over && !event_window_take(t->window, &out))
			break;
		if (!t->over && !event_window_full(t->window)) {
			a->offset = input_offset(&t->in);
			if ((rc = next_line(t, &line, &len, &whole, e)) == 0)
				rc = take_line(t, line, len, whole, e);
			t->over = rc == 1;
			rc = rc == 1 ? 0 : rc;
			continue;
		}
		if (!t->over)
			event_window_take(t->window, &out);
		recording->items[recording->count++] = (struct recorded_item){ out.ev, 0 };
	}
	report_progress(t);
	a->file = NULL;
	a->placed = false;
	return rc;
}

/* ---- the recording ---------------------------------------------------------- */

static void
close_recording(struct recording *recording)
{
	struct recording_text *t = (struct recording_text *)recording;

	if (t->release != NULL)
		t->release(t);
	input_close(&t->in);
	event_window_free(t->window);
	texts_free(t->names);
	arena_release(&t->arena);
	free(t->events);
	free(recording->items);
	free(t);
}

/* The length of a file's name without the endings that recordings usually have. Others may be a part of a host's name. */
static size_t
without_endings(const char *name)
{
	static const char *const endings[] = { ".gz", ".txt", ".log", ".psv", ".trace", ".ftrace",
		".out" };
	size_t len = strlen(name);

	for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
		size_t ending = strlen(endings[i]);

		if (len > ending && memcmp(name + len - ending, endings[i], ending) == 0) {
			len -= ending;
			i = (size_t)-1; /* and what is before it */
		}
	}
	return len;
}

/* The name of the file; if another file has it, the whole path: two files are two hosts. */
static int
set_host(struct recording_text *t, const char *path, struct err *e)
{
	const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
	struct texts *hosts = t->setting->names->hosts;
	size_t len = without_endings(name);
	uint32_t host;

	if (texts_find(hosts, name, len) != UINT32_MAX) {
		name = path;
		len = strlen(path);
	}
	host = texts_intern(hosts, name, len);
	if (host >= KERNEL_HOSTS_MAX)
		return err_set(e, ERR_MEMORY, "over %d hosts, or out of memory", KERNEL_HOSTS_MAX);
	t->host = (uint16_t)host;
	return 0;
}

int
recording_text_open(struct recording_text **ret, size_t size, struct input *in, const char *path,
    struct recording_setting *setting, size_t window_bytes, struct err *e)
{
	struct recording_text *t = calloc(1, size);
	int rc;

	*ret = NULL;
	if (t == NULL) {
		input_close(in);
		return err_set(e, ERR_MEMORY, "out of memory");
	}
	t->in = *in;
	t->recording.more = more;
	t->recording.close = close_recording;
	t->setting = setting;
	t->translator = (struct translator){ .names = setting->names,
		.account = setting->account,
		.counted = setting->counted,
		.texts_left = &setting->texts_left };
	t->recording.path = arena_text(&t->arena, path, strlen(path));
	t->window = event_window_new(window_bytes);
	t->names = texts_new();
	t->recording.items = calloc(READY_EVENTS, sizeof *t->recording.items);
	if (t->recording.path == NULL || t->window == NULL || t->names == NULL ||
	    t->recording.items == NULL)
		rc = err_set(e, ERR_MEMORY, "out of memory");
	else
		rc = set_host(t, path, e);
	if (rc != 0) {
		close_recording(&t->recording);
		return rc;
	}
	*ret = t;
	return 0;
}
