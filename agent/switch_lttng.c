/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * LTTng-UST by liblttng-ctl. One session with one channel, and two kinds of
 * rules in it: "hone:*" for sampled requests, and for probed requests whatever
 * is switched on. The filters never change, since a rule's filter cannot.
 * Exclusions are never used: they crash session daemon 2.13.9.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <lttng/lttng.h>

#include "agent/files.h"
#include "agent/switch.h"
#include "base/clock.h"

#define CHANNEL "hone"
#define COST "-cost"
#define ALWAYS_ON "hone:*"
#define SAMPLED "$app.hone:sampled == 1"
#define PROBED "$app.hone:probed == 1"
#define CLIENT_SOCKET "/run/lttng/client-lttng-sessiond"

struct tracer {
	char node[64], session[128], run_dir[PATH_MAX], folder[PATH_MAX];
	struct switch_options options;
	struct lttng_handle *handle;	/* NULL: there is no session */
	uint32_t opened;		/* sessions so far: each has a folder of its own */
};

static struct lttng_domain
domain(void)
{
	return (struct lttng_domain){ .type = LTTNG_DOMAIN_UST, .buf_type = LTTNG_BUFFER_PER_PID };
}

static const char *
user_name(void)
{
	const struct passwd *p = getpwuid(geteuid());

	return p != NULL ? p->pw_name : "this user";
}

/* What LTTng says, and what to do about it. Without permission it says that there is no daemon. */
static int
tracer_err(struct err *e, int code, const char *what)
{
	if (code == -LTTNG_ERR_NO_SESSIOND && access(CLIENT_SOCKET, W_OK) != 0 && errno == EACCES)
		return err_set(e, ERR_TRACER, "%s: no permission to trace: add %s to the group \"tracing\" and start "
		    "hone-agent anew", what, user_name());
	if (code == -LTTNG_ERR_NO_SESSIOND)
		return err_set(e, ERR_TRACER, "%s: no session daemon answers: start lttng-sessiond (systemctl start "
		    "lttng-sessiond)", what);
	return err_set(e, ERR_TRACER, "%s: %s", what, lttng_strerror(code));
}

void
switches_folder(const char *node, const char *run_dir, pid_t agent, char *out, size_t size)
{
	snprintf(out, size, "%s/hone-%s-%ld", run_dir, node, (long)agent);
}

/* Whether text is "hone-NODE-PID", or that with COST behind: node "a" does not own the sessions of node "a-1". */
static pid_t
pid_of_name(const char *node, const char *text)
{
	char prefix[128];
	size_t len = (size_t)snprintf(prefix, sizeof(prefix), "hone-%s-", node);
	char *end;
	long pid;

	if (strncmp(text, prefix, len) != 0 || !isdigit((unsigned char)text[len]))
		return 0;
	pid = strtol(text + len, &end, 10);
	return (*end == '\0' || strcmp(end, COST) == 0) && pid > 0 && pid <= INT_MAX ? (pid_t)pid : 0;
}

static bool
is_left_over(const char *node, const char *text)
{
	pid_t pid = pid_of_name(node, text);

	return pid != 0 && (pid == getpid() || !process_is(pid, "hone-agent"));
}

/* Stopping silences all programs; destroying can then take its time. */
static void
session_end(const char *name)
{
	lttng_stop_tracing_no_wait(name);
	lttng_destroy_session_no_wait(name);
}

static bool
session_listed(const char *name)
{
	struct lttng_session *list = NULL;
	int n = lttng_list_sessions(&list);
	bool found = false;

	for (int i = 0; i < n; i++)
		found = found || strcmp(list[i].name, name) == 0;
	if (n > 0)
		free(list);
	return found;
}

/*
 * The session daemon waits for the shared memory's folder to go when it has
 * destroyed a session, for ever if a ring is stalled. So we take it away, and
 * once more when the session is gone, since it may have written meanwhile.
 */
static void
session_bury(const char *name, const char *folder)
{
	session_end(name);
	folder_remove(folder);
	for (int i = 0; i < 100 && session_listed(name); i++)
		poll(NULL, 0, 10);
	for (int i = 0; i < 50 && !folder_remove(folder); i++)
		poll(NULL, 0, 10);
}

void
switches_cost(const char *node, const char *run_dir, pid_t agent, char *session, size_t session_size, char *folder,
    size_t folder_size)
{
	snprintf(session, session_size, "hone-%s-%ld" COST, node, (long)agent);
	snprintf(folder, folder_size, "%s/%s", run_dir, session);
}

void
switches_lttng_end(const char *session, const char *folder)
{
	session_bury(session, folder);
}

/* While it measures, or where that was killed, there is a folder. */
static void
cost_bury(const char *node, const char *run_dir, pid_t agent)
{
	char name[128], folder[PATH_MAX];

	switches_cost(node, run_dir, agent, name, sizeof(name), folder, sizeof(folder));
	if (access(folder, F_OK) == 0)
		session_bury(name, folder);
}

void
switches_lttng_bury(const char *node, const char *run_dir, pid_t dead)
{
	char name[128], folder[PATH_MAX];

	snprintf(name, sizeof(name), "hone-%s-%ld", node, (long)dead);
	switches_folder(node, run_dir, dead, folder, sizeof(folder));
	session_bury(name, folder);
	cost_bury(node, run_dir, dead);
}

static void
sweep_folders(const struct tracer *t)
{
	char path[PATH_MAX + 300];
	struct dirent *entry;
	DIR *d = opendir(t->run_dir);

	if (d == NULL)
		return;
	while ((entry = readdir(d)) != NULL) {
		if (!is_left_over(t->node, entry->d_name))
			continue;
		snprintf(path, sizeof(path), "%s/%s", t->run_dir, entry->d_name);
		folder_remove(path);
	}
	closedir(d);
}

static int
sweep(const struct tracer *t, struct err *e)
{
	struct lttng_session *list = NULL;
	char folder[PATH_MAX + 300];
	int n = lttng_list_sessions(&list);

	if (n < 0)
		return tracer_err(e, n, "sessions");
	for (int i = 0; i < n; i++) {
		if (!is_left_over(t->node, list[i].name))
			continue;
		snprintf(folder, sizeof(folder), "%s/%s", t->run_dir, list[i].name);
		session_bury(list[i].name, folder);
	}
	if (n > 0)
		free(list);
	sweep_folders(t);
	return 0;
}

static int
channel_make(struct tracer *t, struct err *e)
{
	struct lttng_domain d = domain();
	struct lttng_channel *c = lttng_channel_create(&d);
	int rc;

	if (c == NULL)
		return err_set(e, ERR_MEMORY, "out of memory");
	strcpy(c->name, CHANNEL);
	c->enabled = 1;
	c->attr.overwrite = 0;
	c->attr.subbuf_size = t->options.sub_buffer_bytes;
	c->attr.num_subbuf = t->options.sub_buffers;
	c->attr.switch_timer_interval = t->options.switch_timer_us;
	c->attr.read_timer_interval = 0;
	c->attr.output = LTTNG_EVENT_MMAP;
	rc = lttng_enable_channel(t->handle, c);
	lttng_channel_destroy(c);
	return rc < 0 ? tracer_err(e, rc, "channel " CHANNEL) : 0;
}

/* Contexts must be there before the first start. */
static int
contexts_add(struct tracer *t, struct err *e)
{
	static char provider[] = "hone", trace_id[] = "trace_id", unit_id[] = "unit_id";
	struct lttng_event_context list[3] = { { .ctx = LTTNG_EVENT_CONTEXT_VTID } };

	list[1].ctx = list[2].ctx = LTTNG_EVENT_CONTEXT_APP_CONTEXT;
	list[1].u.app_ctx.provider_name = list[2].u.app_ctx.provider_name = provider;
	list[1].u.app_ctx.ctx_name = trace_id;
	list[2].u.app_ctx.ctx_name = unit_id;
	for (int i = 0; i < 3; i++) {
		int rc = lttng_add_context(t->handle, &list[i], NULL, CHANNEL);

		if (rc < 0)
			return tracer_err(e, rc, "contexts");
	}
	return 0;
}

/* 0, also where it was on before, or LTTng's negative code. */
static int
rule_enable(struct tracer *t, const char *name, const char *filter)
{
	struct lttng_event *event = lttng_event_create();
	int rc;

	if (event == NULL)
		return -LTTNG_ERR_NOMEM;
	event->type = LTTNG_EVENT_TRACEPOINT;
	event->loglevel_type = LTTNG_EVENT_LOGLEVEL_ALL;
	event->loglevel = -1;
	strncpy(event->name, name, sizeof(event->name) - 1);
	rc = lttng_enable_event_with_filter(t->handle, event, CHANNEL, filter);
	lttng_event_destroy(event);
	return rc == -LTTNG_ERR_UST_EVENT_ENABLED || rc > 0 ? 0 : rc;
}

static void
tracer_close(void *state)
{
	struct tracer *t = state;

	if (t->handle != NULL)
		lttng_destroy_handle(t->handle);
	t->handle = NULL;
	session_bury(t->session, t->folder);
	cost_bury(t->node, t->run_dir, getpid());
}

static int
session_make(struct tracer *t, const struct switch_session *s, struct err *e)
{
	struct lttng_domain d = domain();
	int rc;

	if ((rc = lttng_create_session(t->session, s->output_dir)) < 0)
		return tracer_err(e, rc, t->session);
	if ((rc = lttng_set_session_shm_path(t->session, s->shm_dir)) < 0)
		return tracer_err(e, rc, s->shm_dir);
	if ((t->handle = lttng_create_handle(t->session, &d)) == NULL)
		return err_set(e, ERR_MEMORY, "out of memory");
	if ((rc = channel_make(t, e)) != 0 || (rc = contexts_add(t, e)) != 0)
		return rc;
	/* In this order the metadata of a program describe its streams before the events in them. */
	if ((rc = lttng_start_tracing(t->session)) < 0)
		return tracer_err(e, rc, "start");
	if ((rc = rule_enable(t, ALWAYS_ON, SAMPLED)) < 0)
		return tracer_err(e, rc, ALWAYS_ON);
	return 0;
}

static int
tracer_open(void *state, struct switch_session *ret, struct err *e)
{
	struct tracer *t = state;
	int rc;

	if (t->handle != NULL)
		tracer_close(t);
	if ((rc = sweep(t, e)) != 0)
		return rc;
	t->opened++;
	snprintf(ret->output_dir, sizeof(ret->output_dir), "%.3000s/%u/out", t->folder, t->opened);
	snprintf(ret->shm_dir, sizeof(ret->shm_dir), "%.3000s/%u/shm", t->folder, t->opened);
	snprintf(ret->channel, sizeof(ret->channel), "%s", CHANNEL);
	if ((rc = folder_make(ret->output_dir, e)) != 0 || (rc = folder_make(ret->shm_dir, e)) != 0)
		return rc;
	if ((rc = session_make(t, ret, e)) != 0)
		tracer_close(t);
	return rc;
}

static bool
is_gone(int code)
{
	return code == -LTTNG_ERR_NO_SESSIOND || code == -LTTNG_ERR_SESS_NOT_FOUND || code == -LTTNG_ERR_NO_SESSION;
}

static int
change_one(struct tracer *t, struct change *c)
{
	int rc = c->on ? rule_enable(t, c->name, PROBED) : lttng_disable_event(t->handle, c->name, CHANNEL);

	c->failed = rc < 0;
	c->words[0] = '\0';
	if (rc < 0)
		snprintf(c->words, sizeof(c->words), "%s", lttng_strerror(rc));
	return rc;
}

/*
 * While tracing runs each change is a round trip with every program; while it
 * is stopped changes cost next to nothing and the start brings all of them.
 */
static int
tracer_set(void *state, struct change *changes, uint32_t n, struct switch_gap *gap, struct err *e)
{
	struct tracer *t = state;
	bool stop = n > t->options.few_changes;
	int rc;

	memset(gap, 0, sizeof(*gap));
	if (t->handle == NULL)
		return err_set(e, ERR_TRACER, "%s: no session", t->session);
	if (stop) {
		gap->from_ns = clock_mono().ns;
		if ((rc = lttng_stop_tracing_no_wait(t->session)) < 0 && rc != -LTTNG_ERR_TRACE_ALREADY_STOPPED)
			return tracer_err(e, rc, "stop");
	}
	for (uint32_t i = 0; i < n; i++)
		if (is_gone(rc = change_one(t, &changes[i])))
			return tracer_err(e, rc, changes[i].name);
	if (stop) {
		if ((rc = lttng_start_tracing(t->session)) < 0 && rc != -LTTNG_ERR_TRACE_ALREADY_STARTED)
			return tracer_err(e, rc, "start");
		gap->to_ns = clock_mono().ns;
	}
	return 0;
}

static int
tracer_list(void *state, struct tracepoints *ret, struct err *e)
{
	struct tracer *t = state;
	struct lttng_event *events = NULL;
	size_t bytes = 0;
	char *at;
	int n;

	memset(ret, 0, sizeof(*ret));
	if (t->handle == NULL)
		return err_set(e, ERR_TRACER, "%s: no session", t->session);
	if ((n = lttng_list_tracepoints(t->handle, &events)) < 0)
		return tracer_err(e, n, "tracepoints");
	for (int i = 0; i < n; i++)
		bytes += strlen(events[i].name) + 1;
	ret->list = malloc(((size_t)n + 1) * sizeof(*ret->list));
	at = ret->text = malloc(bytes + 1);
	if (ret->list == NULL || at == NULL) {
		tracepoints_release(ret);
		free(events);
		return err_set(e, ERR_MEMORY, "out of memory for %d tracepoints", n);
	}
	for (int i = 0; i < n; i++) {
		ret->list[i] = (struct tracepoint){ events[i].pid, at };
		at = stpcpy(at, events[i].name) + 1;
	}
	ret->count = (uint32_t)n;
	if (n > 0)
		free(events);
	return 0;
}

void
tracepoints_release(struct tracepoints *t)
{
	free(t->list);
	free(t->text);
	memset(t, 0, sizeof(*t));
}

/* Somebody may have destroyed or stopped it, or the daemon is another one. */
static int
tracer_check(void *state, struct err *e)
{
	struct tracer *t = state;
	struct lttng_session *list = NULL;
	bool found = false, runs = false;
	int n = lttng_list_sessions(&list);

	if (n < 0)
		return tracer_err(e, n, t->session);
	for (int i = 0; i < n; i++) {
		if (strcmp(list[i].name, t->session) != 0)
			continue;
		found = true;
		runs = list[i].enabled != 0;
	}
	if (n > 0)
		free(list);
	if (found && runs)
		return 0;
	return err_set(e, ERR_TRACER, found ? "%s: somebody stopped the session" :
	    "%s: the session is gone: the session daemon died, or somebody destroyed it", t->session);
}

static void
tracer_free(void *state)
{
	free(state);
}

int
switches_lttng(struct switches *ret, const struct switch_options *o, struct err *e)
{
	struct tracer *t = calloc(1, sizeof(*t));

	if (t == NULL)
		return err_set(e, ERR_MEMORY, "out of memory");
	t->options = *o;
	t->options.node = t->options.run_dir = NULL;
	snprintf(t->node, sizeof(t->node), "%s", o->node);
	snprintf(t->session, sizeof(t->session), "hone-%s-%ld", o->node, (long)getpid());
	snprintf(t->run_dir, sizeof(t->run_dir), "%s", o->run_dir);
	switches_folder(o->node, o->run_dir, getpid(), t->folder, sizeof(t->folder));
	*ret = (struct switches){ t, tracer_open, tracer_set, tracer_list, tracer_check, tracer_close, tracer_free };
	return 0;
}
