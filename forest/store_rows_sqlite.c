/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Rows of the database, converted from structs and back. Unsigned 64-bit ids are stored as SQLite's
 * signed integers with the same bits.
 */
#include "forest/forest_inside.h"
#include "forest/store_inside.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#define RUN(name, type, member, since)                                \
	{                                                             \
		name, type, offsetof(struct run, member), since, NULL \
	}
static const struct column run_columns[] = {
	RUN("id", U64, id, 1),
	RUN("type", TEXT, type, 1),
	RUN("strategy", TEXT, strategy, 1),
	RUN("seed", U64, seed, 1),
	RUN("state", U32, state, 1),
	RUN("verdict", REF, verdict, 1),
	RUN("words", TEXT, text, 1),
	RUN("cycles", U32, cycles, 1),
	RUN("tracepoints", U32, tracepoints, 1),
	RUN("tracepoints_all", U32, tracepoints_all, 1),
	RUN("begun_ns", U64, begun.ns, 1),
	RUN("ended_ns", U64, ended.ns, 1),
	RUN("tracepoints_most", U32, tracepoints_most, 2),
	RUN("requests", U64, requests, 2),
	RUN("effort", U32, effort, 2),
	RUN("version", TEXT, version, 2),
	RUN("\"by\"", TEXT, by, 3),
	RUN("reason", U32, reason, 4),
	RUN("subject", TEXT, subject, 4),
	RUN("effect_min", REAL, effect_min, 5),
	RUN("ended_programs", TEXT, ended_programs, 5),
	RUN("causes_max", U32, causes_max, 6),
	RUN("\"left\"", REAL, left, 6),
	RUN("tail_quantile", REAL, tail_quantile, 6),
	RUN("problem_from_ns", U64, problem_from.ns, 6),
	RUN("problem_to_ns", U64, problem_to.ns, 6),
	RUN("healthy", FLAG, healthy, 7),
	RUN("baseline", TEXT, baseline, 7),
	RUN("compared", U64, compared, 7),
};

#define HYP(name, type, member, since)                                       \
	{                                                                    \
		name, type, offsetof(struct hypothesis, member), since, NULL \
	}
static const struct column hypothesis_columns[] = {
	HYP("id", U64, id, 1),
	HYP("run", U64, run, 1),
	HYP("parent", REF, parent, 1),
	HYP("cycle", U32, cycle, 1),
	HYP("state", U32, state, 1),
	HYP("presence", CHAR, presence, 1),
	HYP("tracepoint", TEXT, tracepoint, 1),
	HYP("edge_from", TEXT, edge_from, 1),
	HYP("edge_to", TEXT, edge_to, 1),
	HYP("group_shape", TEXT, group_shape, 1),
	HYP("group_key_a", U64, group_key[0], 1),
	HYP("group_key_b", U64, group_key[1], 1),
	HYP("traces", U64, traces, 1),
	HYP("mean_ns", REAL, mean_ns, 1),
	HYP("cv", REAL, cv, 1),
	HYP("share", REAL, share, 1),
	HYP("share_low", REAL, share_low, 1),
	HYP("share_high", REAL, share_high, 1),
	HYP("latency_share", REAL, latency_share, 1),
	HYP("settled_traces", U64, settled_traces, 1),
	HYP("settled_share", REAL, settled_share, 1),
	HYP("settled_low", REAL, settled_low, 1),
	HYP("settled_high", REAL, settled_high, 1),
	HYP("\"key\"", TEXT, key, 1),
	HYP("key_r", REAL, key_r, 1),
	HYP("key_p", REAL, key_p, 1),
	HYP("key_n", U32, key_n, 1),
	HYP("exemplar_slow", U64, exemplar_slow, 1),
	HYP("exemplar_fast", U64, exemplar_fast, 1),
	HYP("made_ns", U64, made.ns, 1),
	HYP("settled_ns", U64, settled.ns, 1),
	HYP("cost_ns", REAL, cost_ns, 2),
	HYP("separation", REAL, separation, 2),
	{ "reason", U32, offsetof(struct hypothesis, reason), 4, BEFORE_4_HYPOTHESIS_REASON },
};

#define VER(name, type, member)                                       \
	{                                                             \
		name, type, offsetof(struct verdict, member), 2, NULL \
	}
#define VER4(name, type, member)                                      \
	{                                                             \
		name, type, offsetof(struct verdict, member), 4, NULL \
	}
#define VER5(name, type, member)                                      \
	{                                                             \
		name, type, offsetof(struct verdict, member), 5, NULL \
	}
#define VER6(name, type, member)                                      \
	{                                                             \
		name, type, offsetof(struct verdict, member), 6, NULL \
	}
#define VER7(name, type, member)                                      \
	{                                                             \
		name, type, offsetof(struct verdict, member), 7, NULL \
	}
#define VER8(name, type, member)                                      \
	{                                                             \
		name, type, offsetof(struct verdict, member), 8, NULL \
	}
static const struct column verdict_columns[] = {
	VER("hypothesis", U64, hypothesis),
	VER("run", U64, run),
	VER("rank", U32, rank),
	VER("kind", U32, kind),
	VER("problem", U32, problem),
	VER("edge_from", TEXT, from),
	VER("edge_to", TEXT, to),
	VER("path", TEXT, path),
	VER("tracepoint", TEXT, tracepoint),
	VER("words", TEXT, text),
	VER("traces", U64, traces),
	VER("confidence", REAL, confidence),
	VER("mean_ns", REAL, mean_ns),
	VER("cv", REAL, cv),
	VER("share", REAL, share),
	VER("share_low", REAL, share_low),
	VER("share_high", REAL, share_high),
	VER("latency_share", REAL, latency_share),
	VER("probability", REAL, probability),
	VER("cost_ns", REAL, cost_ns),
	VER("cv_now", REAL, cv_now),
	VER("cv_then", REAL, cv_then),
	VER("cv_then_low", REAL, cv_then_low),
	VER("cv_then_high", REAL, cv_then_high),
	VER("p50_then_ns", REAL, p50_then_ns),
	VER("p95_now_ns", REAL, p95_now_ns),
	VER("p95_then_ns", REAL, p95_then_ns),
	VER("p99_now_ns", REAL, p99_now_ns),
	VER("p99_then_ns", REAL, p99_then_ns),
	VER("\"key\"", TEXT, key),
	VER("key_r", REAL, key_r),
	VER("key_p", REAL, key_p),
	VER("key_n", U32, key_n),
	VER("slowest_high", U64, slowest.high),
	VER("slowest_low", U64, slowest.low),
	VER("slowest_ns", U64, slowest_ns),
	VER("fastest_high", U64, fastest.high),
	VER("fastest_low", U64, fastest.low),
	VER("fastest_ns", U64, fastest_ns),
	VER("when_ns", U64, when.ns),
	{ "by_latency", FLAG, offsetof(struct verdict, by_latency), 4, BEFORE_4_BY_LATENCY },
	VER4("effective_traces", REAL, effective_traces),
	VER4("separation", REAL, separation),
	VER4("slow_with", FLAG, slow_with),
	VER4("position", U32, position),
	VER4("positions", U32, positions),
	VER4("loop_back", FLAG, loop_back),
	VER4("unlearned", U32, unlearned),
	VER4("unlearned_service", TEXT, unlearned_service),
	VER4("over_budget", U32, over_budget),
	VER4("preload_over_budget", U32, preload_over_budget),
	VER4("preload", U32, preload),
	VER4("above_from", TEXT, above_from),
	VER4("above_to", TEXT, above_to),
	VER4("call", TEXT, call),
	VER4("object", TEXT, object),
	VER4("object_share", REAL, object_share),
	VER5("passing", U64, passing),
	VER5("passes", REAL, passes),
	VER5("unlearned_names", TEXT, unlearned_names),
	VER5("handed_over", FLAG, handed_over),
	VER5("wait_cause", U32, wait_cause),
	VER5("waits", U32, waits),
	VER5("wait_share", REAL, wait_share),
	VER5("wait_share_low", REAL, wait_share_low),
	VER5("wait_share_high", REAL, wait_share_high),
	VER5("wait_type", TEXT, wait_type),
	VER5("wait_unit", TEXT, wait_unit),
	VER5("wait_from_too", FLAG, wait_from_too),
	VER5("effect", REAL, effect),
	VER5("mistake", TEXT, mistake),
	VER5("mistake_at", TEXT, mistake_at),
	VER5("mistake_to", TEXT, mistake_to),
	VER5("mistake_count", U64, mistake_count),
	VER5("mistake_of", U64, mistake_of),
	VER6("pool", U32, pool),
	VER6("pool_threads", U32, pool_threads),
	VER6("pool_utilisation", REAL, pool_utilisation),
	VER6("pool_service_ns", REAL, pool_service_ns),
	VER6("pool_service_cv", REAL, pool_service_cv),
	VER6("pool_wait_ns", REAL, pool_wait_ns),
	VER6("pool_expected_ns", REAL, pool_expected_ns),
	VER6("tail_quantile", REAL, tail_quantile),
	VER6("tail_ns", REAL, tail_ns),
	VER6("tail_carries", REAL, tail_carries),
	VER6("tail_requests", U64, tail_requests),
	VER6("tail_key", TEXT, tail_key),
	VER6("tail_value", TEXT, tail_value),
	VER6("tail_has", U32, tail_has),
	VER6("tail_with", REAL, tail_with),
	VER6("tail_without", REAL, tail_without),
	VER6("tail_p", REAL, tail_p),
	VER6("below_requests", U32, below_requests),
	VER6("below_top", TEXT, below_top),
	VER6("below_states", TEXT, below_states),
	VER6("below_places", TEXT, below_places),
	VER6("below_holders", TEXT, below_holders),
	VER6("below_wakers", TEXT, below_wakers),
	VER6("below_missing", TEXT, below_missing),
	VER6("below_differential", TEXT, below_differential),
	VER7("below_functions", TEXT, below_functions),
	VER7("below_held", TEXT, below_held),
	VER7("new_part", REAL, new_part),
	VER7("new_low", REAL, new_low),
	VER7("ground", U32, ground),
	VER8("pool_low", REAL, pool_low),
};

#define SWI(name, type, member)                                        \
	{                                                              \
		name, type, offsetof(struct switched, member), 1, NULL \
	}
static const struct column switched_columns[] = {
	SWI("run", REF, run),
	SWI("hypothesis", REF, hypothesis),
	SWI("cycle", U32, cycle),
	SWI("\"on\"", FLAG, on),
	SWI("tracepoint", TEXT, tracepoint),
	SWI("why", TEXT, text),
	SWI("when_ns", U64, when.ns),
	{ "reason", U32, offsetof(struct switched, reason), 4, NULL },
	{ "subject", TEXT, offsetof(struct switched, subject), 4, NULL },
};

#define EVI(name, type, member)                                        \
	{                                                              \
		name, type, offsetof(struct evidence, member), 2, NULL \
	}
static const struct column evidence_columns[] = {
	EVI("run", U64, run),
	EVI("hypothesis", U64, hypothesis),
	EVI("trace_high", U64, trace.high),
	EVI("trace_low", U64, trace.low),
	EVI("total_ns", U64, total_ns),
	EVI("edge_ns", U64, edge_ns),
};

#define AUD(name, type, member)                                     \
	{                                                           \
		name, type, offsetof(struct audit, member), 3, NULL \
	}
static const struct column audit_columns[] = {
	AUD("when_ns", U64, when.ns),
	AUD("uid", U64, uid),
	AUD("user", TEXT, user),
	AUD("pid", U64, pid),
	AUD("asked", TEXT, asked),
	AUD("outcome", U32, outcome),
	AUD("run", REF, run),
	AUD("times", U64, times),
	AUD("words", TEXT, text),
	{ "reason", U32, offsetof(struct audit, reason), 4, NULL },
	{ "actor", U32, offsetof(struct audit, actor), 5, BEFORE_5_AUDIT_ACTOR },
	{ "action", U32, offsetof(struct audit, action), 5, BEFORE_5_AUDIT_ACTION },
	{ "node", TEXT, offsetof(struct audit, node), 5, BEFORE_5_AUDIT_NODE },
	{ "count", U32, offsetof(struct audit, count), 5, BEFORE_5_AUDIT_COUNT },
	{ "cause", U32, offsetof(struct audit, cause), 5, NULL },
	{ "queue", U32, offsetof(struct audit, queue), 5, NULL },
	{ "fill", REAL, offsetof(struct audit, fill), 5, NULL },
	{ "types", TEXT, offsetof(struct audit, types), 5, NULL },
};

#define TABLE(name, since, replaces)                                                  \
	{                                                                             \
#name, name##_columns,                                                \
		    sizeof name##_columns / sizeof name##_columns[0], since, replaces \
	}
const struct table_info store_tables[TABLES] = {
	[TABLE_RUN] = TABLE(run, 1, true),
	[TABLE_HYPOTHESIS] = TABLE(hypothesis, 1, true),
	[TABLE_VERDICT] = TABLE(verdict, 2, true),
	[TABLE_SWITCHED] = TABLE(switched, 1, false),
	[TABLE_EVIDENCE] = TABLE(evidence, 2, false),
	[TABLE_AUDIT] = TABLE(audit, 3, false),
};

/* ---- writing ---- */

static void
bind(sqlite3_stmt *q, int i, const struct column *c, const void *row)
{
	const char *at = (const char *)row + c->offset;
	const char *text;

	switch (c->type) {
	case U64:
		sqlite3_bind_int64(q, i, *(const int64_t *)at);
		break;
	case U32:
		sqlite3_bind_int64(q, i, *(const uint32_t *)at);
		break;
	case REF:
		if (*(const uint64_t *)at == 0)
			sqlite3_bind_null(q, i);
		else
			sqlite3_bind_int64(q, i, *(const int64_t *)at);
		break;
	case FLAG:
		sqlite3_bind_int(q, i, *(const bool *)at);
		break;
	case CHAR:
		sqlite3_bind_int(q, i, *(const unsigned char *)at);
		break;
	case REAL:
		sqlite3_bind_double(q, i, *(const double *)at);
		break;
	case TEXT:
		text = *(const char *const *)at;
		sqlite3_bind_text(q, i, text != NULL ? text : "", -1, SQLITE_STATIC);
		break;
	}
}

int
row_put(struct store *s, enum store_table t, const void *row, struct err *e)
{
	const struct table_info *info = &store_tables[t];
	int rc = 0;

	for (unsigned i = 0; i < info->ncolumns; i++)
		bind(s->put[t], (int)i + 1, &info->columns[i], row);
	if (sqlite3_step(s->put[t]) != SQLITE_DONE)
		rc = store_failed(s, database_err(e, s->db, s->path), e);
	sqlite3_reset(s->put[t]);
	return rc;
}

int
row_prepare_put(struct store *s, enum store_table t, struct err *e)
{
	const struct table_info *info = &store_tables[t];
	const struct column *c = info->columns;
	struct buf b = { 0 };
	int rc;

	buf_printf(&b, "INSERT INTO %s (", info->name);
	for (unsigned i = 0; i < info->ncolumns; i++)
		buf_printf(&b, "%s%s", i > 0 ? ", " : "", c[i].name);
	buf_printf(&b, ") VALUES (?");
	for (unsigned i = 1; i < info->ncolumns; i++)
		buf_printf(&b, ", ?");
	buf_printf(&b, ")");
	if (info->replaces)
		buf_printf(&b, " ON CONFLICT (%s) DO UPDATE SET ", c[0].name);
	for (unsigned i = 1; info->replaces && i < info->ncolumns; i++)
		buf_printf(&b, "%s%s = excluded.%s", i > 1 ? ", " : "", c[i].name, c[i].name);
	buf_u8(&b, 0);
	rc = b.failed ? err_set(e, ERR_MEMORY, "%s: out of memory", s->path)
	              : database_prepare(s->db, s->path, (const char *)b.data, &s->put[t], e);
	buf_release(&b);
	return rc;
}

/* ---- reading ---- */

void
row_select(struct buf *b, enum store_table t, int version, const char *more)
{
	const struct table_info *info = &store_tables[t];

	buf_printf(b, "SELECT ");
	for (unsigned i = 0; i < info->ncolumns; i++)
		if (info->columns[i].since <= version)
			buf_printf(b, "%sit.%s", i > 0 ? ", " : "", info->columns[i].name);
		else
			buf_printf(b, "%s%s", i > 0 ? ", " : "",
			    info->columns[i].before != NULL && version > 1 ? info->columns[i].before
									   : "NULL");
	buf_printf(b, "%s FROM %s AS it", more, info->name);
}

static bool
read_column(sqlite3_stmt *q, int i, const struct column *c, void *row)
{
	char *at = (char *)row + c->offset;

	switch (c->type) {
	case U64:
	case REF:
		*(int64_t *)at = sqlite3_column_int64(q, i);
		break;
	case U32:
		*(uint32_t *)at = (uint32_t)sqlite3_column_int64(q, i);
		break;
	case FLAG:
		*(bool *)at = sqlite3_column_int(q, i) != 0;
		break;
	case CHAR:
		*at = (char)sqlite3_column_int(q, i);
		break;
	case REAL:
		*(double *)at = sqlite3_column_type(q, i) == SQLITE_NULL
		                    ? NAN
		                    : sqlite3_column_double(q, i);
		break;
	case TEXT:
		return hypothesis_text((char **)at, (const char *)sqlite3_column_text(q, i));
	}
	return true;
}

void
row_release(enum store_table t, void *row)
{
	const struct table_info *info = &store_tables[t];

	for (unsigned i = 0; i < info->ncolumns; i++)
		if (info->columns[i].type == TEXT)
			free(*(char **)((char *)row + info->columns[i].offset));
}

bool
row_read(sqlite3_stmt *q, enum store_table t, void *row)
{
	const struct table_info *info = &store_tables[t];

	for (unsigned i = 0; i < info->ncolumns; i++)
		if (!read_column(q, (int)i, &info->columns[i], row)) {
			row_release(t, row);
			return false;
		}
	return true;
}

int
row_check(enum store_table t, const union store_row *row, struct err *e)
{
	switch (t) {
	case TABLE_RUN:
		return run_check(&row->run, e);
	case TABLE_HYPOTHESIS:
		return hypothesis_check(&row->hypothesis, e);
	case TABLE_VERDICT:
		return verdict_check(&row->verdict, e);
	case TABLE_SWITCHED:
		return switched_check(&row->switched, e);
	case TABLE_AUDIT:
		return audit_check(&row->audit, e);
	case TABLE_EVIDENCE:
	case TABLES:
		break;
	}
	return 0;
}

int
row_keep(struct forest *f, enum store_table t, void *row, struct err *e)
{
	int rc = 0;

	switch (t) {
	case TABLE_RUN:
		rc = forest_put_run(f, row, e);
		break;
	case TABLE_HYPOTHESIS:
		rc = forest_put(f, row, e);
		break;
	case TABLE_VERDICT:
		rc = forest_put_verdict(f, row, e);
		break;
	case TABLE_SWITCHED:
		rc = forest_put_switched(f, row, e);
		row_release(t, row); /* the forest has copied it */
		return rc;
	case TABLE_EVIDENCE:
		return forest_put_evidence(f, row, e);
	case TABLE_AUDIT:
		rc = forest_put_audit(f, row, e);
		row_release(t, row);
		return rc;
	case TABLES:
		break;
	}
	if (rc < 0)
		row_release(t, row);
	return rc;
}
