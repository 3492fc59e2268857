/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A server with a queue and a fixed number of workers. Each question is a unit of its request, which begins when a worker
 * takes it: the time between the asker's fork and the unit is the time in the queue. */
#ifndef NEWS_POOL_H
#define NEWS_POOL_H

#include "message.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { POOL_WORKERS_MAX = 16 };

/* Answers *m in place. `worker` is the number of the worker, from 0; `queued` how many questions waited behind this one. */
typedef void pool_answer(struct message *m, int worker, int queued);

struct pool_service {
	const char *dir, *name; /* of the socket */
	int workers;
	const char *(*unit_name)(uint32_t op);
	pool_answer *answer;
};

/* Serves until the process is ended. Returns the exit status if it cannot begin. */
int pool_serve(const struct pool_service *s);

#ifdef __cplusplus
}
#endif
#endif
