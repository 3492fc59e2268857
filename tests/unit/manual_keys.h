/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whether a manual page of a configuration file has its keys. Behind cmocka.h. */
#ifndef TESTS_UNIT_MANUAL_KEYS_H
#define TESTS_UNIT_MANUAL_KEYS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/ini_value.h"

/* Fails unless the page, a path from the top of the tree, has an entry for each key and no other: its default, then
 * a description that states the range. */
static void
manual_has_keys(const char *path, const struct ini_key *keys, size_t nkeys)
{
	char *page = calloc(1, 1 << 16), line[256];
	FILE *f = fopen(path, "r");
	unsigned listed = 0;

	if (f == NULL)
		fail_msg("%s: run this in the project's folder", path);
	assert_true(fread(page, 1, (1 << 16) - 1, f) > 0);
	fclose(f);
	for (size_t i = 0; i < nkeys; i++) {
		const struct ini_key *k = &keys[i];
		struct buf range = { 0 };
		char *section, *entry = NULL, *end;

		snprintf(line, sizeof line, "\n.Ss [%s]\n", k->section);
		section = strstr(page, line);
		snprintf(line, sizeof line, "\n.It Cm %s No =%s%s\n", k->name,
		    k->fallback[0] != '\0' ? " Ar " : "", k->fallback);
		if (section == NULL || (entry = strstr(section, line)) == NULL ||
		    ((end = strstr(section + 1, "\n.Ss")) != NULL && entry > end))
			fail_msg("[%s] lacks: %s", k->section, line);
		ini_value_bounds(&range, k);
		buf_u8(&range, 0);
		snprintf(line, sizeof line, "\nRange: %s.\n", (char *)range.data);
		entry++;
		end = strstr(entry + 1, "\n.It");
		if (range.len > 1 && ((section = strstr(entry, line)) == NULL || section > end))
			fail_msg("%s.%s lacks: %s", k->section, k->name, line);
		buf_release(&range);
	}
	for (char *at = page; (at = strstr(at, "\n.It Cm ")) != NULL; at++)
		listed++;
	assert_int_equal(listed, nkeys);
	free(page);
}

#endif
