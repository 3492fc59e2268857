/* SPDX-License-Identifier: GPL-3.0-or-later */
/* source_session NAME OUTPUT SHM SUBBUF_BYTES SUBBUFS TIMER_US: creates and starts a session as the
 * agent does. */
#include <lttng/lttng.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void
must(int rc, const char *what)
{
	if (rc >= 0)
		return;
	fprintf(stderr, "%s: %s\n", what, lttng_strerror(rc));
	exit(1);
}

static void
app_context(struct lttng_handle *h, char *name)
{
	struct lttng_event_context c = { .ctx = LTTNG_EVENT_CONTEXT_APP_CONTEXT };
	char provider[] = "hone";

	c.u.app_ctx.provider_name = provider;
	c.u.app_ctx.ctx_name = name;
	must(lttng_add_context(h, &c, NULL, "hone"), name);
}

int
main(int argc, char **argv)
{
	struct lttng_domain domain = { .type = LTTNG_DOMAIN_UST, .buf_type = LTTNG_BUFFER_PER_PID };
	struct lttng_event_context vtid = { .ctx = LTTNG_EVENT_CONTEXT_VTID };
	char trace_id[] = "trace_id", unit_id[] = "unit_id";
	const char *const names[] = { "kinds:*", "hone:*" };

	if (argc != 7)
		return 2;
	must(lttng_create_session(argv[1], argv[2]), "session");
	must(lttng_set_session_shm_path(argv[1], argv[3]), "shm path");
	struct lttng_handle *h = lttng_create_handle(argv[1], &domain);
	struct lttng_channel *channel = lttng_channel_create(&domain);
	strcpy(channel->name, "hone");
	channel->attr.overwrite = 0;
	channel->attr.subbuf_size = strtoull(argv[4], NULL, 10);
	channel->attr.num_subbuf = strtoull(argv[5], NULL, 10);
	channel->attr.switch_timer_interval = (unsigned)atoi(argv[6]);
	channel->attr.read_timer_interval = 0;
	must(lttng_enable_channel(h, channel), "channel");
	must(lttng_add_context(h, &vtid, NULL, "hone"), "vtid");
	app_context(h, trace_id);
	app_context(h, unit_id);
	for (int i = 0; i < 2; i++) {
		struct lttng_event *event = lttng_event_create();
		event->type = LTTNG_EVENT_TRACEPOINT;
		strcpy(event->name, names[i]);
		must(lttng_enable_event(h, event, "hone"), names[i]);
		lttng_event_destroy(event);
	}
	must(lttng_start_tracing(argv[1]), "start");
	lttng_channel_destroy(channel);
	lttng_destroy_handle(h);
	return 0;
}
