/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Logs of MiSeRTrace (bpftrace prints them), sorted or CPU by CPU:
 *
 *	"nginx"|"1234"|"5612123456789"|"3"|"MT:tracepoint:tcp:tcp_rcv_space_adjust"|"sport=80 dport=5123 saddr=... daddr=..."
 *	 name    tid    ns              CPU  event                                   fields, of some events
 *
 * Events without MT: in front are of the user's choice, and are counted. The meta file names the containers of threads,
 * which their children inherit:
 *
 *	pid|container|ip|id
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash_map.h"
#include "kernel/files/recording_text.h"

enum { SNIFF_LINES = 20, FIELDS_MIN = 5, FIELDS = 6, CONTAINERS_MAX = 1 << 20 };

struct recording_psv {
	struct recording_text text;
	struct map containers; /* thread -> number of its container's name + 1 */
};

struct psv_field {
	const char *at, *end;
};

/* Splits a line into at most `max` fields, of which the last one has the rest; quotes around a field are left out, and inside of them
 * there may be |. Returns their number. */
static int
split(const char *at, const char *end, struct psv_field *ret, int max)
{
	int n = 0;

	for (; n < max; n++) {
		const char *stop;

		if (at < end && *at == '"') {
			at++;
			stop = n + 1 < max ? memmem(at, (size_t)(end - at), "\"|", 2) : NULL;
			if (stop == NULL)
				stop = end > at && end[-1] == '"' ? end - 1 : end;
			ret[n] = (struct psv_field){ at, stop };
			at = stop < end ? stop + 1 : stop;
		} else {
			stop = n + 1 < max ? memchr(at, '|', (size_t)(end - at)) : NULL;
			if (stop == NULL)
				stop = end;
			ret[n] = (struct psv_field){ at, stop };
			at = stop;
		}
		if (at == end)
			return n + 1;
		at++; /* the | */
	}
	return n;
}

static bool
psv_number(const struct psv_field *f, int64_t max, int64_t *ret)
{
	const char *at = f->at;

	return text_number(&at, f->end, ret) && at == f->end && *ret <= max;
}

/* ---- events ----------------------------------------------------------------- */

/* The name behind the last colon. Those of the probes by which MiSeRTrace sees a send are tcp_send. */
static struct event_name *
find_name(struct recording_text *t, const struct psv_field *f)
{
	const char *colon = memrchr(f->at, ':', (size_t)(f->end - f->at));
	const char *name = colon != NULL ? colon + 1 : f->at;
	size_t len = (size_t)(f->end - name);

	if ((len == 12 && memcmp(name, "sock_sendmsg", 12) == 0) ||
	    (len == 15 && memcmp(name, "____sys_sendmsg", 15) == 0))
		return recording_text_name(t, "tcp_send", 8);
	return recording_text_name(t, name, len);
}

static struct event_name *
find_counted(struct recording_text *t, const struct psv_field *f)
{
	struct event_name *n = recording_text_name(t, f->at, (size_t)(f->end - f->at));

	if (n != NULL)
		event_name_count(n);
	return n;
}

/* A thread of a container has its name; a thread that it makes has it, too. */
static void
use_container(struct recording_psv *p, struct raw_event *raw)
{
	uintptr_t name = (uintptr_t)map_get(&p->containers, raw->tid);

	if (name != 0) {
		raw->procname = texts_get(p->text.setting->names->texts, (uint32_t)(name - 1));
		raw->procname_len = strlen(raw->procname);
	}
	if (name != 0 && raw->name->meaning->kind == MEANING_FORK &&
	    raw->values[3].type == RAW_NUMBER && p->containers.count < CONTAINERS_MAX)
		if (!map_put(&p->containers, (uint32_t)raw->values[3].number, (void *)name))
			p->text.rc = ERR_MEMORY;
}

static enum text_line
parse(
    struct recording_text *t, const char *line, size_t len, struct raw_event *raw, const char **why)
{
	struct recording_psv *p = (struct recording_psv *)t;
	struct psv_field f[FIELDS];
	int64_t tid, ns, cpu;
	int n = len == 0 ? 0 : split(line, line + len, f, FIELDS);

	if (n == 0 || (n == 1 && memcmp(line, "Attaching", len < 9 ? len : 9) == 0))
		return LINE_OTHER; /* bpftrace's first line */
	*why = "no record of MiSeRTrace";
	if (n < FIELDS_MIN || !psv_number(&f[1], INT32_MAX, &tid) ||
	    !psv_number(&f[2], INT64_MAX, &ns) || !psv_number(&f[3], TEXT_CPUS_MAX - 1, &cpu) ||
	    f[4].at == f[4].end)
		return LINE_BAD;
	raw->time_ns = ns;
	raw->cpu = (uint16_t)cpu;
	raw->tid = (uint32_t)tid;
	raw->has_tid = true;
	raw->has_procname = true;
	raw->procname = f[0].at;
	raw->procname_len = (size_t)(f[0].end - f[0].at);
	raw->name = f[4].end - f[4].at > 3 && memcmp(f[4].at, "MT:", 3) == 0
	                ? find_name(t, &f[4])
	                : find_counted(t, &f[4]);
	if (raw->name == NULL || raw->name->meaning == NULL) {
		account_unused(t->setting->account, f[4].at, (size_t)(f[4].end - f[4].at));
		return LINE_UNUSED;
	}
	if (n == FIELDS)
		text_pairs(raw, f[5].at, f[5].end);
	use_container(p, raw);
	return LINE_EVENT;
}

/* ---- the meta file ---------------------------------------------------------- */

static int
take_meta(struct recording_psv *p, const char *line, size_t len, struct err *e)
{
	struct psv_field f[4];
	int n = len == 0 ? 0 : split(line, line + len, f, 4);
	int64_t tid;
	uint32_t name;

	if (n == 0)
		return 0;
	if (n < 2 || !psv_number(&f[0], INT32_MAX, &tid) || f[1].at == f[1].end) {
		account_odd(p->text.setting->account, ODDITY_MALFORMED,
		    "no line of a meta file: %.*s", len < 80 ? (int)len : 80, line);
		return 0;
	}
	if (p->containers.count == CONTAINERS_MAX) {
		account_odd(p->text.setting->account, ODDITY_BOUND,
		    "over %d threads in the meta file", CONTAINERS_MAX);
		return 0;
	}
	name = translator_text(&p->text.translator, f[1].at, (size_t)(f[1].end - f[1].at));
	if (name == UINT32_MAX ||
	    !map_put(&p->containers, (uint32_t)tid, (void *)((uintptr_t)name + 1)))
		return err_set(e, ERR_MEMORY, "out of memory");
	return 0;
}

static int
read_meta(struct recording_psv *p, const char *path, struct err *e)
{
	FILE *f = fopen(path, "r");
	char line[4096];
	int rc = 0;

	if (f == NULL)
		return err_errno(e, "%s", path);
	p->text.setting->account->file = path;
	while (rc == 0 && fgets(line, sizeof line, f) != NULL)
		rc = take_meta(p, line, strcspn(line, "\r\n"), e);
	p->text.setting->account->file = NULL;
	fclose(f);
	return rc;
}

/* ---- the recording ---------------------------------------------------------- */

static void
release(struct recording_text *t)
{
	map_release(&((struct recording_psv *)t)->containers);
}

int
recording_psv_open(struct recording **ret, struct input *in, const char *path,
    struct recording_setting *setting, struct err *e)
{
	struct recording_text *t;
	int rc = recording_text_open(
	    &t, sizeof(struct recording_psv), in, path, setting, setting->waiting_left, e);

	if (rc != 0)
		return rc;
	t->parse = parse;
	t->release = release;
	if (setting->meta != NULL &&
	    (rc = read_meta((struct recording_psv *)t, setting->meta, e)) != 0) {
		t->recording.close(&t->recording);
		return rc;
	}
	*ret = &t->recording;
	return 0;
}

int
recording_psv_sniff(const char *head, size_t len)
{
	const char *end = head + len;
	int good = 0, bad = 0;

	for (int i = 0; i < SNIFF_LINES && head < end; i++) {
		const char *stop = memchr(head, '\n', (size_t)(end - head));
		struct psv_field f[FIELDS];
		int64_t n;

		if (stop == NULL)
			stop = end;
		if (stop > head && split(head, stop, f, FIELDS) >= FIELDS_MIN &&
		    psv_number(&f[1], INT32_MAX, &n) && psv_number(&f[2], INT64_MAX, &n) &&
		    psv_number(&f[3], TEXT_CPUS_MAX - 1, &n))
			good++;
		else if (stop > head)
			bad++;
		head = stop + (stop < end);
	}
	return good > bad ? 85 : 0;
}
