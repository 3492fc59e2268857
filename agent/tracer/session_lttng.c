/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE
#include "agent/tracer/session_lttng.h"

#include <assert.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/system/folder.h"
#include "agent/system/process.h"

#define CLIENT_SOCKET "/run/lttng/client-lttng-sessiond"

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

/* LTTng reports a missing permission as a missing daemon. */
int
session_err(struct err *e, int code, const char *what)
{
	if (code == -LTTNG_ERR_NO_SESSIOND && access(CLIENT_SOCKET, W_OK) != 0 && errno == EACCES)
		return err_set(e, ERR_TRACER,
		    "%s: no permission to trace: add %s to the group \"tracing\" and restart "
		    "hone-agent",
		    what, user_name());
	if (code == -LTTNG_ERR_NO_SESSIOND)
		return err_set(e, ERR_TRACER,
		    "%s: no session daemon answers: start lttng-sessiond (systemctl start "
		    "lttng-sessiond)",
		    what);
	if (code == -LTTNG_ERR_NO_USTCONSUMERD)
		return err_set(e, ERR_TRACER,
		    "%s: the session daemon's consumer daemon died, so it cannot trace any more: restart "
		    "lttng-sessiond (systemctl restart lttng-sessiond)",
		    what);
	return err_set(e, ERR_TRACER, "%s: %s", what, lttng_strerror(code));
}

static int
channel_make(struct session *s, const struct session_rings *rings, struct err *e)
{
	struct lttng_domain d = domain();
	struct lttng_channel *c = lttng_channel_create(&d);
	int rc;

	if (c == NULL)
		return err_set(e, ERR_MEMORY, "out of memory");
	strcpy(c->name, SESSION_CHANNEL);
	c->enabled = 1;
	c->attr.overwrite = rings->overwrite;
	c->attr.subbuf_size = rings->sub_buffer_bytes;
	c->attr.num_subbuf = rings->sub_buffers;
	c->attr.switch_timer_interval = rings->overwrite ? 0 : rings->switch_timer_us;
	c->attr.read_timer_interval = 0;
	c->attr.output = LTTNG_EVENT_MMAP;
	rc = lttng_enable_channel(s->handle, c);
	lttng_channel_destroy(c);
	return rc < 0 ? session_err(e, rc, "channel " SESSION_CHANNEL) : 0;
}

/* LTTng accepts contexts only before the first start. */
static int
contexts_add(struct session *s, struct err *e)
{
	static char provider[] = "hone", trace_id[] = "trace_id", unit_id[] = "unit_id";
	struct lttng_event_context list[3] = { { .ctx = LTTNG_EVENT_CONTEXT_VTID } };

	list[1].ctx = list[2].ctx = LTTNG_EVENT_CONTEXT_APP_CONTEXT;
	list[1].u.app_ctx.provider_name = list[2].u.app_ctx.provider_name = provider;
	list[1].u.app_ctx.ctx_name = trace_id;
	list[2].u.app_ctx.ctx_name = unit_id;
	for (int i = 0; i < 3; i++) {
		int rc = lttng_add_context(s->handle, &list[i], NULL, SESSION_CHANNEL);

		if (rc < 0)
			return session_err(e, rc, "contexts");
	}
	return 0;
}

/* Rules are enabled after the start: then the metadata of a program describes its streams before
 * their events. */
static int
begin(struct session *s, const struct session_rings *rings, struct err *e)
{
	struct lttng_domain d = domain();
	char path[PATH_MAX + 8], out[PATH_MAX + 8];
	int rc;

	snprintf(path, sizeof path, "%s/shm", s->folder);
	snprintf(out, sizeof out, "%s/out", s->folder);
	if ((rc = folder_make(out, e)) != 0 || (rc = folder_make(path, e)) != 0)
		return rc;
	rc = rings->overwrite ? lttng_create_session_snapshot(s->name, NULL)
	                      : lttng_create_session(s->name, out);
	if (rc < 0)
		return session_err(e, rc, s->name);
	if ((rc = lttng_set_session_shm_path(s->name, path)) < 0)
		return session_err(e, rc, path);
	if ((s->handle = lttng_create_handle(s->name, &d)) == NULL)
		return err_set(e, ERR_MEMORY, "out of memory");
	if ((rc = channel_make(s, rings, e)) != 0 || (rc = contexts_add(s, e)) != 0)
		return rc;
	return (rc = lttng_start_tracing(s->name)) < 0 ? session_err(e, rc, "start") : 0;
}

int
session_make(struct session *s, const char *name, const char *folder,
    const struct session_rings *rings, struct err *e)
{
	int rc;

	memset(s, 0, sizeof *s);
	snprintf(s->name, sizeof s->name, "%s", name);
	snprintf(s->folder, sizeof s->folder, "%s", folder);
	if ((rc = begin(s, rings, e)) != 0) {
		session_bury(name, folder);
		session_forget(s);
	}
	return rc;
}

void
session_forget(struct session *s)
{
	if (s->handle != NULL)
		lttng_destroy_handle(s->handle);
	memset(s, 0, sizeof *s);
}

int
session_rule_on(struct session *s, const char *name, const char *filter)
{
	struct lttng_event *event = lttng_event_create();
	int rc;

	if (event == NULL)
		return -LTTNG_ERR_NOMEM;
	event->type = LTTNG_EVENT_TRACEPOINT;
	event->loglevel_type = LTTNG_EVENT_LOGLEVEL_ALL;
	event->loglevel = -1;
	strncpy(event->name, name, sizeof event->name - 1);
	rc = lttng_enable_event_with_filter(s->handle, event, SESSION_CHANNEL, filter);
	lttng_event_destroy(event);
	return rc == -LTTNG_ERR_UST_EVENT_ENABLED || rc > 0 ? 0 : rc;
}

int
session_rule_off(struct session *s, const char *name)
{
	return lttng_disable_event(s->handle, name, SESSION_CHANNEL);
}

static bool
is_number(const char *text)
{
	return text[0] != '\0' && strspn(text, "0123456789") == strlen(text);
}

pid_t
session_agent(const char *node, const char *text)
{
	char prefix[128];
	size_t len = (size_t)snprintf(prefix, sizeof prefix, "hone-%s-", node);
	char *end;
	long pid;

	if (len >= sizeof prefix || strncmp(text, prefix, len) != 0 ||
	    !isdigit((unsigned char)text[len]))
		return 0;
	pid = strtol(text + len, &end, 10);
	if (pid <= 0 || pid > INT_MAX)
		return 0;
	if (*end == '\0' || strcmp(end, "-cost") == 0 ||
	    ((strncmp(end, "-s", 2) == 0 || strncmp(end, "-r", 2) == 0) && is_number(end + 2)))
		return (pid_t)pid;
	return 0;
}

/* It belongs to that agent; or, with agent 0, to one that is dead, or that had this process's
 * pid. */
static bool
is_to_end(const char *node, const char *text, pid_t agent)
{
	pid_t pid = session_agent(node, text);

	if (pid == 0 || agent != 0)
		return pid != 0 && pid == agent;
	return pid == getpid() || !process_is(pid, "hone-agent");
}

bool
session_is_left(const char *node, const char *text)
{
	pid_t pid = session_agent(node, text);

	return pid != 0 && pid != getpid() && is_to_end(node, text, 0);
}

/* Disables the channel, which takes a few milliseconds for all programs. To stop the session takes up
 * to 0.2 s for each program, since the consumer daemon writes its metadata. */
static void
silence(const char *name)
{
	struct lttng_domain d = domain();
	struct lttng_handle *h = lttng_create_handle(name, &d);

	if (h == NULL)
		return;
	lttng_disable_channel(h, SESSION_CHANNEL);
	lttng_destroy_handle(h);
}

static void
end(const char *name)
{
	lttng_stop_tracing_no_wait(name);
	lttng_destroy_session_no_wait(name);
}

/* The sessions to end: returns their number, or LTTng's negative code; their names are in *ret, the
 * caller's. */
static int
list_to_end(const char *node, pid_t agent, char (**ret)[NAME_MAX])
{
	struct lttng_session *list = NULL;
	int n = lttng_list_sessions(&list), found = 0;

	*ret = n > 0 ? calloc((size_t)n, sizeof **ret) : NULL;
	for (int i = 0; *ret != NULL && i < n; i++)
		if (is_to_end(node, list[i].name, agent))
			snprintf((*ret)[found++], NAME_MAX, "%.250s", list[i].name);
	if (n > 0)
		free(list);
	return n < 0 ? n : found;
}

/* False: a folder is left. */
static bool
remove_folders(const char *node, const char *run_dir, pid_t agent)
{
	char path[PATH_MAX + NAME_MAX];
	struct dirent *entry;
	DIR *d = opendir(run_dir);
	bool all = true;

	while (d != NULL && (entry = readdir(d)) != NULL) {
		if (!is_to_end(node, entry->d_name, agent))
			continue;
		snprintf(path, sizeof path, "%s/%s", run_dir, entry->d_name);
		all = folder_remove(path) && all;
	}
	if (d != NULL)
		closedir(d);
	return all;
}

/*
 * When the session daemon has destroyed a session, it waits until the folder of its shared memory is
 * removed; for ever if a ring is stalled. So the folders are removed here, and once more when the
 * sessions are gone, since the daemons may have written meanwhile.
 */
int
sessions_bury(const char *node, const char *run_dir, pid_t agent, struct err *e)
{
	char(*names)[NAME_MAX];
	int n = list_to_end(node, agent, &names), rc = 0;

	if (n < 0)
		rc = session_err(e, n, "sessions");
	for (int i = 0; i < n; i++)
		silence(names[i]);
	for (int i = 0; i < n; i++) {
		end(names[i]);
		remove_folders(node, run_dir, agent);
	}
	free(names);
	for (int i = 0; i < 100 && n > 0; i++) {
		if ((n = list_to_end(node, agent, &names)) > 0)
			poll(NULL, 0, 10);
		free(names);
	}
	for (int i = 0; i < 50 && !remove_folders(node, run_dir, agent); i++)
		poll(NULL, 0, 10);
	return rc;
}

bool
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

bool
session_bury(const char *name, const char *folder)
{
	bool there;

	end(name);
	folder_remove(folder);
	for (int i = 0; (there = session_listed(name)) && i < 100; i++)
		poll(NULL, 0, 10);
	for (int i = 0; i < 50 && !folder_remove(folder); i++)
		poll(NULL, 0, 10);
	return !there;
}
