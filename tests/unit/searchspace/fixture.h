/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An empty space with labels of its own, new for each test. */
#ifndef TESTS_SEARCHSPACE_FIXTURE_H
#define TESTS_SEARCHSPACE_FIXTURE_H

#include <stdlib.h>

#include "searchspace/space.h"

struct fixture {
	struct labels *labels;
	struct space *space;
};

static inline int
fixture_make(void **state)
{
	struct fixture *f = calloc(1, sizeof *f);

	f->labels = labels_new();
	f->space = space_new(f->labels);
	*state = f;
	return 0;
}

static inline int
fixture_free(void **state)
{
	struct fixture *f = *state;

	space_free(f->space);
	labels_free(f->labels);
	free(f);
	return 0;
}

#endif
