/* SPDX-License-Identifier: MIT */
/*
 * hone_postgres: tracepoints in the hooks of a PostgreSQL server. Each hook calls
 * the function that was registered before it, or the server's own, and emits its
 * end tracepoint both when that function returns and when it throws an error.
 */
#include "postgres.h"

#include "access/xact.h"
#include "executor/executor.h"
#include "executor/instrument.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "optimizer/planner.h"
#include "parser/analyze.h"
#include "tcop/utility.h"
#include "utils/timestamp.h"

#include "instrument/postgres/postgres_parallel.h"
#include "instrument/postgres/postgres_spans.h"
#include "instrument/postgres/postgres_statement.h"
#include "instrument/postgres/postgres_tracepoints.h"

PG_MODULE_MAGIC;

PGDLLEXPORT void _PG_init(void);

static post_parse_analyze_hook_type analyze_before;
static planner_hook_type planner_before;
static ExecutorStart_hook_type start_before;
static ExecutorRun_hook_type run_before;
static ExecutorFinish_hook_type finish_before;
static ExecutorEnd_hook_type end_before;
static ProcessUtility_hook_type utility_before;

/* Counters of the process; they only increase. */
struct postgres_counters {
	BufferUsage buffers;
	WalUsage wal;
};

static inline void
counters_now(struct postgres_counters *c)
{
	c->buffers = pgBufferUsage;
	c->wal = pgWalUsage;
}

static struct work
work_since(const struct postgres_counters *c, uint64 rows)
{
	const BufferUsage *b = &pgBufferUsage, *b0 = &c->buffers;

	return (struct work){
		.rows = rows,
		.hit = b->shared_blks_hit - b0->shared_blks_hit,
		.read = b->shared_blks_read - b0->shared_blks_read,
		.dirtied = b->shared_blks_dirtied - b0->shared_blks_dirtied,
		.written = b->shared_blks_written - b0->shared_blks_written,
		.temp_read = b->temp_blks_read - b0->temp_blks_read,
		.temp_written = b->temp_blks_written - b0->temp_blks_written,
		.wal_records = pgWalUsage.wal_records - c->wal.wal_records,
		.wal_bytes = pgWalUsage.wal_bytes - c->wal.wal_bytes,
		.wal_fpi = pgWalUsage.wal_fpi - c->wal.wal_fpi,
	};
}

/* Whether `event` is enabled is tested before and after the work: if it is enabled in between, the
 * counters of the begin are missing, and it is not emitted. */
#define COUNTING(event, counters) \
	(lttng_ust_tracepoint_enabled(postgres, event) ? (counters_now(counters), true) : false)
#define EMIT_WORK(event, counting, counters, rows, first)                     \
	do {                                                                  \
		if (counting) {                                               \
			struct work work_ = work_since(counters, rows);       \
                                                                              \
			lttng_ust_tracepoint(postgres, event, first, &work_); \
		}                                                             \
	} while (0)

/* Executes `call` inside of a span, then `after`, both if it returned and if it threw an error. */
#define INSIDE(span, call, after)     \
	do {                          \
		span_enter(span);     \
		PG_TRY();             \
		{                     \
			call;         \
		}                     \
		PG_FINALLY();         \
		{                     \
			span_leave(); \
			after;        \
		}                     \
		PG_END_TRY();         \
	} while (0)

/* Whether the client asked for this work, rather than a function or trigger of its statement. */
static bool
clients_turn(void)
{
	return spans_depth == 0 && statement_backend();
}

static void
on_analyze(ParseState *pstate, Query *query, JumbleState *jumble)
{
	const char *tag = CreateCommandName((Node *)query);

	if (clients_turn())
		statement_parsed(pstate->p_sourcetext, tag);
	lttng_ust_tracepoint(postgres, parsed, tag, spans_depth,
	    GetCurrentTimestamp() - GetCurrentStatementStartTimestamp());
	if (analyze_before != NULL)
		analyze_before(pstate, query, jumble);
}

static PlannedStmt *
plan_next(Query *query, const char *text, int options, ParamListInfo params)
{
	if (planner_before != NULL)
		return planner_before(query, text, options, params);
	return standard_planner(query, text, options, params);
}

static PlannedStmt *
on_plan(Query *query, const char *text, int options, ParamListInfo params)
{
	const char *tag = CreateCommandName((Node *)query);
	PlannedStmt *volatile plan = NULL;

	if (clients_turn())
		statement_planned(text, tag);
	lttng_ust_tracepoint(postgres, plan_begin, tag, spans_depth, query->queryId);
	INSIDE(SPAN_PLAN, plan = plan_next(query, text, options, params),
	    lttng_ust_tracepoint(postgres, plan_end, spans_depth,
		plan != NULL ? plan->planTree->total_cost : 0,
		plan != NULL ? plan->planTree->plan_rows : 0));
	return plan;
}

static void
start_next(QueryDesc *query, int flags)
{
	if (start_before != NULL)
		start_before(query, flags);
	else
		standard_ExecutorStart(query, flags);
}

static void
on_start(QueryDesc *query, int flags)
{
	const char *tag = CreateCommandName((Node *)query->plannedstmt);

	if (clients_turn())
		statement_executes(query->sourceText, tag);
	if (spans_depth == 0)
		parallel_begin();
	lttng_ust_tracepoint(
	    postgres, executor_start_begin, tag, spans_depth, query->plannedstmt->queryId);
	INSIDE(SPAN_START, start_next(query, flags),
	    lttng_ust_tracepoint(postgres, executor_start_end, spans_depth));
}

static void
run_next(QueryDesc *query, ScanDirection direction, uint64 count, bool once)
{
	if (run_before != NULL)
		run_before(query, direction, count, once);
	else
		standard_ExecutorRun(query, direction, count, once);
}

/* The run includes the wait for the workers, so the joins come before the end of the run. */
static void
run_with_workers(QueryDesc *query, ScanDirection direction, uint64 count, bool once)
{
	int depth = spans_depth;

	parallel_fork(query->plannedstmt, depth);
	run_next(query, direction, count, once);
	parallel_join(depth);
}

static void
on_run(QueryDesc *query, ScanDirection direction, uint64 count, bool once)
{
	const char *tag = CreateCommandName((Node *)query->plannedstmt);
	struct postgres_counters before;
	bool counting;

	if (clients_turn())
		statement_runs(query->sourceText, tag);
	lttng_ust_tracepoint(
	    postgres, executor_run_begin, tag, spans_depth, query->plannedstmt->queryId);
	counting = COUNTING(executor_run_end, &before);
	INSIDE(SPAN_RUN, run_with_workers(query, direction, count, once),
	    EMIT_WORK(
		executor_run_end, counting, &before, query->estate->es_processed, spans_depth));
}

static void
finish_next(QueryDesc *query)
{
	if (finish_before != NULL)
		finish_before(query);
	else
		standard_ExecutorFinish(query);
}

static void
on_finish(QueryDesc *query)
{
	struct postgres_counters before;
	bool counting;

	lttng_ust_tracepoint(postgres, executor_finish_begin, spans_depth);
	counting = COUNTING(executor_finish_end, &before);
	INSIDE(SPAN_FINISH, finish_next(query),
	    EMIT_WORK(
		executor_finish_end, counting, &before, query->estate->es_processed, spans_depth));
}

static void
end_next(QueryDesc *query)
{
	if (end_before != NULL)
		end_before(query);
	else
		standard_ExecutorEnd(query);
}

static void
on_end(QueryDesc *query)
{
	lttng_ust_tracepoint(postgres, executor_close_begin, spans_depth);
	INSIDE(SPAN_CLOSE, end_next(query),
	    lttng_ust_tracepoint(postgres, executor_close_end, spans_depth));
	if (spans_depth == 0)
		parallel_end();
}

static void
on_utility(PlannedStmt *plan, const char *text, bool read_only, ProcessUtilityContext context,
    ParamListInfo params, QueryEnvironment *environment, DestReceiver *dest,
    QueryCompletion *completion)
{
	ProcessUtility_hook_type next = utility_before != NULL ? utility_before
	                                                       : standard_ProcessUtility;
	const char *tag = CreateCommandName(plan->utilityStmt);
	struct postgres_counters before;
	bool counting;

	if (clients_turn())
		statement_executes(text, tag);
	lttng_ust_tracepoint(postgres, utility_begin, tag, spans_depth, plan->queryId);
	counting = COUNTING(utility_end, &before);
	INSIDE(SPAN_UTILITY,
	    next(plan, text, read_only, context, params, environment, dest, completion),
	    EMIT_WORK(utility_end, counting, &before,
		completion != NULL ? completion->nprocessed : 0, spans_depth));
}

/* The span commit: from the point after which the transaction has nothing left to execute until its
 * changes are visible to others. In between its log is written and flushed. */
static void
on_transaction(XactEvent event, void *arg)
{
	static struct postgres_counters before;
	static bool open, counting;
	(void)arg;

	switch (event) {
	case XACT_EVENT_PRE_COMMIT:
	case XACT_EVENT_PRE_PREPARE:
		lttng_ust_tracepoint(postgres, commit_begin, event == XACT_EVENT_PRE_PREPARE);
		counting = COUNTING(commit_end, &before);
		open = true;
		break;
	case XACT_EVENT_COMMIT:
	case XACT_EVENT_PREPARE:
	case XACT_EVENT_ABORT:
		if (open)
			EMIT_WORK(commit_end, counting, &before, 0, event != XACT_EVENT_ABORT);
		open = false;
		break;
	default:
		break;
	}
}

#define HOOK(name, before, ours) (before = name, name = ours)

void
_PG_init(void)
{
	if (!process_shared_preload_libraries_in_progress)
		return;
	statement_init();
	parallel_init();
	HOOK(post_parse_analyze_hook, analyze_before, on_analyze);
	HOOK(planner_hook, planner_before, on_plan);
	HOOK(ExecutorStart_hook, start_before, on_start);
	HOOK(ExecutorRun_hook, run_before, on_run);
	HOOK(ExecutorFinish_hook, finish_before, on_finish);
	HOOK(ExecutorEnd_hook, end_before, on_end);
	HOOK(ProcessUtility_hook, utility_before, on_utility);
	RegisterXactCallback(on_transaction, NULL);
}
