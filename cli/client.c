/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/client.h"

#include <stdlib.h>
#include <string.h>

#include "base/stream.h"
#include "wire/frame.h"
#include "wire/question.h"

enum { TRIES = 4 };

struct client {
	struct stream *stream;
	bool unheard; /* the last refusal says that nothing was read */
	const char *url;
	int timeout_ms;
};

static const char *
dial_advice(int code)
{
	switch (code) {
	case ERR_DENIED:
		return " (root has access; operators.look and operators.diagnose in honed.conf give it to others)";
	case ERR_TIMEOUT:
		return "";
	default:
		return " (start it with honed -d, or give its socket by --socket URL)";
	}
}

int
client_open(struct client **ret, const char *url, int timeout_ms, struct err *e)
{
	struct client *c = calloc(1, sizeof *c);
	struct err why;

	if (c == NULL)
		return err_set(e, ERR_MEMORY, "out of memory");
	c->url = url;
	c->timeout_ms = timeout_ms;
	if (stream_dial(&c->stream, url, timeout_ms, &why) < 0) {
		free(c);
		return err_set(e, ERR_PEER, "%s%s", why.text, dial_advice(why.code));
	}
	*ret = c;
	return 0;
}

void
client_close(struct client *c)
{
	if (c == NULL)
		return;
	stream_close(c->stream);
	free(c);
}

static int
send_question(struct client *c, const char *text, struct err *e)
{
	uint8_t header[FRAME_HEADER_BYTES];
	int rc;

	frame_seal(header, FRAME_ASK, 0, text, strlen(text));
	if ((rc = stream_write(c->stream, header, sizeof header, c->timeout_ms, e)) < 0)
		return rc;
	return stream_write(c->stream, text, strlen(text), c->timeout_ms, e);
}

/* Returns the payload of the next frame, 0-terminated, for the caller to free; NULL with *e set. */
static char *
receive(struct client *c, struct frame *f, struct err *e)
{
	uint8_t header[FRAME_HEADER_BYTES];
	char *text;

	if (stream_read(c->stream, header, sizeof header, c->timeout_ms, e) < 0 ||
	    frame_open(f, header, e) < 0)
		return NULL;
	if ((text = malloc((size_t)f->length + 1)) == NULL) {
		err_set(e, ERR_MEMORY, "out of memory for an answer of %u bytes", f->length);
		return NULL;
	}
	if ((f->length > 0 && stream_read(c->stream, text, f->length, c->timeout_ms, e) < 0) ||
	    frame_check(f, header, text, e) < 0) {
		free(text);
		return NULL;
	}
	text[f->length] = '\0';
	return text;
}

static int
read_answer(struct client *c, char **text, struct frame *f, struct err *e)
{
	int rc;

	if ((*text = receive(c, f, e)) == NULL) {
		if (e->code == ERR_TIMEOUT)
			err_set(e, ERR_TIMEOUT,
			    "no answer within %.3g s; honed is busy or hangs: raise --timeout, or see its log",
			    c->timeout_ms / 1e3);
		return err_prefix(e, "%s", c->url);
	}
	if (f->kind == FRAME_ANSWER)
		return 0;
	c->unheard = f->kind == FRAME_REFUSE && strcmp(*text, REFUSED_UNHEARD) == 0;
	if (f->kind == FRAME_REFUSE)
		rc = err_set(e, ERR_PEER, "%s: honed refuses: %.300s", c->url, *text);
	else
		rc = err_set(e, ERR_INPUT,
		    "%s: received a frame %s instead of an answer; is this the operators' socket of honed?",
		    c->url, frame_kind_name(f->kind));
	free(*text);
	return rc;
}

static int
check_answer(json_t *answer, struct err *e)
{
	const char *reason = json_string_value(json_object_get(answer, "error"));
	json_int_t version = json_integer_value(json_object_get(answer, "version"));

	if (!json_is_object(answer))
		return err_set(e, ERR_INPUT, "the answer of honed is not a JSON object");
	if (version != ANSWER_VERSION)
		return err_set(e, ERR_VERSION,
		    "honed answers in version %d, this hone reads version %d; install the same version of both",
		    (int)version, ANSWER_VERSION);
	if (json_is_true(json_object_get(answer, "ok")))
		return 0;
	return err_set(
	    e, ERR_PEER, "%s", reason != NULL ? reason : "honed refused without a reason");
}

/* Sends the text and reads the answer to it. */
static int
ask_once(struct client *c, const char *text, char **answer, struct err *e)
{
	struct err unsent = { 0 };
	struct frame f;
	int rc;

	c->unheard = false;
	/* honed may close a refused connection before the question is sent; its reason can still be
	 * read then. */
	rc = send_question(c, text, &unsent);
	if (read_answer(c, answer, &f, e) == 0)
		return 0;
	if (rc < 0 && e->code != ERR_PEER)
		*e = unsent;
	return e->code;
}

static int
dial_again(struct client *c, struct err *e)
{
	stream_close(c->stream);
	c->stream = NULL;
	return stream_dial(&c->stream, c->url, c->timeout_ms, e);
}

int
client_ask(struct client *c, const json_t *question, json_t **answer, struct err *e)
{
	char *text = json_dumps(question, JSON_COMPACT), *got = NULL;
	json_error_t trouble;
	int rc;

	*answer = NULL;
	if (text == NULL)
		return err_set(e, ERR_MEMORY, "out of memory");
	rc = c->stream != NULL ? 0
	                       : dial_again(c, e); /* an earlier question could not be sent again */
	if (rc == 0)
		rc = ask_once(c, text, &got, e);
	for (int i = 1; rc < 0 && c->unheard && i < TRIES; i++)
		if ((rc = dial_again(c, e)) == 0)
			rc = ask_once(c, text, &got, e);
		else
			c->unheard = false;
	free(text);
	if (rc < 0)
		return rc;
	*answer = json_loads(got, JSON_REJECT_DUPLICATES, &trouble);
	free(got);
	if (*answer == NULL)
		return err_set(e, ERR_INPUT, "the answer of honed is malformed JSON (line %d: %s)",
		    trouble.line, trouble.text);
	return check_answer(*answer, e);
}
