/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The program of a shard: the partitions of hone.records that Kafka gives it, each with a struct partition_shard, and their rows to hone.rows. It may
 * be killed at any time: where another one begins to read is committed only when the rows before that are in Kafka.
 */
#ifndef CONTROLPLANE_HONED_SHARD_ROLE_H
#define CONTROLPLANE_HONED_SHARD_ROLE_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/err.h"
#include "controlplane/honed/honed_config.h"

struct shard_role;

int shard_role_open(struct shard_role **ret, const struct config *c, struct err *e);
void shard_role_close(struct shard_role *s); /* NULL is fine */
/* Until *stop is set. False: it gave up, with a line in the log; another one goes on. */
bool shard_role_run(struct shard_role *s, const atomic_bool *stop);

#endif
