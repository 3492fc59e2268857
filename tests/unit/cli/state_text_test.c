/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cli/state_text.h"

static void
reads(void (*put)(struct buf *out, const json_t *o), const char *fields, const char *expected)
{
	json_t *o = json_loads(fields, JSON_DECODE_ANY, NULL);
	struct buf text = { 0 };

	assert_non_null(o);
	put(&text, o);
	buf_u8(&text, 0);
	assert_false(text.failed);
	assert_string_equal((char *)text.data, expected);
	buf_release(&text);
	json_decref(o);
}

static void
congestion_names_the_queue_and_its_agent(void **state)
{
	(void)state;
	reads(congestion_text_put, "null", "");
	reads(congestion_text_put, "{\"reason\":\"mailbox-full\",\"fill\":0.8}",
	    "the controller's mailbox is 80 % full");
	reads(congestion_text_put,
	    "{\"reason\":\"queue-full\",\"node\":\"n1\",\"queue\":\"link\",\"fill\":0.75,\"others\":1}",
	    "agent n1: link 75 % full, and 1 more");
	reads(congestion_text_put,
	    "{\"reason\":\"load-shed\",\"node\":\"n1\",\"queue\":\"ring\",\"fill\":0.93,\"backoff_s\":20}",
	    "agent n1 has shed load: ring 93 % full; no tracepoint is added there for 20 s");
}

static void
a_phase_is_told_with_what_it_waits_for(void **state)
{
	(void)state;
	reads(phase_text_put, "null", "ended");
	reads(phase_text_put,
	    "{\"word\":\"watching\",\"cycle\":0,\"traces\":700,\"groups\":1,\"pause\":null,"
	    "\"tail\":{\"quantile\":0.99,\"slow\":7,\"wanted\":20,\"seconds_left\":12.3}}",
	    "watching, cycle 0: 700 traces in 1 group; 7 of 20 requests beyond p99 have come, about 13 s more");
	reads(phase_text_put,
	    "{\"word\":\"watching\",\"cycle\":0,\"traces\":1,\"groups\":1,\"tracepoints\":0,\"pause\":null}",
	    "watching, cycle 0: 1 trace in 1 group");
	reads(phase_text_put,
	    "{\"word\":\"gathering\",\"cycle\":4,\"traces\":412,\"groups\":3,\"tracepoints\":2,\"pause\":null}",
	    "gathering, cycle 4: 412 traces in 3 groups");
	reads(phase_text_put,
	    "{\"word\":\"enabling\",\"cycle\":4,\"traces\":412,\"groups\":3,\"tracepoints\":2,\"pause\":null}",
	    "cycle 4: enabling 2 tracepoints");
	reads(phase_text_put,
	    "{\"word\":\"paused\",\"cycle\":4,\"pause\":{\"reason\":\"mailbox-full\",\"fill\":0.8}}",
	    "paused: the controller's mailbox is 80 % full");
}

static void
an_exceeded_limit_has_its_unit_and_key(void **state)
{
	(void)state;
	reads(limit_text_put, "null", "");
	reads(limit_text_put,
	    "{\"limit\":\"network\",\"measured\":2500000,\"permitted\":1000000,\"spender\":null}",
	    "2500 kB/s to the controller, over agents.network_max (1000), at the lowest sampling share");
	reads(limit_text_put,
	    "{\"limit\":\"idle-core\",\"measured\":1.234,\"permitted\":1,\"spender\":\"tracer\"}",
	    "1.23 % of a core without any record, over the permitted 1.00 %: most by the tracer");
	reads(limit_text_put,
	    "{\"limit\":\"core\",\"measured\":1.234,\"permitted\":1,\"spender\":\"agent\"}",
	    "1.23 % of a core, over the permitted 1.00 %, at the lowest sampling share: most by the agent");
	reads(limit_text_put,
	    "{\"limit\":\"memory\",\"measured\":67108864,\"permitted\":33554432,\"spender\":null}",
	    "64 MiB of the tracer's buffers, over agents.memory_max (32): lower tracer.sub_buffer_size");
	reads(limit_text_put, "{\"limit\":\"of-a-newer-honed\"}", "of-a-newer-honed");
}

static void
a_trouble_is_told_with_its_fields(void **state)
{
	(void)state;
	reads(trouble_text_put, "null", "");
	reads(trouble_text_put, "{\"kind\":\"tracer\",\"text\":\"no session daemon {pid}\"}",
	    "no session daemon {pid}");
	reads(trouble_text_put, "{\"kind\":\"tracer-silent\",\"seconds\":3.25}",
	    "the session daemon has not answered for 3.2 s: it hangs, or waits for a program that is stopped");
	reads(trouble_text_put, "{\"kind\":\"untraced\",\"subject\":\"storefront\",\"pid\":4711}",
	    "storefront (4711) runs untraced: the session daemon lost its registration; it is traced when it is "
	    "started again");
	reads(trouble_text_put,
	    "{\"kind\":\"files-full\",\"subject\":\"/run/hone\",\"bytes\":1572864,\"times\":2,\"seconds\":7}",
	    "the tracer's files are full (1.5 MiB unread in /run/hone): no request is sampled until under half; "
	    "occurrence 2, 7.0 s in all before");
}

static void
an_action_of_hone_is_told_with_who_did_it(void **state)
{
	(void)state;
	reads(actor_text_put, "{\"actor\":null}", "");
	reads(actor_text_put, "{\"actor\":\"agent\",\"node\":\"n1\"}", "agent n1");
	reads(action_text_put, "{\"action\":null}", "");
	reads(action_text_put, "{\"action\":\"disable-count\",\"node\":\"n1\",\"count\":12}",
	    "disabled 12 added tracepoints on node n1");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(congestion_names_the_queue_and_its_agent),
		cmocka_unit_test(a_phase_is_told_with_what_it_waits_for),
		cmocka_unit_test(an_exceeded_limit_has_its_unit_and_key),
		cmocka_unit_test(a_trouble_is_told_with_its_fields),
		cmocka_unit_test(an_action_of_hone_is_told_with_who_did_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
