/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/alerts/slo.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/ini_value.h"

/* ---- rules ---- */

static const struct ini_key slo_keys[] = {
	{ "", "time", INI_TIME, offsetof(struct slo, limit_ns), NULL, 1, 3600e9, "" },
	{ "", "share", INI_SHARE, offsetof(struct slo, goal), NULL, 0.5, 0.99999, "" },
};

static int
slo_rule(struct slo *s, const char *text, size_t len, struct err *e)
{
	const char *colon = NULL, *less = NULL;
	struct err why;

	*s = (struct slo){ .goal = 0 };
	for (size_t i = len; i-- > 0 && less == NULL;) {
		if (text[i] == ':' && colon == NULL)
			colon = text + i;
		else if (text[i] == '<' && colon != NULL)
			less = text + i;
	}
	if (less == NULL || less == text || (size_t)(less - text) > SLO_NAME_MAX)
		return err_set(e, ERR_INPUT,
		    "%.*s: an objective looks like CHECKOUT<200ms:99.9%%, its name has at most %d bytes",
		    (int)(len < 80 ? len : 80), text, SLO_NAME_MAX);
	memcpy(s->name, text, (size_t)(less - text));
	if (ini_value_set(&slo_keys[0], s, (struct piece){ less + 1, (size_t)(colon - less - 1) },
		&why) < 0 ||
	    ini_value_set(&slo_keys[1], s,
		(struct piece){ colon + 1, (size_t)(text + len - colon - 1) }, &why) < 0)
		return err_set(
		    e, ERR_INPUT, "%.*s: %s", (int)(len < 80 ? len : 80), text, why.text);
	return 0;
}

int
slo_rules(struct slo **ret, uint32_t *n, const char *text, struct err *e)
{
	struct slo *rules = NULL;
	uint32_t cap = 0;
	int rc = 0;

	*n = 0;
	while (*(text += strspn(text, " \t")) != '\0' && rc == 0) {
		size_t len = strcspn(text, " \t");

		if (!array_reserve(rules, cap, *n + 1))
			rc = err_set(e, ERR_MEMORY, "out of memory");
		else if ((rc = slo_rule(&rules[*n], text, len, e)) == 0)
			(*n)++;
		text += len;
	}
	if (rc < 0) {
		free(rules);
		rules = NULL;
		*n = 0;
	}
	*ret = rules;
	return rc;
}

/* ---- burn ---- */

void
slo_counts_add(struct slo_counts *c, uint32_t requests, uint32_t failures)
{
	c->requests[c->next] = requests;
	c->failures[c->next] = failures;
	c->next = (c->next + 1) % SLO_MINUTES;
	if (c->n < SLO_MINUTES)
		c->n++;
}

static void
newest(const struct slo_counts *c, uint32_t minutes, uint64_t *requests, uint64_t *failures)
{
	*requests = *failures = 0;
	for (uint32_t i = 1; i <= minutes && i <= c->n; i++) {
		uint32_t at = (c->next + SLO_MINUTES - i) % SLO_MINUTES;

		*requests += c->requests[at];
		*failures += c->failures[at];
	}
}

/* Of the newest `minutes`, of which `known` were counted. */
static double
burn_rate(uint64_t requests, uint64_t failures, double goal, uint32_t minutes, uint32_t known)
{
	double part = known < minutes ? (double)known / minutes : 1;

	return requests > 0 ? part * (double)failures / (double)requests / (1 - goal) : 0;
}

struct slo_burn
slo_burn_of(const struct slo_counts *c, double goal)
{
	static const struct {
		uint32_t minutes;
		double limit;
	} pairs[] = { { 60, 14.4 }, { 360, 6 }, { SLO_MINUTES, 1 } };
	struct slo_burn b, first = { .firing = false };

	for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
		uint64_t requests, failures;

		b = (struct slo_burn){ .long_minutes = pairs[i].minutes, .limit = pairs[i].limit };
		newest(c, pairs[i].minutes, &b.requests, &b.failures);
		newest(c, pairs[i].minutes / 12, &requests, &failures);
		b.rate = burn_rate(b.requests, b.failures, goal, pairs[i].minutes, c->n);
		b.firing = b.rate >= b.limit && b.failures >= SLO_FAILURES_MIN &&
		           burn_rate(requests, failures, goal, pairs[i].minutes / 12, c->n) >=
		               b.limit;
		if (b.firing)
			return b;
		if (i == 0)
			first = b;
	}
	return first;
}
