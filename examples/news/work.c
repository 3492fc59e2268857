/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "work.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

void
work_wait(double ms)
{
	struct timespec t = { (time_t)(ms / 1e3), (long)(ms * 1e6) % 1000000000 };

	while (ms > 0 && nanosleep(&t, &t) != 0 && errno == EINTR)
		;
}

void
work_queue(int line, double mean_ms)
{
	static pthread_mutex_t lines[WORK_LINES] = { [0 ... WORK_LINES -
							 1] = PTHREAD_MUTEX_INITIALIZER };
	double takes = fmin(-log(1 - work_chance()), 5) * mean_ms;

	pthread_mutex_lock(&lines[line]);
	work_wait(takes);
	pthread_mutex_unlock(&lines[line]);
}

static double
thread_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

void
work_compute(double ms)
{
	double until = thread_ms() + ms;

	while (thread_ms() < until)
		work_hash(&until, sizeof until, 1000);
}

double
work_chance(void)
{
	static atomic_uint_fast64_t threads;
	static _Thread_local uint64_t state;

	if (state == 0)
		state = UINT64_C(0x9e3779b97f4a7c15) * (atomic_fetch_add(&threads, 1) + 1);
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (double)(state >> 11) * 0x1p-53;
}

uint64_t
work_hash(const void *bytes, size_t n, int rounds)
{
	const unsigned char *b = bytes;
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (int r = 0; r < rounds; r++)
		for (size_t i = 0; i < n; i++)
			h = (h ^ b[i]) * UINT64_C(0x100000001b3);
	return h;
}
