/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The load of threads that requests wait for, from the history of threads: how much of the time they
 * are held, how long, and how long a request is expected to wait for them. Requests that are not
 * recorded are missing: with a sample of them the utilisation is too low, and so is the expected wait.
 */
#ifndef ANALYSIS_THREAD_LOAD_H
#define ANALYSIS_THREAD_LOAD_H

#include "analysis/thread_history.h"

struct thread_load {
	uint32_t threads;   /* that ended one of the waits ... */
	uint32_t processes; /* ... in so many processes */
	uint64_t jobs;      /* times that one of them was held */
	double utilisation; /* share of the time that they were held, 0..1 */
	double joining;    /* share of that in which the unit waited for another one to end, 0..1 */
	double service_ns; /* how long, mean ... */
	double service_cv; /* ... and coefficient of variation */
	double wait_ns; /* mean of the waits, less the shortest one: it is the way to the thread */
	double expected_ns; /* thread_load_expected_ns(); INFINITY: the threads are always held */
	/* The utilisation and expected_ns if no job were long: THREAD_JOB_LONG times the median of those that begin with the same
	 * label, or more. */
	double usual_utilisation, usual_expected_ns;
};

#define THREAD_JOB_LONG 4
#define THREAD_JOB_BETWEEN 2

/*
 * The mean time that a job waits for one of `threads` threads, by the approximation of Allen and
 * Cunneen for queues of several servers with arrivals at random times (Allen, Probability, Statistics
 * and Queueing Theory, 1990, section 5.3.6):
 *
 *	W = W(M/M/c) (1 + cv^2) / 2
 *
 * with W(M/M/c) = utilisation^(sqrt(2 (c + 1)) - 1) / (c (1 - utilisation)) service (Sakasegawa, Annals
 * of the Institute of Statistical Mathematics 29, 1977). For one thread it is the formula of Pollaczek and Khinchine.
 * INFINITY: the utilisation is 1 or more. threads > 0.
 */
double thread_load_expected_ns(
    double threads, double utilisation, double service_ns, double service_cv);

/*
 * The load of the threads that ended these waits.
 *
 * 1. A thread is held by a unit between two successive events of the thread that are of this unit.
 * 2. Where units take turns on a thread (an event loop: one event in twenty or more resumes a unit after
 *    another one had the thread), a unit that waits for a join does not hold it.
 * 3. A job is the time that a thread is held by one unit without another one between. Of that the unit waits for another one where the
 *    later event is a join, until the last event of that other one. (All of this time, where the other one is not known.)
 * 4. A long job would usually take the median of those that begin with the same label, if more of these are long than take THREAD_JOB_BETWEEN times the
 *    median and are not long. Else their times vary from one to the next, and none is of another kind.
 *
 * All zeroes: no wait, or no job. The time that counts is that of the history's events. O(n log n) with n
 * the events of the history. Uses the arena. ERR_MEMORY.
 */
int thread_load_of(struct thread_load *ret, const struct thread_history *h,
    const struct thread_wait *waits, uint32_t nwaits, struct arena *a, struct err *e);

#endif
