/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/rules.h"

#include <stdlib.h>
#include <string.h>

#define BLANKS " \t"

/* The words of a text, cut in place; *list stays NULL where there are none. */
static bool
split(char **copy, const char ***list, const char *text)
{
	size_t n = 0;
	char *rest;

	if (text == NULL || text[strspn(text, BLANKS)] == '\0')
		return true;
	if ((*copy = strdup(text)) == NULL || (*list = calloc(strlen(text) / 2 + 2, sizeof **list)) == NULL)
		return false;
	for (char *word = strtok_r(*copy, BLANKS, &rest); word != NULL; word = strtok_r(NULL, BLANKS, &rest))
		(*list)[n++] = word;
	return true;
}

int
rules_init(struct rules *r, const char *ignore, const char *bins, struct err *e)
{
	int rc = 0;

	*r = (struct rules){ 0 };
	if (!split(&r->texts[0], &r->ignore, ignore) || !split(&r->texts[1], &r->bins, bins) ||
	    (r->bins != NULL && (r->made = bins_new()) == NULL))
		return err_set(e, ERR_MEMORY, "no memory for rules of labels");
	for (const char **rule = r->bins; rule != NULL && *rule != NULL && rc == 0; rule++)
		rc = bins_add(r->made, *rule, e);
	return rc;
}

void
rules_release(struct rules *r)
{
	bins_free(r->made);
	free(r->ignore);
	free(r->bins);
	free(r->texts[0]);
	free(r->texts[1]);
	*r = (struct rules){ 0 };
}
