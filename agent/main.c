/* SPDX-License-Identifier: GPL-3.0-or-later */
/* hone-agent(8) */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/guard.h"

#define USUAL_FILE "/etc/hone/hone-agent.conf"	/* may be missing */

enum { DONE = 0, FAILED = 1, MISUSED = 2, ASSIGNMENTS_MAX = 64 };

struct arguments {
	const char *file;
	char *assignments[ASSIGNMENTS_MAX];
	int nassignments;
	bool check, print, help, version;
};

static volatile sig_atomic_t ended;
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

static void
usage(FILE *out)
{
	fprintf(out,
	    "usage: hone-agent [-nv] [-c file] [-o section.key=value]...\n"
	    "\n"
	    "  -c, --config FILE   read this configuration, not " USUAL_FILE "\n"
	    "  -o, --set S.K=VALUE set one key, over the file\n"
	    "  -n, --check         check the configuration and exit\n"
	    "  -v, --print         with -n: print it back, whole\n"
	    "  -h, --help          this\n"
	    "  -V, --version       the version\n"
	    "\n"
	    "Reads what the node's tracepoints write, for honed, and switches them on and off for it.\n"
	    "Exit: 0 ended by SIGTERM or SIGINT, everything off; 1 failed; 2 misused.\n");
}

static bool
arguments_read(struct arguments *a, int argc, char **argv)
{
	static const struct option OPTIONS[] = {
		{ "config", required_argument, NULL, 'c' }, { "set", required_argument, NULL, 'o' },
		{ "check", no_argument, NULL, 'n' }, { "print", no_argument, NULL, 'v' },
		{ "help", no_argument, NULL, 'h' }, { "version", no_argument, NULL, 'V' }, { 0 } };
	int c;

	while ((c = getopt_long(argc, argv, "c:o:nvhV", OPTIONS, NULL)) != -1) {
		switch (c) {
		case 'c': a->file = optarg; break;
		case 'n': a->check = true; break;
		case 'v': a->print = true; break;
		case 'h': a->help = true; break;
		case 'V': a->version = true; break;
		case 'o':
			if (a->nassignments == ASSIGNMENTS_MAX)
				return false;
			a->assignments[a->nassignments++] = optarg;
			break;
		default:
			return false;
		}
	}
	return optind == argc && (!a->print || a->check);
}

static void
signals_catch(void (*handler)(int))
{
	struct sigaction end = { .sa_handler = handler };

	sigaction(SIGTERM, &end, NULL);
	sigaction(SIGINT, &end, NULL);
	signal(SIGPIPE, SIG_IGN);
}

static void
say(enum log_level level, const char *words)
{
	log_line(level, "%s", words);
}

static int
serve(const struct config *c)
{
	struct guard guard = { 0 };
	struct agent *a;
	struct err e;

	prctl(PR_SET_NAME, "hone-agent");	/* by this others know that our session is alive */
	if (guard_start(&guard, c->node, c->run_dir, c->policy, &e) != 0) {
		log_line(LOG_ERROR, "%s", e.text);
		return FAILED;
	}
	signals_catch(on_end);
	if (agent_open(&a, c, HONE_VERSION, &guard, say, &e) != 0) {
		log_line(LOG_ERROR, "%s", e.text);
		return FAILED;
	}
	agent = a;
	log_line(LOG_INFO, "node %s, controller %s", c->node, c->url);
	while (!ended)
		agent_turn(a);
	signals_catch(SIG_IGN);
	agent_close(a);
	log_line(LOG_INFO, "ended");
	return DONE;
}

int
main(int argc, char **argv)
{
	struct arguments a = { 0 };
	struct config c;
	struct err e;
	int rc = DONE;

	if (!arguments_read(&a, argc, argv)) {
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
	if (config_load(&c, a.file, a.assignments, a.nassignments, &e) != 0) {
		log_line(LOG_ERROR, "%s", e.text);
		rc = MISUSED;
	} else if (a.check) {
		if (a.print)
			config_print(&c, stdout);
	} else {
		log_open("hone-agent", config_log_level(&c));
		rc = serve(&c);
	}
	config_release(&c);
	return rc;
}
