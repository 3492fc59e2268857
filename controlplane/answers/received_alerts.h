/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Alerts that an Alertmanager tells of by its webhook (version "4" of its message): those that are firing and have a label "type", and
 * perhaps "service", name a request type, of which a diagnosis is started within the limits of diagnoses that alerts start. An alert with
 * the label source="hone" came from here, and starts none.
 */
#ifndef CONTROLPLANE_ANSWERS_RECEIVED_ALERTS_H
#define CONTROLPLANE_ANSWERS_RECEIVED_ALERTS_H

#include <stdint.h>

#include "base/err.h"
#include "controlplane/engine/engine.h"

enum { RECEIVED_BYTES_MAX = 262144, RECEIVED_TYPES_MAX = 16, RECEIVED_NAME_MAX = 511 };

struct received_alerts {
	uint32_t alerts; /* in the message; each is one of the following, or names one of `types` */
	uint32_t resolved, own,
	    unnamed;       /* unnamed: no label "type", or one longer than RECEIVED_NAME_MAX */
	uint32_t left_out; /* of further types than RECEIVED_TYPES_MAX */
	uint32_t ntypes;
	char types[RECEIVED_TYPES_MAX]
		  [RECEIVED_NAME_MAX + 1]; /* "type" or "service/type", each once */
};

/* Reads a message. ERR_INPUT: it is not JSON, of another version, or a field is missing or of another kind; the text says which.
 * ERR_MEMORY. O(len + alerts x RECEIVED_TYPES_MAX). */
int received_alerts_read(
    struct received_alerts *ret, const char *message, size_t len, struct err *e);

/* Starts what may be started. The answer, as JSON, is the caller's to free(): {"alerts", "resolved", "own", "unnamed", "left_out",
 * "types" [{"type", "started", "run"}...]}, started: as in the answer to "alerts", or "unknown-type". NULL: out of memory. */
char *received_alerts_start(
    struct engine *g, const struct received_alerts *r, struct mono now, struct wall when);

#endif
