/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/always_on_path.h"

int
always_on_path_extract(struct always_on_path *ret, const struct trace *t,
    const struct labels *labels, struct bins *bins, struct arena *a, struct err *e)
{
	const struct label_set none = { 0 };
	int rc = critpath_extract(&ret->path, t, labels, &none, a, e);

	if (rc != 0)
		return rc;
	bins_apply(bins, t, labels, &ret->path);
	return shape_of(&ret->shape, &ret->path, labels, a, e);
}
