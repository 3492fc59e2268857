/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/honed/alerts_receiver.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "controlplane/answers/received_alerts.h"
#include "controlplane/honed/bearer_token.h"

void
alerts_receiver_init(struct alerts_receiver *r, const char *token_path, struct mono now)
{
	*r = (struct alerts_receiver){ .token_path = token_path };
	bucket_init(&r->pace, RECEIVER_PER_SECOND, RECEIVER_BURST, now);
}

static bool
is_json(const char *content_type)
{
	static const char JSON[] = "application/json";
	size_t len = sizeof JSON - 1;

	return content_type != NULL && strncasecmp(content_type, JSON, len) == 0 &&
	       (content_type[len] == '\0' || content_type[len] == ';' || content_type[len] == ' ');
}

static bool
is_too_long(const char *content_length)
{
	char *end;
	unsigned long long n;

	if (content_length == NULL) /* it comes in chunks; the door counts them */
		return false;
	errno = 0;
	n = strtoull(content_length, &end, 10);
	return errno != 0 || *end != '\0' || n > RECEIVED_BYTES_MAX;
}

unsigned
alerts_receiver_admit(
    struct alerts_receiver *r, const struct alerts_post *p, struct mono now, struct err *e)
{
	char token[TOKEN_MOST + 1];

	if (r->token_path[0] == '\0')
		return 404;
	if (strcmp(p->method, "POST") != 0)
		return 405;
	if (bearer_token_read(token, r->token_path, e) < 0)
		return 503;
	if (!bearer_token_is_shown(p->authorization, token))
		return 401;
	if (!is_json(p->content_type))
		return 415;
	if (is_too_long(p->content_length))
		return 413;
	return bucket_wait_ns(&r->pace, now) > 0 ? 429 : 0;
}

unsigned
alerts_receiver_take(
    const struct buf *body, struct engine *g, struct mono now, struct wall when, char **answer)
{
	struct received_alerts *r = malloc(sizeof *r);
	unsigned status = 500;
	json_t *refusal;
	struct err e;
	int rc;

	*answer = NULL;
	if (r == NULL)
		return status;
	rc = received_alerts_read(r, (const char *)body->data, body->len, &e);
	if (rc == 0 && (*answer = received_alerts_start(g, r, now, when)) != NULL)
		status = 200;
	if (rc == ERR_INPUT && (refusal = json_pack("{s:s}", "error", e.text)) != NULL) {
		if ((*answer = json_dumps(refusal, JSON_COMPACT)) != NULL)
			status = 400;
		json_decref(refusal);
	}
	free(r);
	return status;
}
