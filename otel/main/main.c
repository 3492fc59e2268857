/* SPDX-License-Identifier: GPL-3.0-or-later */
/* hone-otel(8) */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/daemon_arguments.h"
#include "base/privilege.h"
#include "base/systemd.h"
#include "otel/main/otel_loop.h"

#define USUAL_USER "hone"
#define USUAL_FILE "/etc/hone/hone-otel.conf" /* may be missing */

enum { DONE = 0, FAILED = 1, MISUSED = 2 };

static volatile sig_atomic_t ended;
static struct otel *otel;

static void
on_end(int signal_number)
{
	int error = errno;

	(void)signal_number;
	ended = 1;
	if (otel != NULL)
		otel_wake(otel);
	errno = error;
}

static void
usage(FILE *out)
{
	fprintf(out,
	    "usage: hone-otel [-nv] [-c file] [-o section.key=value]...\n"
	    "\n"
	    "  -c, --config FILE   read this configuration, not " USUAL_FILE "\n"
	    "  -o, --set S.K=VALUE set one key, over the file\n"
	    "  -n, --check         check the configuration and exit\n"
	    "  -v, --print         with -n: print all of it\n"
	    "  -h, --help          print this help\n"
	    "  -V, --version       print the version\n"
	    "\n"
	    "Takes spans of programs with OpenTelemetry or Zipkin, and sends them to honed as requests.\n"
	    "Exit: 0 ended by SIGTERM or SIGINT, or the configuration is valid; 1 failed, or it is not; 2 misused.\n");
}

static void
write_log(enum log_level level, const char *text)
{
	log_line(level, "%s", text);
}

static int
give_up_root(const struct otel_config *c, struct err *e)
{
	struct privilege who;
	int rc;

	if ((rc = privilege_find(&who, c->user, USUAL_USER, NULL, e)) != 0 ||
	    (rc = privilege_drop(&who, e)) != 0)
		return rc;
	if (who.become)
		log_line(LOG_INFO, "runs as user %s", who.user);
	return 0;
}

/* To the most that is allowed: listen.connections is for each of five addresses. */
static void
raise_file_limit(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) != 0)
		return;
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
}

static int
serve(const struct otel_config *c)
{
	struct sigaction end = { .sa_handler = on_end };
	struct err e;

	prctl(PR_SET_NAME, "hone-otel");
	sigaction(SIGTERM, &end, NULL);
	sigaction(SIGINT, &end, NULL);
	signal(SIGPIPE, SIG_IGN);
	raise_file_limit();
	if (give_up_root(c, &e) != 0 || otel_open(&otel, c, HONE_VERSION, write_log, &e) != 0) {
		log_line(LOG_ERROR, "%s", e.text);
		return FAILED;
	}
	log_line(LOG_INFO, "node %s, controller %s", c->node, c->url);
	systemd_notify("READY=1");
	while (!ended) {
		otel_turn(otel);
		systemd_watchdog(clock_mono());
	}
	systemd_notify("STOPPING=1");
	signal(SIGTERM, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	otel_close(otel);
	log_line(LOG_INFO, "ended");
	return DONE;
}

int
main(int argc, char **argv)
{
	struct daemon_arguments a = { 0 };
	struct otel_config c;
	struct err e;
	int rc = DONE;

	if (!daemon_arguments_read(&a, argc, argv, false)) {
		usage(stderr);
		return MISUSED;
	}
	if (a.help || a.version) {
		a.help ? usage(stdout) : (void)printf("hone-otel %s\n", HONE_VERSION);
		return DONE;
	}
	log_open("hone-otel", LOG_INFO);
	if (a.file == NULL && access(USUAL_FILE, F_OK) == 0)
		a.file = USUAL_FILE;
	if (otel_config_load(&c, a.file, a.assignments, a.nassignments, &e) != 0) {
		log_line(LOG_ERROR, "%s", e.text);
		rc = FAILED;
	} else if (a.check) {
		if (a.print)
			otel_config_print(&c, stdout);
	} else {
		log_open("hone-otel", otel_config_log_level(&c));
		rc = serve(&c);
	}
	otel_config_release(&c);
	return rc;
}
