/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any JSON as a request: each format is written without a fault, the JSON ones are JSON, and an answer of a back end is read. */
#include <stdlib.h>
#include <string.h>

#include "cli/export/export_formats.h"
#include "cli/export/push.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
must(int ok)
{
	if (!ok)
		abort();
}

static void
write_as(const struct export_format *f, const struct exported *x)
{
	bool json = strcmp(f->name, "folded") != 0 && strcmp(f->name, "pprof") != 0;
	struct export_sink *s;
	char *text;
	size_t len;
	FILE *to = open_memstream(&text, &len);
	struct err e;
	json_t *back;

	must(to != NULL && f->open(&s, to, &e) == 0 && s->put(s, x, &e) == 0 &&
	     s->close(s, &e) == 0);
	fclose(to);
	if (json) {
		back = json_loadb(text, len, JSON_ALLOW_NUL, NULL);
		must(back != NULL);
		json_decref(back);
	}
	free(text);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct push_answer answer;
	json_t *request = json_loadb((const char *)data, size, JSON_ALLOW_NUL, NULL);
	struct exported x;
	char why[64];
	struct err e;

	if (size <= PUSH_BODY_MAX) {
		answer.len = size;
		memcpy(answer.body, data, size);
		answer.body[size] = '\0';
		push_rejected(&answer, why, sizeof why);
	}
	if (request == NULL)
		return 0;
	if (exported_of(&x, request, &e) == 0)
		for (const struct export_format *f = export_formats; f->name != NULL; f++)
			write_as(f, &x);
	exported_release(&x);
	json_decref(request);
	return 0;
}
