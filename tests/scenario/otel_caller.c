/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Programs with libhone around one with OpenTelemetry, see otel_mixed_test.sh.
 *
 *	otel_caller call REQUESTS COMMAND...	each request of type MIXED hands traceparent and tracestate to COMMAND, a line on its standard input, and
 *						waits for the line that it answers
 *	otel_caller serve			is called so: each line of standard input, "TRACEPARENT TRACESTATE", is a unit of work, or a request if the
 *						sender is not under Hone; the answer is "unit" or "request"
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "instrument/hone.h"

enum { LINE_BYTES = 1024, WORK_US = 4000 };

/* Until a session records, at most 20 s; then the table of rates is found within a second. */
static void
wait_for_tracer(void)
{
	for (int i = 0; i < 400 && !hone_listening(); i++)
		usleep(50000);
	sleep(2);
}

static int
call(FILE *to, FILE *from)
{
	char parent[HONE_TRACEPARENT_SIZE], state[HONE_TRACESTATE_SIZE], answer[LINE_BYTES];
	struct hone_carrier c;
	int rc;

	hone_request_begin("MIXED", NULL);
	hone_fork("node", &c);
	hone_traceparent(&c, parent);
	hone_tracestate(&c, state);
	fprintf(to, "%s %s\n", parent, state);
	rc = fflush(to) != 0 || fgets(answer, sizeof answer, from) == NULL;
	hone_join(&c, "node");
	hone_request_end(rc);
	return rc;
}

/* Starts the command. Its input and output are at *to and *from. */
static pid_t
start(char **command, FILE **to, FILE **from)
{
	int in[2], out[2];
	pid_t pid;

	if (pipe(in) != 0 || pipe(out) != 0 || (pid = fork()) < 0)
		return -1;
	if (pid == 0) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		close(in[1]);
		close(out[0]);
		execvp(command[0], command);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	*to = fdopen(in[1], "w");
	*from = fdopen(out[0], "r");
	return *to != NULL && *from != NULL ? pid : -1;
}

static int
call_all(int n, char **command)
{
	FILE *to, *from;
	pid_t pid = start(command, &to, &from);
	int rc = pid < 0, status = 1;

	signal(SIGPIPE, SIG_IGN);
	wait_for_tracer();
	for (int i = 0; i < n && rc == 0; i++)
		rc = call(to, from);
	if (pid < 0)
		return 1;
	fclose(to);
	waitpid(pid, &status, 0);
	sleep(1);
	return rc != 0 || status != 0;
}

static void
serve_line(char *line)
{
	char *state = strchr(line, ' ');
	struct hone_carrier c;
	int known;

	line[strcspn(line, "\n")] = '\0';
	if (state != NULL)
		*state++ = '\0';
	hone_carrier_read(&c, line, state);
	known = hone_from_known(&c);
	if (known)
		hone_unit_begin(&c, "stock");
	else
		hone_request_begin("STOCK", &c);
	usleep(WORK_US);
	if (known)
		hone_unit_end();
	else
		hone_request_end(0);
	puts(known ? "unit" : "request");
	fflush(stdout);
}

int
main(int argc, char **argv)
{
	char line[LINE_BYTES];

	if (argc > 3 && strcmp(argv[1], "call") == 0)
		return call_all(atoi(argv[2]), &argv[3]);
	if (argc != 2 || strcmp(argv[1], "serve") != 0)
		return 2;
	wait_for_tracer();
	while (fgets(line, sizeof line, stdin) != NULL)
		serve_line(line);
	return 0;
}
