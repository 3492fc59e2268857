/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agent/main/kernel_gateways.h"

#include <string.h>

int
kernel_list_read(
    const char *list, struct arena *a, const char **ret, uint32_t *n, uint32_t max, struct err *e)
{
	for (const char *at = list + strspn(list, ", \t"); *at != '\0'; at += strspn(at, ", \t")) {
		size_t len = strcspn(at, ", \t");

		if (*n == max)
			return err_set(e, ERR_INPUT, "at most %u items", max);
		if ((ret[*n] = arena_text(a, at, len)) == NULL)
			return err_set(e, ERR_MEMORY, "out of memory");
		(*n)++;
		at += len;
	}
	return 0;
}

int
kernel_gateways_read(struct gateways **ret, const char *list, struct err *e)
{
	struct gateways *g = gateways_new();
	const char *items[GATEWAYS_MAX];
	struct arena a = { 0 };
	uint32_t n = 0;
	int rc = g == NULL ? err_set(e, ERR_MEMORY, "out of memory")
	                   : kernel_list_read(list, &a, items, &n, GATEWAYS_MAX, e);

	for (uint32_t i = 0; i < n && rc == 0; i++)
		rc = gateways_add(g, items[i], e);
	arena_release(&a);
	if (rc != 0)
		gateways_free(g);
	else
		*ret = g;
	return rc;
}
