/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "service.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "instrument/hone.h"

static const struct service *self;
static const char *port_arg = "0", *ready_arg = "", *seed_arg = "1";
static atomic_uint_fast64_t threads_seeded;

static const struct flag common_flags[] = {
	{ "port", &port_arg, "TCP port on 127.0.0.1; 0: any free one" },
	{ "ready", &ready_arg, "file to write the port to when the service is ready" },
	{ "seed", &seed_arg, "random seed" },
	{ 0 },
};

/* ---- requests ------------------------------------------------------------- */

const char *
exchange_arg(const struct exchange *x, const char *name, const char *otherwise)
{
	const char *value = MHD_lookup_connection_value(x->connection, MHD_GET_ARGUMENT_KIND, name);

	return value ? value : otherwise;
}

int64_t
exchange_number(const struct exchange *x, const char *name, int64_t otherwise)
{
	const char *value = exchange_arg(x, name, NULL);
	char *end;
	int64_t n;

	if (!value || !*value)
		return otherwise;
	n = strtoll(value, &end, 10);
	return *end ? otherwise : n;
}

static int
switch_fault(struct exchange *x)
{
	const char *name = exchange_arg(x, "name", "");
	int64_t on = exchange_number(x, "on", -1);

	for (struct fault *f = self->faults; f && f->name; f++) {
		if (strcmp(f->name, name) != 0 || on < 0 || on > FAULT_MAX)
			continue;
		atomic_store(&f->on, (int)on);
		if (f->changed)
			f->changed((int)on);
		text_addf(&x->reply, "%s %s\n", name, on ? "on" : "off");
		return 200;
	}
	text_addf(
	    &x->reply, "%s has no fault %s, or on is not 0 to %d\n", self->name, name, FAULT_MAX);
	return 404;
}

static int
say_health(struct exchange *x)
{
	text_addf(&x->reply, "%s\n", self->name);
	return 200;
}

static const struct route common_routes[] = {
	{ "GET", "/health", NULL, 0, say_health },
	{ "POST", "/fault", NULL, 0, switch_fault },
	{ 0 },
};

static const struct route *
find_route(const struct route *routes, const char *method, const char *path)
{
	for (; routes->path; routes++)
		if (strcmp(routes->path, path) == 0 && strcmp(routes->method, method) == 0)
			return routes;
	return NULL;
}

static int
serve_traced(struct exchange *x, const struct route *r)
{
	struct hone_carrier from;
	int known, status;

	hone_carrier_read(&from,
	    MHD_lookup_connection_value(x->connection, MHD_HEADER_KIND, "traceparent"),
	    MHD_lookup_connection_value(x->connection, MHD_HEADER_KIND, "tracestate"));
	known = hone_from_known(&from);
	if (known)
		hone_unit_begin(&from, r->name);
	else if (r->entry)
		hone_request_begin(r->name, from.trace_id ? &from : NULL);
	status = r->handle(x);
	if (known)
		hone_unit_end();
	else if (r->entry)
		hone_request_end(status);
	return status;
}

static int
serve(struct exchange *x, const char *method, const char *path)
{
	const struct route *r = find_route(self->routes, method, path);

	if (r)
		return serve_traced(x, r);
	r = find_route(common_routes, method, path);
	if (r)
		return r->handle(x);
	text_addf(&x->reply, "%s: no %s %s\n", self->name, method, path);
	return 404;
}

static enum MHD_Result
answer(void *unused, struct MHD_Connection *connection, const char *path, const char *method,
    const char *version, const char *data, size_t *length, void **state)
{
	struct exchange *x = *state;
	struct MHD_Response *response;
	enum MHD_Result result;
	int status;
	(void)unused, (void)version;

	if (!x) { /* the first call, when only the header was received */
		*state = x = calloc(1, sizeof *x);
		return x ? MHD_YES : MHD_NO;
	}
	if (*length) {
		text_add(&x->body, data, *length);
		*length = 0;
		return MHD_YES;
	}
	x->connection = connection;
	status = serve(x, method, path);
	response = MHD_create_response_from_buffer(
	    x->reply.length, (void *)text_string(&x->reply), MHD_RESPMEM_MUST_COPY);
	result = MHD_queue_response(connection, (unsigned)status, response);
	MHD_destroy_response(response);
	return result;
}

static void
forget(void *unused, struct MHD_Connection *connection, void **state,
    enum MHD_RequestTerminationCode why)
{
	struct exchange *x = *state;
	(void)unused, (void)connection, (void)why;

	if (!x)
		return;
	text_release(&x->body);
	text_release(&x->reply);
	free(x);
	*state = NULL;
}

/* ---- random numbers and time ------------------------------------------------------- */

uint64_t
service_seed(void)
{
	return strtoull(seed_arg, NULL, 10);
}

double
service_random(void)
{
	static __thread uint64_t state;
	uint64_t x;

	if (!state)
		state = service_seed() * UINT64_C(0x9e3779b97f4a7c15) +
		        atomic_fetch_add(&threads_seeded, 1) + 1;
	x = state += UINT64_C(0x9e3779b97f4a7c15); /* splitmix64 */
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return (double)((x ^ x >> 31) >> 11) * 0x1p-53;
}

void
service_pause(double ms)
{
	struct timespec left = { (time_t)(ms / 1e3),
		(long)((ms - 1e3 * (double)(time_t)(ms / 1e3)) * 1e6) };

	while (nanosleep(&left, &left) != 0 && errno == EINTR)
		;
}

/* ---- the program ----------------------------------------------------------- */

static void
print_flags(FILE *to, const struct flag *flags)
{
	for (; flags && flags->name; flags++)
		fprintf(to, "  --%-10s %s%s%s\n", flags->name, flags->help,
		    *flags->value ? ", default " : "", *flags->value ? *flags->value : "");
}

static int
usage(FILE *to, int status)
{
	fprintf(to, "%s: %s\n", self->name, self->what);
	print_flags(to, common_flags);
	print_flags(to, self->flags);
	return status;
}

static int
take_flag(const struct flag *flags, const char *name, const char *value)
{
	for (; flags && flags->name; flags++) {
		if (strncmp(name, "--", 2) != 0 || strcmp(name + 2, flags->name) != 0)
			continue;
		*flags->value = value;
		return 1;
	}
	return 0;
}

/* Returns -1 to continue, otherwise the exit status. */
static int
take_flags(int argc, char **argv)
{
	for (int i = 1; i < argc; i += 2) {
		if (strcmp(argv[i], "--help") == 0)
			return usage(stdout, 0);
		if (i + 1 == argc || !(take_flag(common_flags, argv[i], argv[i + 1]) ||
					 take_flag(self->flags, argv[i], argv[i + 1])))
			return usage(stderr, 2);
	}
	for (const struct flag *f = self->flags; f && f->name; f++)
		if (!*f->value)
			return usage(stderr, 2);
	return -1;
}

/* Writes the file under another name and renames it, so that its readers never see a part of it. */
static int
say_ready(struct MHD_Daemon *server)
{
	const union MHD_DaemonInfo *info = MHD_get_daemon_info(server, MHD_DAEMON_INFO_BIND_PORT);
	char beside[4096];
	FILE *f;

	if (!*ready_arg)
		return 0;
	snprintf(beside, sizeof beside, "%s.new", ready_arg);
	f = fopen(beside, "w");
	if (!f || fprintf(f, "%u\n", (unsigned)info->port) < 0 || fclose(f) != 0 ||
	    rename(beside, ready_arg) != 0) {
		fprintf(stderr, "%s: %s: %s\n", self->name, ready_arg, strerror(errno));
		return -1;
	}
	return 0;
}

static struct MHD_Daemon *
listen_on(int port)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
		.sin_port = htons((uint16_t)port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	return MHD_start_daemon(MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD |
				    MHD_USE_POLL | MHD_USE_ERROR_LOG,
	    (uint16_t)port, NULL, NULL, answer, NULL, MHD_OPTION_SOCK_ADDR, &address,
	    MHD_OPTION_NOTIFY_COMPLETED, forget, NULL, MHD_OPTION_LISTENING_ADDRESS_REUSE, 1u,
	    MHD_OPTION_CONNECTION_LIMIT, 512u, MHD_OPTION_END);
}

int
service_main(int argc, char **argv, const struct service *s)
{
	struct MHD_Daemon *server;
	sigset_t ending;
	int sig, status;

	self = s;
	status = take_flags(argc, argv);
	if (status >= 0)
		return status;
	sigemptyset(&ending);
	sigaddset(&ending, SIGTERM);
	sigaddset(&ending, SIGINT);
	pthread_sigmask(SIG_BLOCK, &ending, NULL); /* inherited by all threads */
	signal(SIGPIPE, SIG_IGN);
	if (s->start && s->start() != 0)
		return 1;
	server = listen_on(atoi(port_arg));
	if (!server) {
		fprintf(stderr, "%s: cannot listen on 127.0.0.1:%s: %s\n", s->name, port_arg,
		    strerror(errno));
		return 1;
	}
	status = say_ready(server) == 0 ? 0 : 1;
	if (status == 0)
		sigwait(&ending, &sig);
	/* Without a clean-up: threads may still serve requests, whose peers may have ended already. */
	_Exit(status);
}
