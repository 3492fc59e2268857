/* SPDX-License-Identifier: GPL-3.0-or-later */
/* news-ads: chooses advertisements, one question after the other. Nothing of it is instrumented. */
#include <pthread.h>
#include <stdio.h>
#include "serve.h"
#include "switches.h"
#include "work.h"

static void
answer(struct message *m)
{
	static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;

	pthread_mutex_lock(&one);
	work_wait(2 + 0.5 * work_chance());
	pthread_mutex_unlock(&one);
	if (work_chance() < 0.25)
		work_wait(30.0 * switch_degree(SWITCH_ads));
	m->number = 3;
	m->length = 60;
	m->op = STATUS_OK;
}

int
main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: news-ads DIR\n");
		return 2;
	}
	return switches_open(argv[1]) != 0 ? 1 : serve(argv[1], "ads", answer);
}
