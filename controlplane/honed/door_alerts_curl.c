/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Alerts go out: to an Alertmanager, to a webhook, and to a command. An alert is told when its diagnosis has ended, so with its
 * verdict; and when it has ended itself. libcurl works in honed's one thread, at each step as far as it gets without waiting.
 */
#define _GNU_SOURCE
#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "controlplane/answers/alert_message.h"
#include "controlplane/engine/parts.h"
#include "controlplane/honed/door.h"
#include "controlplane/honed/file_limit.h"
#include "controlplane/honed/limited_log.h"

#define S_NS INT64_C(1000000000)
/* An Alertmanager ends what it was not told again for 5 minutes; it has to hear of the end of an alert that ended while it was away. */
#define MANAGER_EVERY_NS (60 * S_NS)
#define MANAGER_ENDED_NS (3600 * S_NS)
#define TRIES_MAX 5 /* of the webhook; the k-th waits 2^k s more */
#define COMMAND_NS (60 * S_NS)
#define TIMEOUT_MS 10000L

extern char **environ;

/* Messages that wait for the webhook or the command, oldest first. */
enum { QUEUE_MAX = 64 };
struct message_queue {
	char *items[QUEUE_MAX]; /* JSON, owned */
	uint32_t n, tries;      /* tries: of the first one */
	struct mono due;        /* of the first one */
	uint64_t dropped;
};

struct sending {
	CURL *easy; /* NULL: idle */
	char *body;
	char problem[CURL_ERROR_SIZE];
};

struct alerts_door {
	const struct config *config;
	struct questions *questions;
	CURLM *multi;
	struct curl_slist *headers;
	char *manager_url; /* with its path */
	struct mono manager_due;
	uint64_t told,
	    ended
		[ALERTS_MAX]; /* numbers: of the newest alert that was told, and of those whose end was */
	struct sending manager, webhook;
	struct message_queue hooks, commands;
	pid_t command; /* 0: none runs */
	struct mono command_began;
	struct limited_log log;
	char url[512];
};

/* ---- queues ---- */

static void
queue_put(struct message_queue *q, char *message)
{
	if (message == NULL || q->n == QUEUE_MAX) {
		q->dropped++;
		free(message);
		return;
	}
	q->items[q->n++] = message;
}

static void
queue_drop_first(struct message_queue *q)
{
	free(q->items[0]);
	memmove(&q->items[0], &q->items[1], --q->n * sizeof q->items[0]);
	q->tries = 0;
	q->due = (struct mono){ 0 };
}

/* ---- HTTP ---- */

static size_t
swallow(char *data, size_t size, size_t n, void *of)
{
	(void)data;
	(void)of;
	return size * n;
}

/* Begins a POST of `body`, which is owned from now on. */
static bool
send_begin(struct alerts_door *d, struct sending *s, const char *url, char *body)
{
	CURL *c = body != NULL ? curl_easy_init() : NULL;

	if (c == NULL) {
		free(body);
		return false;
	}
	*s = (struct sending){ .easy = c, .body = body };
	curl_easy_setopt(c, CURLOPT_URL, url);
	curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(c, CURLOPT_POSTFIELDS, body);
	curl_easy_setopt(c, CURLOPT_HTTPHEADER, d->headers);
	curl_easy_setopt(c, CURLOPT_TIMEOUT_MS, TIMEOUT_MS);
	curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, swallow);
	curl_easy_setopt(c, CURLOPT_ERRORBUFFER, s->problem);
	curl_easy_setopt(c, CURLOPT_PRIVATE, s);
	if (curl_multi_add_handle(d->multi, c) == CURLM_OK)
		return true;
	curl_easy_cleanup(c);
	free(body);
	*s = (struct sending){ 0 };
	return false;
}

static void
send_end(struct alerts_door *d, struct sending *s)
{
	if (s->easy == NULL)
		return;
	curl_multi_remove_handle(d->multi, s->easy);
	curl_easy_cleanup(s->easy);
	free(s->body);
	*s = (struct sending){ 0 };
}

/* The webhook has answered, or not: the first message is done, or tried again later. */
static void
webhook_ended(struct alerts_door *d, bool done, bool refused, struct mono now)
{
	struct message_queue *q = &d->hooks;

	if (done) {
		queue_drop_first(q);
		return;
	}
	q->due = (struct mono){ now.ns + (S_NS << ++q->tries) };
	if (!refused && q->tries < TRIES_MAX)
		return;
	limited_log(&d->log, now, LOG_ERROR, "watch.webhook: an alert was not delivered");
	queue_drop_first(q);
}

static void
answered(struct alerts_door *d, struct sending *s, CURLcode code, struct mono now)
{
	const char *key = s == &d->manager ? "watch.alertmanager" : "watch.webhook";
	long status = 0;
	bool done;

	curl_easy_getinfo(s->easy, CURLINFO_RESPONSE_CODE, &status);
	done = code == CURLE_OK && status >= 200 && status < 300;
	if (code != CURLE_OK)
		limited_log(&d->log, now, LOG_WARN, "%s: %s", key,
		    s->problem[0] != '\0' ? s->problem : curl_easy_strerror(code));
	else if (!done)
		limited_log(&d->log, now, LOG_WARN, "%s: the answer was %ld", key, status);
	send_end(d, s);
	if (s == &d->webhook)
		webhook_ended(d, done,
		    code == CURLE_OK && status >= 400 && status < 500 && status != 429, now);
}

static void
step_http(struct alerts_door *d, struct mono now)
{
	int running, left;
	CURLMsg *m;

	if (d->multi == NULL)
		return;
	if (d->webhook.easy == NULL && d->hooks.n > 0 && now.ns >= d->hooks.due.ns) {
		char *body = strdup(d->hooks.items[0]);

		send_begin(d, &d->webhook, d->config->watch_webhook, body);
	}
	curl_multi_perform(d->multi, &running);
	while ((m = curl_multi_info_read(d->multi, &left)) != NULL) {
		struct sending *s = NULL;

		curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, (char **)&s);
		if (m->msg == CURLMSG_DONE && s != NULL)
			answered(d, s, m->data.result, now);
	}
}

/* ---- the command ---- */

/* A descriptor from which `text` can be read; -1: none. */
static int
readable(const char *text)
{
	int fd = memfd_create("hone-alert", MFD_CLOEXEC);
	size_t len = strlen(text);

	if (fd >= 0 && write(fd, text, len) == (ssize_t)len && lseek(fd, 0, SEEK_SET) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

/* A shell starts it, since posix_spawn() sets no limits: with the soft limit of open files that honed itself was started with. */
static void
command_begin(struct alerts_door *d, struct mono now)
{
	char limited[80];
	char *argv[] = { "/bin/sh", "-c", limited, d->config->watch_command, NULL };
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t defaults;
	int in = readable(d->commands.items[0]), rc = in < 0 ? errno : 0;
	rlim_t files = file_limit_of_others();

	if (files == RLIM_INFINITY)
		snprintf(limited, sizeof limited, "exec \"$0\"");
	else
		snprintf(limited, sizeof limited, "ulimit -S -n %llu; exec \"$0\"",
		    (unsigned long long)files);
	if (rc == 0) {
		posix_spawn_file_actions_init(&actions);
		posix_spawnattr_init(&attributes);
		sigemptyset(&defaults); /* honed ignores it */
		sigaddset(&defaults, SIGPIPE);
		posix_spawnattr_setsigdefault(&attributes, &defaults);
		posix_spawnattr_setflags(
		    &attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
		posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
		rc = posix_spawn(&d->command, argv[0], &actions, &attributes, argv, environ);
		posix_spawn_file_actions_destroy(&actions);
		posix_spawnattr_destroy(&attributes);
		close(in);
	}
	if (rc != 0) {
		d->command = 0;
		limited_log(&d->log, now, LOG_ERROR, "watch.command: %s: %s",
		    d->config->watch_command, strerror(rc));
	}
	d->command_began = now;
	queue_drop_first(&d->commands);
}

static void
step_command(struct alerts_door *d, struct mono now)
{
	int status;

	if (d->command != 0 && waitpid(d->command, &status, WNOHANG) == d->command) {
		if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
			limited_log(&d->log, now, LOG_ERROR, "watch.command: %s ended with %s %d",
			    d->config->watch_command, WIFEXITED(status) ? "status" : "signal",
			    WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
		d->command = 0;
	}
	if (d->command != 0 && mono_since_ns(now, d->command_began) > COMMAND_NS)
		kill(-d->command, SIGKILL);
	if (d->command == 0 && d->commands.n > 0)
		command_begin(d, now);
}

/* ---- alerts ---- */

static void
tell(struct alerts_door *d, const struct alert *a, struct mono now)
{
	const struct answer_context c = { .now = now,
		.started = d->questions->started,
		.when = clock_wall(),
		.database = d->config->database,
		.space_path = d->config->space };
	const struct forest *f = d->questions->keeper->forest;

	if (d->config->watch_webhook[0] != '\0')
		queue_put(&d->hooks, alert_message(d->questions->engine, f, a, &c));
	if (d->config->watch_command[0] != '\0')
		queue_put(&d->commands, alert_message(d->questions->engine, f, a, &c));
}

static bool
has_ended(struct alerts_door *d, const struct alert *a)
{
	return d->ended[a->number % ALERTS_MAX] == a->number;
}

/* Tells what has begun, when its diagnosis has ended, and what has ended. */
static void
step_alerts(struct alerts_door *d, struct mono now)
{
	const struct watcher *w = &engine_parts_of(d->questions->engine)->watcher;
	const struct forest *f = d->questions->keeper->forest;
	bool told = false;

	for (uint32_t i = 0; i < w->nalerts; i++) {
		const struct alert *a = &w->alerts[i];

		if (a->number > d->told) {
			if (alert_is_diagnosed_now(f, a) && a->ended.ns == 0)
				break; /* those after it wait, so that numbers ascend */
			tell(d, a, now);
			d->told = a->number;
			told = true;
		}
		if (a->ended.ns != 0 && !has_ended(d, a)) {
			tell(d, a, now);
			d->ended[a->number % ALERTS_MAX] = a->number;
			told = true;
		}
	}
	if (told)
		d->manager_due = now;
}

static void
step_manager(struct alerts_door *d, struct mono now)
{
	const struct engine *g = d->questions->engine;
	const struct watcher *w = &engine_parts_of(g)->watcher;
	struct wall since = { clock_wall().ns - MANAGER_ENDED_NS };
	uint32_t n;
	char *body;

	if (d->manager_url == NULL || d->manager.easy != NULL || now.ns < d->manager_due.ns)
		return;
	d->manager_due = (struct mono){ now.ns + MANAGER_EVERY_NS };
	body = alert_manager_message(
	    g, d->questions->keeper->forest, w->alerts, w->nalerts, since, &n);
	if (body == NULL || n == 0)
		free(body);
	else
		send_begin(d, &d->manager, d->manager_url, body);
}

/* ---- the door ---- */

static void
close_door(void *state)
{
	struct alerts_door *d = state;

	send_end(d, &d->manager);
	send_end(d, &d->webhook);
	curl_multi_cleanup(d->multi);
	curl_slist_free_all(d->headers);
	while (d->hooks.n > 0)
		queue_drop_first(&d->hooks);
	while (d->commands.n > 0)
		queue_drop_first(&d->commands);
	if (d->command != 0) {
		kill(-d->command, SIGKILL);
		waitpid(d->command, NULL, 0);
	}
	free(d->manager_url);
	free(d);
}

static int
check(const struct config *c, struct err *e)
{
	const char *const urls[][2] = { { "watch.alertmanager", c->watch_alertmanager },
		{ "watch.webhook", c->watch_webhook } };

	for (size_t i = 0; i < 2; i++)
		if (urls[i][1][0] != '\0' && strncmp(urls[i][1], "http://", 7) != 0 &&
		    strncmp(urls[i][1], "https://", 8) != 0)
			return err_set(e, ERR_INPUT,
			    "%s: %s begins neither with http:// nor with https://", urls[i][0],
			    urls[i][1]);
	if (c->watch_command[0] != '\0' &&
	    (c->watch_command[0] != '/' || access(c->watch_command, X_OK) < 0))
		return err_set(e, ERR_INPUT,
		    "watch.command: %s is no program that can be started; give its whole path",
		    c->watch_command);
	return 0;
}

static int
open_door(void **state, const struct config *c, struct questions *questions, struct err *e)
{
	size_t len = strlen(c->watch_alertmanager);
	struct alerts_door *d;
	int rc;

	*state = NULL;
	if (c->watch_alertmanager[0] == '\0' && c->watch_webhook[0] == '\0' &&
	    c->watch_command[0] == '\0')
		return 0;
	if ((rc = check(c, e)) < 0)
		return rc;
	if ((d = calloc(1, sizeof *d)) == NULL)
		return err_set(e, ERR_MEMORY, "out of memory");
	d->config = c;
	d->questions = questions;
	limited_log_init(&d->log, clock_mono());
	while (len > 0 && c->watch_alertmanager[len - 1] == '/')
		len--;
	if ((d->multi = curl_multi_init()) == NULL ||
	    (d->headers = curl_slist_append(NULL, "Content-Type: application/json")) == NULL ||
	    (len > 0 && asprintf(&d->manager_url, "%.*s/api/v2/alerts", (int)len,
			    c->watch_alertmanager) < 0)) {
		close_door(d);
		return err_set(e, ERR_MEMORY, "out of memory");
	}
	snprintf(d->url, sizeof d->url, "%s%s%s%s%s", c->watch_alertmanager,
	    c->watch_alertmanager[0] != '\0' && c->watch_webhook[0] != '\0' ? ", " : "",
	    c->watch_webhook,
	    c->watch_command[0] != '\0' && (len > 0 || c->watch_webhook[0] != '\0') ? ", " : "",
	    c->watch_command);
	*state = d;
	return 0;
}

static void
step(void *state, struct mono now)
{
	struct alerts_door *d = state;

	step_alerts(d, now);
	step_manager(d, now);
	step_http(d, now);
	step_command(d, now);
	limited_log_flush(&d->log, now, "alerts: ");
}

static const char *
url(const void *state)
{
	return ((const struct alerts_door *)state)->url;
}

const struct door_ops door_alerts = { "alerts", open_door, step, close_door, url };
