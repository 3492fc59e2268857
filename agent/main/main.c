/* SPDX-License-Identifier: GPL-3.0-or-later */
/* hone-agent(8) */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/main/agent_loop.h"
#include "agent/guard/below_start.h"
#include "agent/guard/guard.h"
#include "agent/tracer/session_lttng.h"
#include "agent/guard/sweep.h"
#include "agent/tracer/tracer.h"
#include "base/daemon_arguments.h"
#include "base/systemd.h"
#include "base/privilege.h"

#define USUAL_USER "hone"
#define USUAL_BELOW_USER "hone-below"
#define USUAL_FILE "/etc/hone/hone-agent.conf" /* may be missing */

enum { DONE = 0, FAILED = 1, MISUSED = 2 };

static volatile sig_atomic_t ended, remap;
static struct agent *agent;

static void
on_end(int signal_number)
{
	int error = errno;

	(void)signal_number;
	ended = 1;
	if (agent != NULL)
		agent_wake(agent);
	errno = error;
}

/* The main loop reads the mappings again. */
static void
on_hup(int signal_number)
{
	int error = errno;

	(void)signal_number;
	remap = 1;
	if (agent != NULL)
		agent_wake(agent);
	errno = error;
}

/* The guardian may have died: the main loop checks it at once. */
static void
on_child(int signal_number)
{
	int error = errno;

	(void)signal_number;
	if (agent != NULL)
		agent_wake(agent);
	errno = error;
}

static void
usage(FILE *out)
{
	fprintf(out,
	    "usage: hone-agent [-nv] [--sweep] [-c file] [-o section.key=value]...\n"
	    "\n"
	    "  -c, --config FILE   read this configuration, not " USUAL_FILE "\n"
	    "  -o, --set S.K=VALUE set one key, over the file\n"
	    "  -n, --check         check the configuration and exit\n"
	    "  -v, --print         with -n: print all of it\n"
	    "      --sweep         remove what dead agents of this node left, and exit\n"
	    "  -h, --help          print this help\n"
	    "  -V, --version       print the version\n"
	    "\n"
	    "Sends the records of this node's tracepoints to honed, and enables and disables tracepoints for it.\n"
	    "Exit: 0 ended by SIGTERM or SIGINT, or the configuration is valid; 1 failed, or it is not; 2 misused.\n");
}

static void
signals_catch(void (*handler)(int))
{
	struct sigaction end = { .sa_handler = handler };
	struct sigaction child = { .sa_handler = on_child, .sa_flags = SA_RESTART | SA_NOCLDSTOP };

	struct sigaction hup = { .sa_handler = handler == on_end ? on_hup : SIG_IGN,
		.sa_flags = SA_RESTART };

	sigaction(SIGHUP, &hup, NULL);
	sigaction(SIGCHLD, &child, NULL);
	sigaction(SIGTERM, &end, NULL);
	sigaction(SIGINT, &end, NULL);
	signal(SIGPIPE, SIG_IGN);
}

static void
write_log(enum log_level level, const char *text)
{
	log_line(level, "%s", text);
}

/* Removes what an agent that ran as another user left, before this one loses the right to. */
static void
sweep_foreign(const struct agent_config *c, const struct privilege *who)
{
	uid_t own = who->become ? who->uid : 0;
	struct stat st;
	struct err e;

	if (geteuid() != 0 || lstat(c->run_dir, &st) != 0 || st.st_uid == own)
		return;
	if (sweep_left(c->node, c->run_dir, &e) != 0)
		log_line(LOG_WARN, "%s", e.text);
	if (rmdir(c->run_dir) != 0)
		log_line(LOG_WARN,
		    "%s belongs to user %ld: remove it, or give it to user %ld (chown)", c->run_dir,
		    (long)st.st_uid, (long)own);
}

/* Makes what starts hone-below, while this process has the capabilities. That there is none is no error: *why says it. */
static int
prepare_below(const struct agent_config *c, const struct privilege *agent_user,
    struct below_start *start, struct err *why, struct err *e)
{
	struct privilege who;
	char path[PATH_MAX];
	int rc;

	if (!c->below) {
		err_set(why, ERR_MISSING, "below.enabled in hone-agent.conf is no");
		return 0;
	}
	if (!below_start_path(path, sizeof path)) {
		err_set(why, ERR_MISSING,
		    "hone-below is not installed: it is built where clang, bpftool and libbpf are");
		return 0;
	}
	if ((rc = privilege_find(&who, c->below_user, USUAL_BELOW_USER, NULL, e)) != 0)
		return err_prefix(e, "below.user in hone-agent.conf");
	return below_start_make(start, path, who.become ? &who : agent_user, why) == 0
	           ? 0
	           : (log_line(LOG_WARN, "%s", why->text), 0);
}

/* Does all that requires root, gives root up, and starts the guardian. */
static int
prepare(const struct agent_config *c, struct rates **rates, struct guard *guard,
    struct below_start *start, struct err *why_not, struct err *e)
{
	struct guard_options o = { c->node, c->run_dir, -1, c->hang_ns };
	struct privilege who;
	int rc;

	if ((rc = privilege_find(&who, c->user, USUAL_USER, TRACING_GROUP, e)) != 0)
		return rc;
	if ((rc = prepare_below(c, &who, start, why_not, e)) != 0)
		return rc;
	if ((rc = rates_open(rates, c->policy, e)) != 0)
		return err_prefix(e, "agent.policy in hone-agent.conf");
	rates_callers(*rates, c->callers_known != 0);
	o.table = rates_spare(*rates);
	if (who.become)
		knocks_give(rates_knocks(*rates), who.uid);
	sweep_foreign(c, &who);
	if ((rc = privilege_folder(&who, c->run_dir, 0700, e)) != 0)
		return err_prefix(e, "agent.run_dir in hone-agent.conf");
	if ((rc = privilege_drop(&who, e)) != 0)
		return rc;
	/* what is missing is made by the user that it became */
	if (access(c->run_dir, W_OK | X_OK) != 0 && errno != ENOENT)
		return err_errno(e, "agent.run_dir in hone-agent.conf: %s", c->run_dir);
	if (who.become)
		log_line(LOG_INFO, "runs as user %s", who.user);
	else if (geteuid() == 0)
		log_line(LOG_INFO,
		    "stays root, without capabilities: see agent.user in hone-agent.conf(5)");
	return guard_start(guard, &o, e);
}

/* Reads the mappings again. After an error in one of them all stays as it was. */
static void
read_again(struct agent *a, const struct agent_config *c)
{
	struct maps maps;
	struct err e;

	remap = 0;
	if (maps_load(&maps, c->maps, &e) != 0) {
		log_line(LOG_ERROR, "%s; the mappings stay as they were", e.text);
		return;
	}
	log_line(LOG_INFO, "%s: %u mappings", c->maps, maps.count);
	agent_remap(a, &maps);
}

static int
serve(const struct agent_config *c, struct maps *maps)
{
	struct guard guard = { 0 };
	struct below_start start = { 0 };
	struct agent_below_given below = { NULL, "" };
	struct err why_not = { 0 };
	struct rates *rates = NULL;
	struct agent *a;
	struct err e;

	/* By this name other agents know that the session of this process is in use. */
	prctl(PR_SET_NAME, "hone-agent");
	if (prepare(c, &rates, &guard, &start, &why_not, &e) != 0) {
		rates_close(rates, true);
		below_start_end(&start);
		maps_release(maps);
		log_line(LOG_ERROR, "%s", e.text);
		return FAILED;
	}
	for (uint32_t i = 0; i < maps->count; i++)
		log_line(LOG_INFO, "mapping %s: requests of %s", maps->list[i]->path,
		    maps->list[i]->service);
	signals_catch(on_end);
	if (start.pid != 0)
		below.start = &start;
	else
		below.why_not = why_not.text;
	if (agent_open(&a, c, HONE_VERSION, &guard, &below, rates, maps, write_log, &e) != 0) {
		log_line(LOG_ERROR, "%s", e.text);
		return FAILED;
	}
	agent = a;
	log_line(LOG_INFO, "node %s, controller %s", c->node, c->url);
	systemd_notify("READY=1");
	while (!ended) {
		if (remap)
			read_again(a, c);
		agent_turn(a);
		systemd_watchdog(clock_mono());
	}
	systemd_notify("STOPPING=1");
	signals_catch(SIG_IGN);
	agent = NULL;
	agent_close(a);
	log_line(LOG_INFO, "ended");
	return DONE;
}

static int
sweep(const struct agent_config *c)
{
	struct err e;

	if (sweep_all(c->node, c->run_dir, c->policy, &e) == 0)
		return DONE;
	log_line(LOG_ERROR, "%s", e.text);
	return FAILED;
}

int
main(int argc, char **argv)
{
	struct daemon_arguments a = { 0 };
	struct maps maps = { 0 };
	struct agent_config c;
	struct err e;
	int rc = DONE;

	if (argc > 1 && strcmp(argv[1], GUARD_OPTION) == 0)
		return guard_main(argc, argv);
	if (argc == 3 && strcmp(argv[1], LIST_OPTION) == 0)
		return tracepoints_send(argv[2]);
	if (!daemon_arguments_read(&a, argc, argv, true)) {
		usage(stderr);
		return MISUSED;
	}
	if (a.help || a.version) {
		a.help ? usage(stdout) : (void)printf("hone-agent %s\n", HONE_VERSION);
		return DONE;
	}
	log_open("hone-agent", LOG_INFO);
	if (a.file == NULL && access(USUAL_FILE, F_OK) == 0)
		a.file = USUAL_FILE;
	if (agent_config_load(&c, a.file, a.assignments, a.nassignments, &e) != 0) {
		log_line(LOG_ERROR, "%s", e.text);
		rc = FAILED;
	} else if (!a.sweep && maps_load(&maps, c.maps, &e) != 0) {
		log_line(LOG_ERROR, "%s", e.text);
		rc = FAILED;
	} else if (a.check) {
		if (a.print)
			agent_config_print(&c, stdout);
		maps_release(&maps);
	} else {
		log_open("hone-agent", agent_config_log_level(&c));
		rc = a.sweep ? sweep(&c) : serve(&c, &maps);
	}
	agent_config_release(&c);
	return rc;
}
