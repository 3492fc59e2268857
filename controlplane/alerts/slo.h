/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Service level objectives: of a request type, so large a part of the requests has to take at most so long. An alert begins where the
 * part that may fail in 30 days is being used up too fast, over a long window and over a twelfth of it, which says that it goes on
 * (Beyer et al., The Site Reliability Workbook, 2018, ch. 5, "Multiwindow, Multi-Burn-Rate Alerts": 1 h and 5 min at 14.4 times the
 * rate that lasts 30 days, 6 h and 30 min at 6, 3 d and 6 h at 1). Pure.
 */
#ifndef CONTROLPLANE_ALERTS_SLO_H
#define CONTROLPLANE_ALERTS_SLO_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

enum { SLO_NAME_MAX = 255, SLO_MINUTES = 3 * 24 * 60, SLO_FAILURES_MIN = 10 };

struct slo {
	char name[SLO_NAME_MAX + 1]; /* of the request type, or "service/name" */
	int64_t limit_ns;
	double goal; /* the part of the requests that takes at most limit_ns; above 0, below 1 */
};

/* Rules "NAME<TIME:SHARE", separated by blanks: "CHECKOUT<200ms:99.9%". *ret: the caller's to free(), NULL for none. ERR_INPUT: names
 * the rule that is wrong; ERR_MEMORY. O(length). */
int slo_rules(struct slo **ret, uint32_t *n, const char *text, struct err *e);

struct slo_counts { /* of the newest minutes, a ring; all zeroes is empty */
	uint32_t requests[SLO_MINUTES], failures[SLO_MINUTES];
	uint32_t next, n;
};

/* Adds a minute. O(1). */
void slo_counts_add(struct slo_counts *c, uint32_t requests, uint32_t failures);

struct slo_burn {
	bool firing;
	uint32_t long_minutes; /* of the pair that fires, or of the first one */
	double rate,
	    limit; /* of the long window: times the rate that uses up the goal in 30 days */
	uint64_t failures, requests; /* of the long window */
};

/* The first pair of windows in which both rates are at least their limit, the long one with SLO_FAILURES_MIN failures or more (else
 * a few requests of a type with little traffic would be an alert). Minutes before the first one count as minutes without failures, with as many requests. O(minutes of the longest window). */
struct slo_burn slo_burn_of(const struct slo_counts *c, double goal);

#endif
