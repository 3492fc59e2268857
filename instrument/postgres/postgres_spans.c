/* SPDX-License-Identifier: MIT */
#include "instrument/postgres/postgres_spans.h"
#include "instrument/postgres/postgres_tracepoints.h"

/* Deeper spans get no end record if the server ends the process in them. */
enum { SPANS_MAX = 64 };

int spans_depth;

static uint8_t open_spans[SPANS_MAX];

void
span_enter(enum span span)
{
	if (spans_depth < SPANS_MAX)
		open_spans[spans_depth] = (uint8_t)span;
	spans_depth++;
}

void
span_leave(void)
{
	spans_depth--;
}

static void
end(enum span span, uint32_t depth)
{
	static const struct work unknown;

	switch (span) {
	case SPAN_PLAN:
		lttng_ust_tracepoint(postgres, plan_end, depth, 0, 0);
		break;
	case SPAN_START:
		lttng_ust_tracepoint(postgres, executor_start_end, depth);
		break;
	case SPAN_RUN:
		lttng_ust_tracepoint(postgres, executor_run_end, depth, &unknown);
		break;
	case SPAN_FINISH:
		lttng_ust_tracepoint(postgres, executor_finish_end, depth, &unknown);
		break;
	case SPAN_CLOSE:
		lttng_ust_tracepoint(postgres, executor_close_end, depth);
		break;
	case SPAN_UTILITY:
		lttng_ust_tracepoint(postgres, utility_end, depth, &unknown);
		break;
	}
}

void
spans_end(void)
{
	while (spans_depth > 0) {
		spans_depth--;
		if (spans_depth < SPANS_MAX)
			end(open_spans[spans_depth], (uint32_t)spans_depth);
	}
}
