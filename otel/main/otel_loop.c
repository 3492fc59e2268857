/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE
#include "otel/main/otel_loop.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <unistd.h>

#include "agent/link/link_settings.h"
#include "base/tls.h"
#include "otel/main/otel_control.h"
#include "otel/main/otel_report.h"
#include "otel/main/otel_services.h"
#include "otel/main/otel_state.h"

enum { IDLE_WAIT_MS = 50, GOODBYE_MS = 1000, GOODBYE_STEP_MS = 5 };
#define FUTURE_NS SECOND /* more than clocks of a well-kept network differ by */
#define NAMES_BYTES (2 << 20)
#define GATE_LEASE_NS (5 * SECOND)
#define GATE_BUSY_NS (SECOND / 4)
#define LEVER_QUIET_NS \
	(150 * SECOND) /* more than twice the longest usual time between two questions, 60 s */
/* Before the end: what has no lease is set back by those that ask within this time. */
#define SET_BACK_NS (3 * SECOND)
#define MICROSECOND 1000

void
otel_wake(struct otel *o)
{
	eventfd_write(o->wake, 1);
}

/* ---- a turn ---- */

static void
look_at_clocks(struct otel *o, struct mono now, bool first)
{
	struct mono before;
	struct wall wall;

	if (!first && mono_since_ns(now, o->clocks_at) < SECOND)
		return;
	o->clocks_at = now;
	before = clock_mono();
	wall = clock_wall();
	if (otel_source_clocks(o->source, before, wall, clock_mono()))
		otel_log(o, LOG_WARN,
		    "the wall clock was set: traces of the last seconds decide nothing");
}

static void
read_spans(struct otel *o, struct mono now, bool all)
{
	struct source_output out;
	const struct batch_label *labels;
	uint32_t nlabels;
	struct err e;

	do {
		if (otel_source_poll(o->source, now, all, &out, &e) != 0)
			otel_log(o, LOG_ERROR, "%s", e.text);
		for (uint32_t i = 0; i < out.nlosses; i++)
			o->lost[out.losses[i].reason] += out.losses[i].count;
		labels = otel_source_labels(o->source, &nlabels);
		pack_take(o->pack, &out, labels, nlabels, now);
	} while (all && out.more);
	o->more = out.more;
}

static int
wait_ms(const struct otel *o, struct mono now)
{
	int ms = IDLE_WAIT_MS, due_ms = pack_due_ms(o->pack, now);

	if (o->more)
		return 0;
	ms = otel_source_due_ms(o->source, now, due_ms < ms ? due_ms : ms);
	for (int i = 0; i < DOORS + LEVER_DOORS; i++)
		if (o->http[i] != NULL)
			ms = http_daemon_wait_ms(o->http[i], ms);
	return ms;
}

static void
wait_for_work(struct otel *o)
{
	struct pollfd fds[2 + DOORS + LEVER_DOORS] = { { .fd = o->wake, .events = POLLIN } };
	eventfd_t ignored;

	fds[1].fd = o->grpc != NULL ? grpc_door_descriptor(o->grpc)
	                            : -1; /* a negative one is ignored */
	fds[1].events = POLLIN;
	for (int i = 0; i < DOORS + LEVER_DOORS; i++)
		fds[2 + i] = (struct pollfd){
			.fd = o->http[i] != NULL ? http_daemon_descriptor(o->http[i]) : -1,
			.events = POLLIN
		};
	if (poll(fds, 2 + DOORS + LEVER_DOORS, wait_ms(o, clock_mono())) > 0 &&
	    (fds[0].revents & POLLIN) != 0)
		eventfd_read(o->wake, &ignored);
}

void
otel_turn(struct otel *o)
{
	struct mono now = clock_mono();

	look_at_clocks(o, now, false);
	otel_control_turn(o, now);
	for (int i = 0; i < DOORS + LEVER_DOORS; i++)
		if (o->http[i] != NULL)
			http_daemon_step(o->http[i]);
	if (o->grpc != NULL)
		grpc_door_step(o->grpc, clock_mono());
	otel_report_look(o);
	read_spans(o, clock_mono(), false);
	otel_report_look(o);
	otel_services_turn(o, now);
	otel_control_points(o, now);
	otel_report_turn(o, now);
	if (pack_tick(o->pack, now))
		link_kick(o->link);
	wait_for_work(o);
}

/* ---- begin and end ---- */

static int
queues_make(struct otel *o, struct err *e)
{
	const struct otel_config *c = o->config;
	struct pack_options p = { (size_t)c->batch_bytes, c->batch_ns, c->watermark_ns, true,
		c->calm_ns };
	struct otel_source_options s = { { (size_t)c->spans_bytes, (uint32_t)c->trace_spans,
					     c->hold_ns, c->age_ns },
		NAMES_BYTES, c->delay_ns, FUTURE_NS, c->past_ns };

	/* Later than any version that an earlier hone-otel gave, which counted up from an earlier time; exact in JavaScript, too. */
	const struct opamp_table_options opamp = { c->off, c->poll_ns, LEVER_QUIET_NS };
	const struct remote_sampling_options rates = { c->rate, LEVER_QUIET_NS };
	const struct gate_table_options g = { GATE_LEASE_NS, GATE_BUSY_NS, SECOND,
		(uint64_t)(clock_mono().ns / MICROSECOND) };

	o->levels = otel_config_levels(c);
	if ((o->out = outbox_new((size_t)c->memory_bytes)) == NULL ||
	    (o->pack = pack_new(&p, o->out)) == NULL || (o->gates = gate_table_new(&g)) == NULL ||
	    (o->opamp = opamp_table_new(&opamp)) == NULL ||
	    (o->rates = remote_sampling_new(&rates)) == NULL)
		return err_set(e, ERR_MEMORY, "out of memory");
	if ((o->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) < 0)
		return err_errno(e, "eventfd");
	return otel_source_new(&o->source, &s, e);
}

static struct text_view
point_of_scope(void *of, struct text_view service, struct text_view scope)
{
	return opamp_table_scope(((struct otel *)of)->opamp, service, scope);
}

static double
told_share(void *of, struct text_view service, int64_t begin_ns)
{
	return remote_sampling_told(((struct otel *)of)->rates, service, begin_ns);
}

static void
say_address(struct otel *o, const char *url, bool local)
{
	otel_log(o, LOG_INFO, "listens at %s%s", url,
	    local ? ": reached from this machine only, not from containers"
		  : ": everybody who reaches it can send spans");
}

static int
grpc_open(struct otel *o, struct err *e)
{
	const struct otel_config *c = o->config;
	const struct grpc_door_options d = { c->grpc, (uint32_t)c->connections, c->idle_ns,
		{ (size_t)c->body_bytes, &o->bodies, o->source } };

	if (c->grpc[0] == '\0')
		return 0;
	if (grpc_door_open(&o->grpc, &d, e) != 0)
		return err_prefix(e, "listen.grpc in hone-otel.conf");
	say_address(o, grpc_door_url(o->grpc), grpc_door_local(o->grpc));
	return 0;
}

static int
levers_open(struct otel *o, struct err *e)
{
	const struct otel_config *c = o->config;
	const struct lever_door_options all[LEVER_DOORS] = { { c->opamp, (unsigned)c->connections,
								 (unsigned)(c->idle_ns / SECOND),
								 o->opamp, NULL, o->log },
		{ c->sampling, (unsigned)c->connections, (unsigned)(c->idle_ns / SECOND), NULL,
		    o->rates, o->log } };
	const struct otel_levers levers = { point_of_scope, told_share, o };
	int rc;

	for (int i = 0; i < LEVER_DOORS; i++) {
		if (all[i].address[0] == '\0')
			continue;
		if ((rc = lever_door_open(&o->levers[i], &all[i], e)) != 0) {
			err_prefix(
			    e, "%s in hone-otel.conf", i == 0 ? "listen.opamp" : "listen.sampling");
			return rc;
		}
		o->http[DOORS + i] = lever_door_http(o->levers[i]);
		otel_log(o, LOG_INFO, "listens at %s%s", http_daemon_url(o->http[DOORS + i]),
		    http_daemon_local(o->http[DOORS + i])
			? ": reached from this machine only, not from containers"
			: ": everybody who reaches it can ask what to do");
	}
	otel_source_levers(o->source, &levers);
	return 0;
}

static int
doors_open(struct otel *o, struct err *e)
{
	const struct otel_config *c = o->config;
	const char *addresses[DOORS] = { c->otlp, c->zipkin };
	static const char *const keys[DOORS] = { "listen.otlp", "listen.zipkin" };
	int rc;

	o->bodies.bytes_max = (size_t)c->bodies_bytes;
	for (int i = 0; i < DOORS; i++) {
		struct span_door_options d = { addresses[i], i == 1, (unsigned)c->connections,
			(unsigned)(c->idle_ns / SECOND), (size_t)c->body_bytes, &o->bodies,
			o->source, i == 0 ? o->gates : NULL, o->log };

		rc = addresses[i][0] != '\0' ? span_door_open(&o->doors[i], &d, e) : 0;

		if (rc != 0)
			return err_prefix(e, "%s in hone-otel.conf", keys[i]);
		if (o->doors[i] == NULL)
			continue;
		o->http[i] = span_door_http(o->doors[i]);
		say_address(o, http_daemon_url(o->http[i]), http_daemon_local(o->http[i]));
	}
	if ((rc = levers_open(o, e)) != 0)
		return rc;
	return grpc_open(o, e);
}

static int
link_make(struct otel *o, const char *version, struct err *e)
{
	const struct otel_config *c = o->config;
	struct link_options l = { c->url, c->node, version, NULL, 0, (uint32_t)c->window,
		(int)(c->silence_ns / 1000000), (int)(c->retry_ns / 1000000),
		(int)(c->refused_ns / 1000000), o->wake };
	const struct tls_files keys = { c->ca, c->certificate, c->key, c->revoked };

	if (link_settings_tls(c->url) && tls_open(&o->tls, &keys, e) != 0)
		return err_prefix(e, "[tls] in hone-otel.conf");
	l.tls = o->tls;
	if (getrandom(&l.incarnation, sizeof l.incarnation, 0) != (ssize_t)sizeof l.incarnation)
		return err_errno(e, "random numbers");
	return link_start(&o->link, &l, o->out, e);
}

int
otel_open(struct otel **ret, const struct otel_config *c, const char *version,
    void (*log)(enum log_level level, const char *text), struct err *e)
{
	struct otel *o = calloc(1, sizeof *o);
	int rc;

	if (o == NULL)
		return err_set(e, ERR_MEMORY, "out of memory");
	o->config = c;
	o->log = log;
	o->wake = -1;
	if ((rc = queues_make(o, e)) == 0) {
		look_at_clocks(o, clock_mono(), true);
		if ((rc = doors_open(o, e)) == 0)
			rc = link_make(o, version, e);
	}
	if (rc != 0) {
		otel_close(o);
		return rc;
	}
	*ret = o;
	return 0;
}

/* Sends what is held, and waits up to GOODBYE_MS until the controller has acknowledged it. */
static void
send_rest(struct otel *o)
{
	struct outbox_stats out;

	pack_flush(o->pack, clock_mono());
	link_kick(o->link);
	for (int ms = 0; ms < GOODBYE_MS && o->control.connected; ms += GOODBYE_STEP_MS) {
		outbox_stats(o->out, &out);
		if (out.waiting_bytes == 0 && out.unacknowledged == 0)
			break;
		poll(NULL, 0, GOODBYE_STEP_MS);
		otel_control_turn(o, clock_mono());
	}
}

/* Waits for those that ask, so that what has no lease does not stay as Hone wanted it. */
static void
set_back(struct otel *o)
{
	struct mono begin = clock_mono(), now = begin;
	bool left = true;

	if (o->opamp == NULL || o->rates == NULL)
		return;
	opamp_table_set_back(o->opamp);
	remote_sampling_set_back(o->rates);
	for (; left && mono_since_ns(now, begin) < SET_BACK_NS; now = clock_mono()) {
		for (int i = DOORS; i < DOORS + LEVER_DOORS; i++)
			if (o->http[i] != NULL)
				http_daemon_step(o->http[i]);
		left = (o->levers[0] != NULL && !opamp_table_confirmed(o->opamp)) ||
		       (o->levers[1] != NULL &&
			   !remote_sampling_is_set_back(o->rates, now, SET_BACK_NS));
		if (left)
			poll(NULL, 0, GOODBYE_STEP_MS);
	}
	/* Also those that ask so seldom that they were not waited for. */
	if (left ||
	    (o->levers[1] != NULL && !remote_sampling_is_set_back(o->rates, now, LEVER_QUIET_NS)))
		otel_log(o, LOG_WARN,
		    "not all programs have asked before the end: what they were told stays until hone-otel starts again");
}

void
otel_close(struct otel *o)
{
	if (o == NULL)
		return;
	set_back(o);
	if (o->link != NULL) {
		read_spans(o, clock_mono(), true);
		otel_report_end(o, clock_mono());
	}
	for (int i = 0; i < LEVER_DOORS; i++)
		lever_door_close(o->levers[i]);
	for (int i = 0; i < DOORS; i++)
		span_door_close(o->doors[i]);
	grpc_door_close(o->grpc);
	if (o->link != NULL)
		send_rest(o);
	link_stop(o->link);
	tls_close(o->tls);
	pack_free(o->pack);
	outbox_free(o->out);
	otel_source_free(o->source);
	gate_table_free(o->gates);
	opamp_table_free(o->opamp);
	remote_sampling_free(o->rates);
	arena_release(&o->control.arena);
	if (o->wake >= 0)
		close(o->wake);
	free(o);
}
