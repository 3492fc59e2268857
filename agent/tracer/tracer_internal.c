/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agent/tracer/tracer_internal.h"

#include <stddef.h>
#include <string.h>

bool
is_tracer_internal(const char *name)
{
	static const char *const helpers[] = { "lttng_ust_libc:", "lttng_ust_pthread:",
		"lttng_ust_dl:", "lttng_ust_cyg_profile:", "lttng_ust_cyg_profile_fast:" };

	if (strncmp(name, "lttng_", 6) != 0)
		return false;
	for (size_t i = 0; i < sizeof helpers / sizeof helpers[0]; i++)
		if (strncmp(name, helpers[i], strlen(helpers[i])) == 0)
			return false;
	return true;
}
