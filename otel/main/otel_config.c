/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE
#include "otel/main/otel_config.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/listen_address.h"
#include "agent/link/link_settings.h"
#include "otel/control/opamp_table.h"
#include "wire/agent_messages.h"

#define AT(member) offsetof(struct otel_config, member)
#define SECOND 1e9
#define SUFFIX "-otel"

const struct ini_key otel_config_keys[] = {
	{ "agent", "node", INI_TEXT, AT(node), "", 0, 0,
	    "Name of this agent, unique among all agents of a controller; empty: the host name with -otel behind it." },
	{ "agent", "user", INI_TEXT, AT(user), "", 0, 0,
	    "User that hone-otel becomes when root starts it; empty: hone, if that user exists." },
	{ "log", "level", INI_TEXT, AT(log_level), "info", 0, 0,
	    "Lowest level that is logged: debug, info, warn, error." },
#include "agent/link/link_keys.tbl.h"
	{ "queue", "memory", INI_BYTES, AT(memory_bytes), "32MiB", 1 << 20, 1e11,
	    "Limit of unacknowledged batches; above it the oldest unsent ones are dropped and counted." },
#include "agent/link/queue_keys.tbl.h"
	{ "listen", "otlp", INI_TEXT, AT(otlp), "127.0.0.1:4318", 0, 0,
	    "Where OTLP/HTTP is taken, in JSON and protobuf: address:port, or [address]:port; empty: nowhere." },
	{ "listen", "grpc", INI_TEXT, AT(grpc), "127.0.0.1:4317", 0, 0,
	    "Where OTLP/gRPC is taken, without TLS; empty: nowhere." },
	{ "listen", "zipkin", INI_TEXT, AT(zipkin), "127.0.0.1:9411", 0, 0,
	    "Where Zipkin's API is taken, version 2; empty: nowhere." },
	{ "listen", "opamp", INI_TEXT, AT(opamp), "127.0.0.1:4320", 0, 0,
	    "Where agents of OpAMP ask, at /v1/opamp by HTTP; empty: nowhere." },
	{ "listen", "sampling", INI_TEXT, AT(sampling), "127.0.0.1:5778", 0, 0,
	    "Where SDKs with Jaeger's remote sampling ask, at /sampling, /api/sampling and /api/sampling/sampling; empty: nowhere." },
	{ "listen", "connections", INI_COUNT, AT(connections), "512", 1, 65536,
	    "Connections at each of these addresses; a further one takes the place of a silent one, or waits in the kernel's queue." },
	{ "listen", "idle", INI_TIME, AT(idle_ns), "30s", SECOND, 3600 * SECOND,
	    "A connection without a byte for this long is closed; at listen.grpc one of which a call, or the first call, is not whole by then." },
	{ "listen", "body", INI_BYTES, AT(body_bytes), "20MiB", 1 << 10, 32 << 20,
	    "Largest body of a request, before and after it is inflated." },
	{ "listen", "bodies", INI_BYTES, AT(bodies_bytes), "64MiB", 1 << 10, 1e11,
	    "Limit of all bodies that are being received; above it requests are refused, to be repeated." },
	{ "opamp", "off", INI_TEXT, AT(off), "", 0, 0,
	    "Instrumentations that agents of OpAMP turn off unless Hone wants them, with commas between: pg,undici; empty: none. Those that a program cannot turn on again stay off: docs/otel.md." },
	{ "opamp", "poll", INI_TIME, AT(poll_ns), "1s", 0.1 * SECOND, 60 * SECOND,
	    "How often agents of OpAMP are to ask, if opamp.off names something." },
	{ "levels", "err", INI_TEXT, AT(levels[0]), "", 0, 0,
	    "Spans with this log level (hone levels), of those that can be switched: patterns of their scopes, or SCOPE:NAME, with commas between." },
	{ "levels", "warning", INI_TEXT, AT(levels[1]), "", 0, 0,
	    "Spans with this log level, in the same form." },
	{ "levels", "notice", INI_TEXT, AT(levels[2]), "", 0, 0,
	    "Spans with this log level, in the same form." },
	{ "levels", "info", INI_TEXT, AT(levels[3]), "", 0, 0,
	    "Spans with this log level, in the same form; what no list names has the level debug-line." },
	{ "sampling", "rate", INI_SHARE, AT(rate), "100%", 0, 1,
	    "Share of requests that SDKs with remote sampling sample while no controller wants another, and when hone-otel has ended." },
	{ "spans", "hold", INI_TIME, AT(hold_ns), "5s", 0.01 * SECOND, 600 * SECOND,
	    "A trace is held for this long after its first span came, which is the last to end; without that, after its last span came." },
	{ "spans", "delay", INI_TIME, AT(delay_ns), "6s", 0.01 * SECOND, 600 * SECOND,
	    "Longest time from the end of a span until it comes: the exporters' batches, 5 s by default. Traces are complete after delay and hold." },
	{ "spans", "age", INI_TIME, AT(age_ns), "60s", 0.1 * SECOND, 3600 * SECOND,
	    "Longest time that a trace is held, if spans come again and again." },
	{ "spans", "past", INI_TIME, AT(past_ns), "10min", SECOND, 86400 * SECOND,
	    "A span that ended longer ago is refused." },
	{ "spans", "memory", INI_BYTES, AT(spans_bytes), "64MiB", 1 << 20, 1e11,
	    "Limit of the spans of held traces; at 90 % of it requests are refused, to be repeated." },
	{ "spans", "trace", INI_COUNT, AT(trace_spans), "10000", 1, 20000,
	    "Most spans of a trace; one with more is left out." },
	{ "status", "every", INI_TIME, AT(status_ns), "500ms", 0.01 * SECOND, SECOND,
	    "Time between two reports of occupancy, losses and cost." },
};

const size_t otel_config_nkeys = sizeof otel_config_keys / sizeof otel_config_keys[0];

/* Of the keys above, in their order. */
static const uint8_t LEVELS[SPAN_LEVEL_LISTS] = { LOGLEVEL_ERR, LOGLEVEL_WARNING, LOGLEVEL_NOTICE,
	LOGLEVEL_INFO };

struct span_levels
otel_config_levels(const struct otel_config *c)
{
	struct span_levels s = { .n = SPAN_LEVEL_LISTS };

	for (int i = 0; i < SPAN_LEVEL_LISTS; i++)
		s.lists[i] = (struct span_level_list){ LEVELS[i], c->levels[i] };
	return s;
}

enum log_level
otel_config_log_level(const struct otel_config *c)
{
	return link_settings_log_level(c->log_level);
}

static int
check_address(const char *key, const char *text, struct err *e)
{
	struct listen_address a;

	if (text[0] == '\0' || listen_address_read(&a, text))
		return 0;
	return err_set(
	    e, ERR_INPUT, "%s: \"%s\": it looks like 127.0.0.1:4318, or [::1]:4318", key, text);
}

static int
check(const struct otel_config *c, struct err *e)
{
	const struct link_settings link = { c->node, c->url, c->log_level };
	int rc;

	if ((rc = link_settings_check(&link, e)) != 0 ||
	    (rc = check_address("listen.otlp", c->otlp, e)) != 0 ||
	    (rc = check_address("listen.grpc", c->grpc, e)) != 0 ||
	    (rc = check_address("listen.zipkin", c->zipkin, e)) != 0 ||
	    (rc = check_address("listen.opamp", c->opamp, e)) != 0 ||
	    (rc = check_address("listen.sampling", c->sampling, e)) != 0)
		return rc;
	if (!opamp_off_fits(c->off))
		return err_set(e, ERR_INPUT,
		    "opamp.off: \"%s\": it is a list of at most %d names of at most %d letters, digits, -, _ and ., with commas between",
		    c->off, OPAMP_OFF_MAX, OPAMP_OFF_NAME_MAX);
	for (int i = 0; i < SPAN_LEVEL_LISTS; i++)
		if (!span_levels_fit(c->levels[i]))
			return err_set(e, ERR_INPUT,
			    "levels.%s: it is a list of at most %d patterns of at most %d bytes, with commas between",
			    loglevel_word(LEVELS[i]), SPAN_LEVEL_PATTERNS_MAX,
			    SPAN_LEVEL_PATTERN_MAX);
	if (c->otlp[0] == '\0' && c->grpc[0] == '\0' && c->zipkin[0] == '\0')
		return err_set(
		    e, ERR_INPUT, "listen.otlp, listen.grpc and listen.zipkin are all empty");
	if (c->age_ns < c->hold_ns)
		return err_set(e, ERR_INPUT, "spans.age is less than spans.hold");
	return 0;
}

/* Sets the default that depends on the machine. */
static int
fill_in(struct otel_config *c, struct err *e)
{
	char host[256] = "", *text;

	if (c->node[0] != '\0')
		return 0;
	if (gethostname(host, sizeof host - 1) != 0)
		return err_errno(e, "the host name");
	if (asprintf(&text, "%.*s" SUFFIX, NODE_NAME_MAX - (int)sizeof SUFFIX + 1, host) < 0)
		return err_set(e, ERR_MEMORY, "out of memory");
	free(c->node);
	c->node = text;
	return 0;
}

int
otel_config_load(
    struct otel_config *c, const char *path, char *const *assignments, int n, struct err *e)
{
	int rc;

	memset(c, 0, sizeof *c);
	if ((rc = ini_defaults(otel_config_keys, otel_config_nkeys, c, e)) != 0)
		return rc;
	if (path != NULL && (rc = ini_read(otel_config_keys, otel_config_nkeys, c, path, e)) != 0)
		return rc;
	for (int i = 0; i < n; i++)
		if ((rc = ini_set(otel_config_keys, otel_config_nkeys, c, assignments[i], e)) != 0)
			return rc;
	if ((rc = fill_in(c, e)) != 0)
		return rc;
	return check(c, e);
}

void
otel_config_print(const struct otel_config *c, FILE *out)
{
	ini_print(otel_config_keys, otel_config_nkeys, c, 1, out);
}

void
otel_config_release(struct otel_config *c)
{
	ini_release(otel_config_keys, otel_config_nkeys, c);
	memset(c, 0, sizeof *c);
}
