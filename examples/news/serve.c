/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve.h"

#include <pthread.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

static void (*answer_by)(struct message *m);

static void *
converse(void *arg)
{
	int fd = (int)(intptr_t)arg;
	struct message m;

	while (message_receive(fd, &m) == 1) {
		answer_by(&m);
		if (message_send(fd, &m) != 0)
			break;
	}
	close(fd);
	return NULL;
}

int
serve(const char *dir, const char *name, void (*answer)(struct message *m))
{
	int listener = message_listen(dir, name), fd;
	pthread_t t;

	answer_by = answer;
	if (listener < 0)
		return 1;
	while ((fd = accept(listener, NULL, NULL)) >= 0) {
		if (pthread_create(&t, NULL, converse, (void *)(intptr_t)fd) != 0)
			break;
		pthread_detach(t);
	}
	perror(name);
	return 1;
}
