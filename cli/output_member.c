/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Members of JSON objects, for the printers. */
#include "cli/output.h"

#include <string.h>

const char *
text_of(struct pen *p, const json_t *o, const char *key)
{
	return pen_clean(p, json_string_value(json_object_get(o, key)));
}

double
number_of(const json_t *o, const char *key)
{
	return json_number_value(json_object_get(o, key));
}

bool
is_true(const json_t *o, const char *key)
{
	return json_is_true(json_object_get(o, key));
}

bool
is_null(const json_t *o, const char *key)
{
	const json_t *v = json_object_get(o, key);

	return v == NULL || json_is_null(v);
}

const char *
event_of(const char *label)
{
	const char *colon = strchr(label, ':'), *slash = colon;

	while (slash != NULL && slash > label && slash[-1] != '/')
		slash--;
	return slash != NULL ? slash : label;
}
