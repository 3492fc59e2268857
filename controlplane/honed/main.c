/* SPDX-License-Identifier: GPL-3.0-or-later */
/* honed: the controller. Command line, signals, and the start in the background; the rest is in
 * honed.c. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <malloc.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/systemd.h"
#include "base/privilege.h"
#include "controlplane/honed/folders.h"
#include "controlplane/honed/gate_role.h"
#include "controlplane/honed/honed_config.h"
#include "controlplane/honed/honed.h"
#include "controlplane/honed/remote_agents.h"
#include "controlplane/honed/shard_role.h"

#define USUAL_USER "honed"
#define CONFIG_FILE "/etc/hone/honed.conf"

enum { DONE = 0, FAILED = 1, MISUSED = 2, LARGE_BYTES = 256 << 10, ARENAS = 2 };

struct honed_arguments {
	const char *file;
	int check, verbose, detach, nset;
	char **set; /* "section.key=value" */
};

static atomic_bool stop; /* lock-free, so a signal handler may set it */

static void
on_signal(int number)
{
	(void)number;
	atomic_store(&stop, true);
}

static void
usage(FILE *out)
{
	fputs(
	    "usage: honed [-dnv] [-c FILE] [-o SECTION.KEY=VALUE]\n"
	    "\n"
	    "The controller of Hone: takes records from agents, searches for the cause of slow\n"
	    "or unpredictable requests, and enables and disables tracepoints for that. Stays in\n"
	    "the foreground and logs to standard error.\n"
	    "\n"
	    "  -c FILE       read this configuration (" CONFIG_FILE " if it is there)\n"
	    "  -o S.K=VALUE  set one key; may be repeated; see honed.conf(5)\n"
	    "  -n            check the configuration and exit; -nv also prints it\n"
	    "  -v            log more\n"
	    "  -d            go to the background once agents and operators can connect\n"
	    "  --config, --set, --check, --print: the same as -c, -o, -n, -v; --help, --version\n",
	    out);
}

static int
misused(const char *text)
{
	fprintf(stderr, "honed: %s; see honed --help\n", text);
	return MISUSED;
}

/* 0 to continue; else the exit code plus one. */
static int
parse(struct honed_arguments *a, int argc, char **argv)
{
	static const struct option options[] = { { "config", required_argument, NULL, 'c' },
		{ "set", required_argument, NULL, 'o' }, { "check", no_argument, NULL, 'n' },
		{ "print", no_argument, NULL, 'v' }, { "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' }, { NULL, 0, NULL, 0 } };
	char text[200];
	int ch;

	opterr = 0;
	while ((ch = getopt_long(argc, argv, ":c:dnvo:", options, NULL)) != -1) {
		switch (ch) {
		case 'c':
			a->file = optarg;
			break;
		case 'd':
			a->detach = 1;
			break;
		case 'n':
			a->check = 1;
			break;
		case 'v':
			a->verbose++;
			break;
		case 'o':
			a->set[a->nset++] = optarg;
			break;
		case 'h':
			usage(stdout);
			return DONE + 1;
		case 'V':
			printf("honed %s\n", HONE_VERSION);
			return DONE + 1;
		default:
			snprintf(text, sizeof text, "%.80s: %s", argv[optind - 1],
			    ch == ':' ? "needs a value" : "no such option");
			return misused(text) + 1;
		}
	}
	if (optind < argc) {
		snprintf(text, sizeof text, "%.80s: takes no arguments", argv[optind]);
		return misused(text) + 1;
	}
	return 0;
}

static int
configure(struct config *c, const struct honed_arguments *a, struct err *e)
{
	int rc;

	if ((rc = config_init(c, e)) < 0)
		return rc;
	if ((a->file != NULL || access(CONFIG_FILE, F_OK) == 0) &&
	    (rc = config_read(c, a->file != NULL ? a->file : CONFIG_FILE, e)) < 0)
		return rc;
	for (int i = 0; i < a->nset; i++)
		if ((rc = config_set(c, a->set[i], e)) < 0)
			return rc;
	return config_check(c, e);
}

static void
catch_signals(void)
{
	struct sigaction stopper = { .sa_handler = on_signal }, ignore = { .sa_handler = SIG_IGN },
			 usual = { .sa_handler = SIG_DFL };

	sigaction(SIGTERM, &stopper, NULL);
	sigaction(SIGINT, &stopper, NULL);
	sigaction(SIGPIPE, &ignore, NULL);
	sigaction(SIGCHLD, &usual,
	    NULL); /* children are waited for, also if the parent ignored its own */
}

/*
 * Forks; the child continues. The parent exits when the child accepts connections, or with FAILED if
 * the child fails, so that a script can run hone right after honed -d. nng does not survive a fork,
 * so this comes before anything is opened. *ready: a pipe to the parent.
 */
static int
detach(int *ready)
{
	int ends[2];
	char byte;
	pid_t pid;

	if (pipe(ends) < 0 || (pid = fork()) < 0) {
		fprintf(stderr, "honed: going to the background: %s\n", strerror(errno));
		return FAILED;
	}
	if (pid > 0) {
		close(ends[1]);
		_exit(read(ends[0], &byte, 1) == 1 ? DONE : FAILED);
	}
	close(ends[0]);
	setsid();
	*ready = ends[1];
	return DONE;
}

static void
notify_parent(int ready)
{
	int null = open("/dev/null", O_RDWR);

	if (null >= 0) {
		dup2(null, STDIN_FILENO);
		dup2(null, STDOUT_FILENO);
		if (null > STDERR_FILENO)
			close(null);
	}
	if (write(ready, "", 1) < 0)
		log_line(LOG_WARN, "the process that started honed has ended");
	close(ready);
}

/* Makes the folders, for which alone privileges may be needed, and drops privileges. */
static int
prepare(const struct config *c, struct err *e)
{
	struct privilege who;
	int rc;

	if ((rc = privilege_find(&who, c->user, USUAL_USER, NULL, e)) < 0 ||
	    (rc = folders_make(c, &who, e)) < 0 || (rc = privilege_drop(&who, e)) < 0)
		return rc;
	if (who.become)
		log_line(LOG_INFO, "runs as user %s", who.user);
	else if (geteuid() == 0)
		log_line(LOG_INFO,
		    "stays root, without capabilities: see controller.user in honed.conf(5)");
	folders_private(c);
	return 0;
}

static void
notify_ready(int ready)
{
	if (ready >= 0)
		notify_parent(ready);
	systemd_notify("READY=1");
}

static int
failed(const struct err *e)
{
	log_line(LOG_ERROR, "%s", e->text);
	return FAILED;
}

static int
serve_gate(const struct config *c, int ready)
{
	struct gate_role *g;
	struct err e;

	if (gate_role_open(&g, c, &e) < 0)
		return failed(&e);
	notify_ready(ready);
	gate_role_run(g, &stop);
	gate_role_close(g);
	return DONE;
}

static int
serve_shard(const struct config *c, int ready)
{
	struct shard_role *s;
	struct err e;
	bool ok;

	if (shard_role_open(&s, c, &e) < 0)
		return failed(&e);
	notify_ready(ready);
	ok = shard_role_run(s, &stop);
	shard_role_close(s);
	return ok ? DONE : FAILED;
}

/* One that stands by is ready, too: it opens its sockets and its database when it leads. */
static int
serve_decider(const struct config *c, int ready)
{
	struct remote_agents *r;
	struct honed *h = NULL;
	struct err e;
	bool disabled = false;

	notify_ready(ready);
	if (remote_agents_open(&r, c, &stop, &e) < 0)
		return failed(&e);
	if (r == NULL) /* it was told to end while it stood by */
		return DONE;
	if (honed_open(&h, c, &e) < 0 || honed_decide(h, r, &e) < 0)
		failed(&e);
	else
		disabled = honed_run(h, &stop);
	honed_close(h);
	remote_agents_close(r);
	return disabled ? DONE : FAILED;
}

static int
serve_alone(const struct config *c, int ready)
{
	struct honed *h;
	struct err e;
	bool disabled; /* all added tracepoints, confirmed by all agents */

	if (honed_open(&h, c, &e) < 0)
		return failed(&e);
	notify_ready(ready);
	disabled = honed_run(h, &stop);
	honed_close(h);
	return disabled ? DONE : FAILED;
}

static int
serve(const struct config *c, const struct honed_arguments *a)
{
	static int (*const roles[])(const struct config *, int) = { [ROLE_ALONE] = serve_alone,
		[ROLE_GATE] = serve_gate,
		[ROLE_SHARD] = serve_shard,
		[ROLE_DECIDER] = serve_decider };
	struct err e;
	int ready = -1;

	if (a->detach && detach(&ready) != DONE)
		return FAILED;
	log_open("honed", a->verbose ? LOG_DEBUG : config_log_level(c));
	catch_signals();
	if (prepare(c, &e) < 0)
		return failed(&e);
	return roles[config_role(c)](c, ready);
}

/* Freed blocks over LARGE_BYTES always go back to the system, and many short threads leave at most
 * ARENAS arenas. */
static void
limit_heap(void)
{
	mallopt(M_MMAP_THRESHOLD, LARGE_BYTES);
	mallopt(M_TRIM_THRESHOLD, LARGE_BYTES);
	mallopt(M_ARENA_MAX, ARENAS);
}

int
main(int argc, char **argv)
{
	struct honed_arguments a = { .set = calloc((size_t)argc, sizeof *a.set) };
	struct config c = { 0 };
	struct err e;
	int code;

	if (a.set == NULL)
		return FAILED;
	if ((code = parse(&a, argc, argv)) != 0) {
		free(a.set);
		return code - 1;
	}
	if (configure(&c, &a, &e) < 0) {
		fprintf(stderr, "honed: %s\n", e.text);
		code = FAILED;
	} else if (a.check) {
		if (a.verbose)
			ini_print(config_keys, config_nkeys, &c, 1, stdout);
		code = DONE;
	} else {
		limit_heap();
		code = serve(&c, &a);
	}
	config_release(&c);
	free(a.set);
	return code;
}
