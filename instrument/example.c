/* SPDX-License-Identifier: MIT */
/* hone-example [requests]: each request hands its work to another thread and waits for the result. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "instrument/hone.h"
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "instrument/example_tp.h"

struct example_job {
	struct hone_carrier carrier; /* handed over with the work */
	int rounds;
	unsigned int sum;
};

static void *
work(void *arg)
{
	struct example_job *job = arg;

	hone_unit_begin(&job->carrier, "sum");
	lttng_ust_tracepoint(example, work_begin, job->rounds);
	for (int i = 0; i < job->rounds; i++)
		job->sum = job->sum * 31 + (unsigned int)i;
	lttng_ust_tracepoint(example, work_end, job->sum);
	hone_unit_end();
	return NULL;
}

static int
serve(int rounds)
{
	struct example_job job = { .rounds = rounds };
	pthread_t worker;

	hone_request_begin("GET_SUM", NULL);
	hone_fork("sum", &job.carrier);
	if (pthread_create(&worker, NULL, work, &job) != 0) {
		hone_request_end(500);
		return -1;
	}
	pthread_join(worker, NULL);
	hone_join(&job.carrier, "sum");
	hone_request_end(200);
	return 0;
}

int
main(int argc, char **argv)
{
	int wanted = argc > 1 ? atoi(argv[1]) : 10, served = 0;

	for (int i = 0; i < wanted; i++)
		served += serve(1000 * (i % 7 + 1)) == 0;
	printf("%d requests served\n", served);
	return served == wanted ? 0 : 1;
}
