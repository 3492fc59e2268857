/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/engine/rules.h"

#include <stdlib.h>
#include <string.h>

#define BLANKS " \t"

/* The items of a list, in a copy of the text; *list stays NULL if it is empty. */
static bool
split(char **copy, const char ***list, const char *text, const char *between)
{
	size_t n = 0;
	char *rest;

	if (text == NULL || text[strspn(text, between)] == '\0')
		return true;
	if ((*copy = strdup(text)) == NULL ||
	    (*list = calloc(strlen(text) / 2 + 2, sizeof **list)) == NULL)
		return false;
	for (char *word = strtok_r(*copy, between, &rest); word != NULL;
	     word = strtok_r(NULL, between, &rest))
		(*list)[n++] = word;
	return true;
}

int
rules_init(struct rules *r, const char *ignore, const char *bins, const char *deep, struct err *e)
{
	int rc = 0;

	*r = (struct rules){ 0 };
	if (!split(&r->texts[0], &r->ignore, ignore, BLANKS) ||
	    !split(&r->texts[1], &r->bins, bins, BLANKS) ||
	    !split(&r->texts[2], &r->deep, deep, BLANKS ",") ||
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
	free(r->deep);
	for (size_t i = 0; i < sizeof r->texts / sizeof r->texts[0]; i++)
		free(r->texts[i]);
	*r = (struct rules){ 0 };
}
