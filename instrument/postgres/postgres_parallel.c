/* SPDX-License-Identifier: MIT */
#include "postgres.h"

#include "access/parallel.h"
#include "miscadmin.h"
#include "nodes/nodes.h"
#include "port/atomics.h"
#include "storage/ipc.h"
#include "storage/proc.h"
#include "storage/shmem.h"

#include "instrument/hone.h"
#include "instrument/postgres/postgres_parallel.h"
#include "instrument/postgres/postgres_spans.h"

enum { TEAM_MAX = 16, PLAN_DEEP_MAX = 64 };

/* The links of a leader, one struct for each backend in shared memory. Its leader writes it while it has
 * no workers; workers increment `taken`. */
struct team {
	pg_atomic_uint32 taken;
	uint32 nlinks;
	struct hone_carrier links[TEAM_MAX];
};

static struct team *teams;
static struct team *leading; /* of this process, while workers may take links; else NULL */
static int leading_depth;
static bool working; /* this process is a worker with a unit */
static shmem_request_hook_type request_before;
static shmem_startup_hook_type startup_before;

static Size
teams_bytes(void)
{
	return mul_size(MaxBackends, sizeof(struct team));
}

static void
on_shmem_request(void)
{
	if (request_before != NULL)
		request_before();
	RequestAddinShmemSpace(teams_bytes());
}

static void
on_shmem_startup(void)
{
	bool found;

	if (startup_before != NULL)
		startup_before();
	teams = ShmemInitStruct("hone_postgres", teams_bytes(), &found);
	if (found)
		return;
	memset(teams, 0, teams_bytes());
	for (int i = 0; i < MaxBackends; i++)
		pg_atomic_init_u32(&teams[i].taken, 0);
}

void
parallel_init(void)
{
	request_before = shmem_request_hook;
	shmem_request_hook = on_shmem_request;
	startup_before = shmem_startup_hook;
	shmem_startup_hook = on_shmem_startup;
}

static struct team *
team_of(const PGPROC *leader)
{
	ptrdiff_t number = leader != NULL ? leader - ProcGlobal->allProcs : -1;

	return teams != NULL && number >= 0 && number < MaxBackends ? &teams[number] : NULL;
}

/* The number of workers of the Gather nodes in the left and right subtrees of a plan. */
static int
workers_planned(const Plan *plan, int deep)
{
	int n = 0;

	if (plan == NULL || deep > PLAN_DEEP_MAX)
		return 0;
	if (IsA(plan, Gather))
		n = ((const Gather *)plan)->num_workers;
	else if (IsA(plan, GatherMerge))
		n = ((const GatherMerge *)plan)->num_workers;
	return n + workers_planned(plan->lefttree, deep + 1) +
	       workers_planned(plan->righttree, deep + 1);
}

static int
workers_of(const PlannedStmt *plan)
{
	int n = workers_planned(plan->planTree, 0);
	ListCell *cell;

	foreach(cell, plan->subplans) n += workers_planned(lfirst(cell), 0);
	return Min(n, TEAM_MAX);
}

void
parallel_fork(const PlannedStmt *plan, int depth)
{
	struct team *t;

	if (leading != NULL && depth <= leading_depth)
		leading = NULL; /* the earlier run ended in an error */
	if (!plan->parallelModeNeeded || leading != NULL || hone_trace_id() == 0 ||
	    IsParallelWorker())
		return;
	t = team_of(MyProc);
	if (t == NULL)
		return;
	pg_atomic_write_u32(&t->taken, 0);
	t->nlinks = workers_of(plan);
	for (uint32 i = 0; i < t->nlinks; i++)
		hone_fork("worker", &t->links[i]);
	leading = t;
	leading_depth = depth;
	pg_memory_barrier(); /* the workers, which are started afterwards, read the links */
}

void
parallel_join(int depth)
{
	uint32 taken;

	if (leading == NULL || depth != leading_depth)
		return;
	taken = pg_atomic_read_u32(&leading->taken);
	for (uint32 i = 0; i < taken && i < leading->nlinks; i++)
		hone_join(&leading->links[i], "worker");
	leading->nlinks = 0;
	leading = NULL;
}

static void
on_exit_end(int code, Datum arg)
{
	(void)code, (void)arg;
	spans_end();
	parallel_end();
}

void
parallel_begin(void)
{
	struct team *t = IsParallelWorker() && !working ? team_of(MyProc->lockGroupLeader) : NULL;
	uint32 i;

	if (t == NULL || t->nlinks == 0)
		return;
	i = pg_atomic_fetch_add_u32(&t->taken, 1);
	if (i >= t->nlinks)
		return;
	before_shmem_exit(on_exit_end, (Datum)0); /* an error ends the worker's process */
	hone_unit_begin(&t->links[i], "worker");
	working = true;
}

void
parallel_end(void)
{
	if (working)
		hone_unit_end();
	working = false;
}
