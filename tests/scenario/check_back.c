/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * check_back FOLDER [unit]: four threads that do work which check_front sends to FOLDER/back.
 *
 *	unit	the mistake: a unit does not end
 *
 * With PLAIN defined it is a program without instrumentation.
 */
#include <pthread.h>

#include "tests/scenario/check_message.h"
#include "tests/scenario/program.h"
#ifndef PLAIN
#include "instrument/hone.h"
#endif

enum { THREADS = 4 };

static const char *folder, *mistake = "";
static int inbox;

static void *
work(void *arg)
{
	struct check_message m;

	(void)arg;
	while (recv(inbox, &m, sizeof m, 0) == sizeof m) {
#ifndef PLAIN
		struct hone_carrier carrier;

		memcpy(&carrier, m.carrier, sizeof carrier);
		hone_unit_begin(&carrier, "work");
#endif
		wait_us(m.work_us);
#ifndef PLAIN
		if (strcmp(mistake, "unit") != 0)
			hone_unit_end();
#endif
		check_send(inbox, folder, "front", &m);
	}
	return NULL;
}

int
main(int argc, char **argv)
{
	pthread_t threads[THREADS];

	if (argc < 2)
		return 2;
	folder = argv[1];
	mistake = argc > 2 ? argv[2] : "";
	inbox = check_socket(folder, "back");
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, work, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
