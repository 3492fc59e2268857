/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/call.h"

#include <string.h>

#include "cli/client.h"

/* ---- errors ---- */

enum exit_code
call_misused(struct invocation *c, const char *what, const char *why, const char *best)
{
	const char *of = c->command != NULL ? c->command->name : "";

	fprintf(c->err->out, "hone: %s: %s; ", pen_clean(c->err, what), why);
	if (best != NULL)
		fprintf(c->err->out, "did you mean %s?\n", best);
	else
		fprintf(c->err->out, "see hone %s%s--help\n", of, of[0] != '\0' ? " " : "");
	return MISUSED;
}

enum exit_code
call_either(struct invocation *c, enum flag a, enum flag b)
{
	if (c->value[a] == NULL || c->value[b] == NULL)
		return DONE;
	return call_misused(c, flag_texts[a].name,
	    pen_printf(c->err, "cannot be combined with %s", flag_texts[b].name), NULL);
}

/* ---- asking ---- */

enum exit_code
call_failed(struct invocation *c, const struct err *e)
{
	const char *type = c->type != NULL ? c->type : "", *text = e->text;
	size_t len = strlen(type);

	/* the text of honed may begin with the type; print it once */
	if (len > 0 && strncmp(text, type, len) == 0 && strncmp(text + len, ": ", 2) == 0)
		text += len + 2;
	fprintf(c->err->out, "hone: %s%s%s: %s\n", c->command->name, len > 0 ? " " : "",
	    pen_clean(c->err, type), pen_clean(c->err, text));
	return FAILED;
}

int
call_connect(struct invocation *c, struct client **client, struct err *e)
{
	return client_open(client, c->value[FLAG_SOCKET], c->timeout_ms, e);
}

/* With --json a refusal of honed is printed as it came, since it is an answer for programs, too. */
int
call_ask(
    struct invocation *c, struct client *client, json_t *question, json_t **answer, struct err *e)
{
	int rc = question == NULL ? err_set(e, ERR_INPUT, "the arguments are not UTF-8")
	                          : client_ask(client, question, answer, e);

	json_decref(question);
	if (rc < 0 && question != NULL && *answer != NULL) {
		if (c->output == &output_json)
			output_json.status(c->out, *answer);
		json_decref(*answer);
		*answer = NULL;
	}
	return rc;
}

int
call_ask_once(struct invocation *c, json_t *question, json_t **answer, struct err *e)
{
	struct client *client = NULL;
	int rc;

	*answer = NULL;
	if ((rc = call_connect(c, &client, e)) < 0)
		json_decref(question);
	else
		rc = call_ask(c, client, question, answer, e);
	client_close(client);
	return rc;
}

enum exit_code
call_ask_and_print(
    struct invocation *c, json_t *question, void (*print)(struct pen *p, const json_t *answer))
{
	json_t *answer;
	struct err e;

	if (call_ask_once(c, question, &answer, &e) < 0)
		return call_failed(c, &e);
	(c->value[FLAG_JSON] != NULL ? output_json.status : print)(c->out, answer);
	json_decref(answer);
	return DONE;
}

size_t
call_memory_bytes(const struct invocation *c, bool keeps_states)
{
	enum { STATES_MIB = 1024 };
	bool usual = c->value[FLAG_MEMORY] == NULL && keeps_states;

	return (size_t)(usual ? STATES_MIB : c->number[FLAG_MEMORY]) << 20;
}

int
call_write(struct invocation *c, const char *path, const struct buf *text, struct err *e)
{
	bool here = strcmp(path, "-") == 0;
	FILE *f = here ? c->out->out : fopen(path, "w");
	int rc = 0;

	if (f == NULL || fwrite(text->data, 1, text->len, f) != text->len || fflush(f) != 0)
		rc = err_errno(e, "%s: cannot be written", path);
	if (f != NULL && !here && fclose(f) != 0 && rc == 0)
		rc = err_errno(e, "%s: cannot be written", path);
	return rc;
}
