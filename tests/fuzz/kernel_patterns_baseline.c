/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any JSON as a baseline of states: refused with a message, or read; then it is written and read again, and an operation is compared with it. */
#include <stdlib.h>
#include <string.h>

#include "kernel/patterns/states_json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
must(int ok)
{
	if (!ok)
		abort();
}

/* One operation of each place, whatever its type. */
static void
measure_all(const struct states_baseline *b)
{
	static struct state_run runs[] = { { 5000, 1, 0, BELOW_RUNNING, false },
		{ 700000, 3, 0, BELOW_DISK, false }, { 9000, 1, 2, BELOW_RUNNING, false } };
	struct operation_states o = { .runs = runs, .n = 3 };

	for (uint32_t i = 0; i < b->ntypes; i++)
		for (uint32_t k = 0; k < b->types[i].nplaces; k++) {
			const struct states_place *p = &b->types[i].places[k];
			double *x = calloc((size_t)p->limits.nmeasures + 1, sizeof *x);

			must(x != NULL);
			if (p->limits.samples > 0)
				states_measures(x, NULL, p, b->gap_max, &o);
			for (uint32_t m = 0; m < p->limits.nmeasures; m++)
				limit_outside(&p->limits, m, states_scaled(x[m], p, m));
			free(x);
		}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	json_t *document = json_loadb((const char *)data, size, JSON_REJECT_DUPLICATES, NULL),
	       *back;
	struct states_baseline *b = NULL, *again = NULL;
	struct err e = { 0 };
	int rc;

	if (document == NULL)
		return 0;
	rc = states_read(&b, document, "input", &e);
	must((rc == 0) == (b != NULL));
	must(rc == 0 || ((rc == ERR_INPUT || rc == ERR_VERSION) && e.text[0] != '\0'));
	if (rc == 0) {
		measure_all(b);
		back = states_json(b, NULL);
		must(back != NULL && states_read(&again, back, "again", &e) == 0);
		must(again->ntypes == b->ntypes);
		states_baseline_free(again);
		json_decref(back);
	}
	states_baseline_free(b);
	json_decref(document);
	return 0;
}
