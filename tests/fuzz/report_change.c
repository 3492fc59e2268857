/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two documents, separated by a byte 0, as a baseline and a report: refused with a message, or
 * compared; then the result is JSON that can be written, and its lists are within their limits. */
#include <stdlib.h>
#include <string.h>

#include "report/change.h"
#include "report/document.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
must(int ok)
{
	if (!ok)
		abort();
}

static void
bounded(const json_t *j, size_t most)
{
	const char *key;
	json_t *v;
	size_t i;

	json_object_foreach ((json_t *)(uintptr_t)j, key, v)
		bounded(v, most);
	must(!json_is_array(j) || json_array_size(j) <= most);
	json_array_foreach (j, i, v)
		bounded(v, most);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *cut = size > 0 ? memchr(data, 0, size) : NULL;
	size_t first = cut != NULL ? (size_t)(cut - data) : size;
	json_t *now = json_loadb((const char *)data, first, JSON_REJECT_DUPLICATES, NULL);
	json_t *then = cut != NULL ? json_loadb((const char *)cut + 1, size - first - 1,
					 JSON_REJECT_DUPLICATES, NULL)
	                           : json_incref(now);
	struct change_options o = { .list_max = 5 };
	struct err e = { 0 };
	json_t *change;
	char *text;

	if (now != NULL && then != NULL && document_check(now, "now", &e) == 0 &&
	    document_check(then, "then", &e) == 0) {
		change = change_json(now, then, "then", &o, &e);
		must(change != NULL || e.text[0] != '\0');
		if (change != NULL) {
			text = json_dumps(change, 0);
			must(text != NULL);
			bounded(change, size + 64);
			free(text);
		}
		json_decref(change);
	}
	json_decref(now);
	json_decref(then);
	return 0;
}
