/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A gate: the side of honed that agents connect to, where several honed share the work (docs/scale.md).
 *
 *	agents --> records --> their node's clock to the log's time base --> split by trace id --> hone.records
 *	           statuses, programs, clocks, ... --> hone.events --> decider
 *	agents <-- desired states, keeps <----------- hone.orders <-- decider
 *
 * A batch is acknowledged when Kafka has it in all its partitions. Until then the agent keeps it, and sends it again to this gate or to
 * another one; records that are twice in the log are found by the shard. While more than 32 MiB wait for Kafka, no mail is taken, so that
 * the agents' own queues fill.
 */
#ifndef CONTROLPLANE_HONED_GATE_ROLE_H
#define CONTROLPLANE_HONED_GATE_ROLE_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/err.h"
#include "controlplane/honed/honed_config.h"

struct gate_role;

/* As honed_open(), without a database. Errors of kafka_link_open(), too. */
int gate_role_open(struct gate_role **ret, const struct config *c, struct err *e);
void gate_role_close(struct gate_role *g); /* NULL is fine */
/* Until *stop is set. */
void gate_role_run(struct gate_role *g, const atomic_bool *stop);

#endif
