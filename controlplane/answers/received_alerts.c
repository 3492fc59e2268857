/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/answers/received_alerts.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "controlplane/answers/answer_inside.h"

/* "type" or "service/type" of the labels; false: there is none, or it is too long. */
static bool
name_of(char name[RECEIVED_NAME_MAX + 1], const json_t *labels)
{
	const char *type = json_string_value(json_object_get(labels, "type"));
	const char *service = json_string_value(json_object_get(labels, "service"));
	int len;

	if (type == NULL || type[0] == '\0')
		return false;
	if (service == NULL || service[0] == '\0')
		len = snprintf(name, RECEIVED_NAME_MAX + 1, "%s", type);
	else
		len = snprintf(name, RECEIVED_NAME_MAX + 1, "%s/%s", service, type);
	return len > 0 && len <= RECEIVED_NAME_MAX;
}

static void
note_type(struct received_alerts *r, const char *name)
{
	for (uint32_t i = 0; i < r->ntypes; i++)
		if (strcmp(r->types[i], name) == 0)
			return;
	if (r->ntypes == RECEIVED_TYPES_MAX)
		r->left_out++;
	else
		strcpy(r->types[r->ntypes++], name);
}

static int
read_alert(struct received_alerts *r, const json_t *alert, struct err *e)
{
	const json_t *labels = json_object_get(alert, "labels");
	const char *status = json_string_value(json_object_get(alert, "status"));
	const char *source = json_string_value(json_object_get(labels, "source"));
	char name[RECEIVED_NAME_MAX + 1];
	bool firing = status != NULL && strcmp(status, "firing") == 0;

	if (!firing && (status == NULL || strcmp(status, "resolved") != 0))
		return err_set(
		    e, ERR_INPUT, "an alert's \"status\" is neither firing nor resolved");
	if (!json_is_object(labels))
		return err_set(e, ERR_INPUT, "an alert's \"labels\" are no object");
	r->alerts++;
	if (!firing)
		r->resolved++;
	else if (source != NULL && strcmp(source, "hone") == 0)
		r->own++;
	else if (!name_of(name, labels))
		r->unnamed++;
	else
		note_type(r, name);
	return 0;
}

static int
read_message(struct received_alerts *r, const json_t *message, struct err *e)
{
	const char *version = json_string_value(json_object_get(message, "version"));
	const json_t *alerts = json_object_get(message, "alerts");
	int rc = 0;

	if (version == NULL || strcmp(version, "4") != 0)
		return err_set(e, ERR_INPUT,
		    "it is no message of an Alertmanager's webhook, with \"version\" \"4\"");
	if (!json_is_array(alerts))
		return err_set(e, ERR_INPUT, "\"alerts\" is no list");
	for (size_t i = 0; i < json_array_size(alerts) && rc == 0; i++)
		rc = read_alert(r, json_array_get(alerts, i), e);
	return rc;
}

int
received_alerts_read(struct received_alerts *ret, const char *message, size_t len, struct err *e)
{
	json_error_t why;
	json_t *j = json_loadb(message, len, 0, &why);
	int rc;

	*ret = (struct received_alerts){ 0 };
	if (j == NULL && json_error_code(&why) == json_error_out_of_memory)
		return err_set(e, ERR_MEMORY, "out of memory");
	if (j == NULL)
		return err_set(e, ERR_INPUT, "byte %d: %s", why.position, why.text);
	rc = read_message(ret, j, e);
	json_decref(j);
	return rc;
}

static json_t *
start_one(struct engine *g, const char *name, struct mono now, struct wall when)
{
	struct engine_parts *p = engine_parts(g);
	const char *started = "unknown-type";
	struct request_type *type;
	uint64_t run = 0;
	struct err e;

	if (request_types_find(&p->types, p->labels, name, &type, &e) == 0)
		started = self_start_word(
		    engine_self_start(g, type->label, REASON_ALERTMANAGER, now, when, &run));
	return json_pack("{s:o, s:s, s:o}", "type", answer_text(name), "started", started, "run",
	    answer_number_id(run));
}

char *
received_alerts_start(
    struct engine *g, const struct received_alerts *r, struct mono now, struct wall when)
{
	json_t *types = json_array(), *answer;
	char *text;

	for (uint32_t i = 0; i < r->ntypes; i++)
		json_array_append_new(types, start_one(g, r->types[i], now, when));
	answer = json_pack("{s:I, s:I, s:I, s:I, s:I, s:o}", "alerts", (json_int_t)r->alerts,
	    "resolved", (json_int_t)r->resolved, "own", (json_int_t)r->own, "unnamed",
	    (json_int_t)r->unnamed, "left_out", (json_int_t)r->left_out, "types", types);
	text = answer != NULL ? json_dumps(answer, JSON_COMPACT) : NULL;
	json_decref(answer);
	return text;
}
