/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Programs that live, and that LTTng 2.13 does not trace. Three ways, and what shows each from
 * outside:
 *
 *  - Who ends has its folder removed, and with it all empty ones around; so also that of a program
 * that has just begun, between its making and the first file in it. Its registration fails, it goes
 * on without a word. A folder came and went in shm_dir, and none ever came in output_dir.
 *  - Who becomes itself by exec within a second would have the same folder again, and is refused.
 *    A folder went, its program lives on, and no other folder of its comes.
 *  - Who waited for 3 s to be registered goes on, and is traced when the session daemon gets to it.
 *    A folder comes when its program has lived for longer than that.
 *
 * A program with libhone says so itself when nobody records what it samples (instrument/policy.h),
 * also one that ends before the session daemon comes to it, of which nothing shows here. This is
 * for those without.
 *
 * How many records these do not write nobody can know: at least one is told, for the time that they
 * live.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent/reader/source_inside.h"

/* LTTNG_UST_REGISTER_TIMEOUT's default; and how long who became another one may take to be there
 * again. */
enum {
	REGISTER_MS = 3000,
	AGAIN_MS = 5000,
	TELL_LEAST_MS = 50,
	TELL_MOST_MS = 1000,
	SUSPECTS_MAX = 4096
};
#define MS INT64_C(1000000)

/* "comm-PID-DATE-TIME". False: nobody of LTTng's. */
static bool
split(const char *name, struct suspect *s)
{
	const char *at = name + strlen(name);
	char *end;

	for (int dashes = 0; dashes < 3; dashes++) {
		while (at > name && at[-1] != '-')
			at--;
		if (at-- == name)
			return false;
	}
	s->pid = strtol(at + 1, &end, 10);
	snprintf(s->comm, sizeof s->comm, "%.*s", (int)(at - name), name);
	return s->pid > 0 && *end == '-';
}

/* Whether that program is there, and since when. In a container whose numbers are others it is not.
 */
static bool
lives(const struct suspect *s, int64_t now_ns, int64_t *began_ns)
{
	char path[64], text[1024], state;
	unsigned long long ticks, bytes;
	struct timespec boot;

	snprintf(path, sizeof path, "/proc/%ld/stat", s->pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return false;
	text[n] = '\0';
	char *comm = strchr(text, '('), *after = strrchr(text, ')');
	if (comm == NULL || after == NULL)
		return false;
	*after++ = '\0';
	if (strcmp(comm + 1, s->comm) != 0 ||
	    sscanf(after,
		" %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d "
		"%*d %*d %*d %llu %llu",
		&state, &ticks, &bytes) != 3)
		return false;
	clock_gettime(CLOCK_BOOTTIME, &boot);
	*began_ns = now_ns - (boot.tv_sec * INT64_C(1000000000) + boot.tv_nsec) +
	            (int64_t)(ticks * (UINT64_C(1000000000) / (uint64_t)sysconf(_SC_CLK_TCK)));
	return bytes > 0 && state != 'Z' &&
	       state != 'X'; /* who is ending gives its memory back before its files */
}

/* Of the same program, in another life. */
static bool
is_again(const struct lttng_source *src, const struct suspect *s)
{
	for (uint32_t i = 0; i < src->nprocesses; i++) {
		const struct process *p = src->processes[i];
		struct suspect other;
		if (p->folder == s->folder && strcmp(p->name, s->name) != 0 &&
		    split(p->name, &other) && other.pid == s->pid)
			return true;
	}
	return false;
}

static bool
is_suspect(const struct lttng_source *src, const struct folder *f, const char *name)
{
	for (uint32_t i = 0; i < src->nsuspects; i++)
		if (src->suspects[i].folder == f && strcmp(src->suspects[i].name, name) == 0)
			return true;
	return false;
}

static void
suspect(struct lttng_source *src, struct folder *f, const char *name, int64_t since_ns, bool again,
    int64_t now_ns)
{
	struct suspect s = { .folder = f, .since_ns = since_ns, .seen_ns = now_ns, .again = again };

	if (f->withdrawn || src->nsuspects >= SUSPECTS_MAX || !split(name, &s) ||
	    is_suspect(src, f, name))
		return;
	if (!lives(&s, now_ns, &s.began_ns)) {
		if (again)
			return; /* it has ended, as most do */
		s.began_ns = 0;
	}
	struct suspect *grown = realloc(src->suspects, (src->nsuspects + 1) * sizeof *grown);
	if (grown == NULL || (s.name = strdup(name)) == NULL)
		return;
	src->suspects = grown;
	src->suspects[src->nsuspects++] = s;
}

void
untraced_born(struct lttng_source *src, struct folder *f, const char *name, int64_t now_ns)
{
	suspect(src, f, name, src->polled_ns, false, now_ns);
}

void
untraced_died(struct lttng_source *src, const struct process *p, int64_t now_ns)
{
	int64_t since_ns = p->born_ns;

	for (uint32_t i = 0; i < p->nstreams; i++)
		if (p->streams[i]->last_end_ns > since_ns)
			since_ns = p->streams[i]->last_end_ns;
	suspect(src, p->folder, p->name, since_ns, true, now_ns);
}

static bool
is_there(const struct root *r, const char *name)
{
	char path[4352];

	snprintf(path, sizeof path, "%s/%s", r->path, name);
	return access(path, F_OK) == 0;
}

static void
tell(struct lttng_source *src, struct suspect *s, int64_t now_ns)
{
	struct err e;

	if (s->told_ns == 0) {
		err_set(&e, ERR_TRACER,
		    "%s (%ld) runs untraced: the session daemon lost its registration; it is traced when it "
		    "is started again",
		    s->comm, s->pid);
		source_trouble(src, &e);
		s->told_ns = s->since_ns;
	}
	source_loss(src, LOSS_RING, 1, s->told_ns, now_ns);
	s->told_ns = now_ns;
}

/* Who was waiting for so long that it went on before it was traced: up to now, at the most. */
static void
tell_late(struct lttng_source *src, const struct suspect *s, int64_t now_ns)
{
	if (s->began_ns > src->opened_ns && !is_again(src, s) &&
	    now_ns - s->began_ns > REGISTER_MS * MS)
		source_loss(src, LOSS_RING, 1, s->began_ns + REGISTER_MS * MS, now_ns);
}

/* What the folders say of who is not told of yet: it is innocent, guilty, or neither so far. The
 * shm folder is asked first: a good one's goes after the other has come. */
static enum verdict {
	INNOCENT,
	GUILTY,
	OPEN
} judge(struct lttng_source *src, const struct suspect *s, int64_t now_ns)
{
	int64_t unused;

	if (s->again) {
		if (is_again(src, s))
			return INNOCENT;
		return now_ns - s->seen_ns > AGAIN_MS * MS || !lives(s, now_ns, &unused) ? GUILTY
		                                                                         : OPEN;
	}
	bool left = !is_there(&s->folder->shm, s->name);
	if (is_there(&s->folder->output, s->name)) {
		tell_late(src, s, now_ns);
		return INNOCENT;
	}
	return left ? GUILTY : OPEN;
}

/* False: nothing more is to be said of it. */
static bool
look_at(struct lttng_source *src, struct suspect *s, int64_t now_ns)
{
	int64_t age_ns = now_ns - s->since_ns, pause_ns = age_ns / 4, unused;

	if (s->told_ns == 0) {
		enum verdict v = judge(src, s, now_ns);
		if (v != GUILTY)
			return v == OPEN;
		tell(src, s, now_ns);
		return lives(s, now_ns, &unused);
	}
	pause_ns = pause_ns < TELL_LEAST_MS * MS  ? TELL_LEAST_MS * MS
	           : pause_ns > TELL_MOST_MS * MS ? TELL_MOST_MS * MS
	                                          : pause_ns;
	if (now_ns - s->told_ns < pause_ns)
		return true;
	bool on = lives(s, now_ns, &unused) && !is_again(src, s);
	tell(src, s, now_ns);
	return on;
}

static void
drop(struct lttng_source *src, uint32_t *i)
{
	free(src->suspects[*i].name);
	src->suspects[(*i)--] = src->suspects[--src->nsuspects];
}

void
untraced_look(struct lttng_source *src, int64_t now_ns)
{
	for (uint32_t i = 0; i < src->nsuspects; i++)
		if (!look_at(src, &src->suspects[i], now_ns))
			drop(src, &i);
}

void
untraced_forget(struct lttng_source *src)
{
	for (uint32_t i = 0; i < src->nsuspects; i++)
		if (src->suspects[i].folder->withdrawn)
			drop(src, &i);
}

void
untraced_release(struct lttng_source *src)
{
	for (uint32_t i = 0; i < src->nsuspects; i++)
		free(src->suspects[i].name);
	free(src->suspects);
}
