/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/export/push.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/export/export_formats.h"
#include "cli/export/gzip.h"

struct push {
	struct export_sink sink;
	struct push_options o;
	int (*open_spans)(struct export_sink **ret, FILE *to, struct err *e);
	struct export_sink *batch; /* NULL: none is begun */
	FILE *to;
	char *text;
	size_t len;
	uint64_t spans; /* of the batch */
	bool gone;      /* the back end does not answer: nothing more is tried */
	struct push_answer answer;
};

/* ---- decisions ---- */

enum push_next
push_decide(const struct push_answer *a, int attempt, double random, int *wait_ms)
{
	double wait = PUSH_WAIT_MS * pow(1.5, attempt) * (0.5 + random);

	/* 1. */
	if (a->status >= 200 && a->status < 300)
		return PUSH_DONE;
	/* 3. */
	if ((a->status != 0 && a->status != 429 && a->status != 502 && a->status != 503 &&
		a->status != 504) ||
	    attempt >= PUSH_RETRIES)
		return PUSH_DROP;
	/* 2. */
	if (a->retry_after_s >= 0)
		wait = a->retry_after_s * 1e3;
	if (wait > PUSH_WAIT_MAX_MS)
		return PUSH_DROP;
	*wait_ms = (int)wait;
	return PUSH_AGAIN;
}

uint64_t
push_rejected(const struct push_answer *a, char *why, size_t size)
{
	json_t *answer = json_loadb(a->body, a->len, 0, NULL),
	       *part = json_object_get(answer, "partialSuccess"),
	       *count = json_object_get(part, "rejectedSpans");
	const char *text = json_string_value(json_object_get(part, "errorMessage"));
	uint64_t ret = 0;

	if (json_is_integer(count) && json_integer_value(count) > 0)
		ret = (uint64_t)json_integer_value(count);
	else if (json_is_string(count) && json_string_value(count)[0] != '-')
		ret = strtoull(json_string_value(count), NULL, 10);
	snprintf(why, size, "%s", text != NULL ? text : "");
	json_decref(answer);
	return ret;
}

/* ---- a batch ---- */

/* Keeps the first reason. status 0: there was no answer. */
static void
note(struct push_counts *n, int status, const char *text)
{
	if (n->why[0] != '\0')
		return;
	if (status == 0)
		snprintf(n->why, sizeof n->why, "%s", text);
	else
		snprintf(n->why, sizeof n->why, "the back end answered %d%s%.200s", status,
		    text[0] != '\0' ? ": " : "", text);
}

static void
drop(struct push *p)
{
	const struct push_answer *a = &p->answer;

	p->o.counts->dropped += p->spans;
	p->o.counts->dropped_batches++;
	note(p->o.counts, a->status, a->status == 0 ? a->why : a->body);
	p->gone |= a->status == 0;
}

static void
taken(struct push *p, size_t bytes)
{
	struct push_counts *n = p->o.counts;
	char why[300] = "";
	uint64_t rejected = strcmp(p->o.format, "otlp") == 0
	                        ? push_rejected(&p->answer, why, sizeof why)
	                        : 0;

	if (rejected > p->spans)
		rejected = p->spans;
	n->rejected += rejected;
	n->spans += p->spans - rejected;
	n->batches++;
	n->bytes += bytes;
	if (rejected > 0 || why[0] != '\0')
		note(n, p->answer.status, why);
}

static void
send_bytes(struct push *p, const struct buf *body)
{
	enum push_next next;
	int wait_ms = 0;

	for (int attempt = 0;; attempt++) {
		p->o.calls->post(p->o.connection, body->data, body->len, &p->answer);
		next = push_decide(&p->answer, attempt, p->o.random(p->o.ctx), &wait_ms);
		if (next != PUSH_AGAIN)
			break;
		p->o.counts->retries++;
		p->o.wait(p->o.ctx, wait_ms);
	}
	if (next == PUSH_DONE)
		taken(p, body->len);
	else
		drop(p);
}

/* Ends the batch and sends it. */
static int
flush(struct push *p, struct err *e)
{
	struct buf body = { 0 };
	int rc;

	if (p->batch == NULL)
		return 0;
	rc = p->batch->close(p->batch, e);
	p->batch = NULL;
	if (fclose(p->to) != 0 && rc == 0)
		rc = err_set(e, ERR_MEMORY, "out of memory");
	if (rc == 0 && p->gone) {
		p->o.counts->dropped += p->spans;
		p->o.counts->dropped_batches++;
	} else if (rc == 0 && (rc = gzip_bytes(&body, p->text, p->len, e)) == 0) {
		send_bytes(p, &body);
	}
	buf_release(&body);
	free(p->text);
	p->text = NULL;
	p->spans = 0;
	return rc;
}

static int
begin(struct push *p, struct err *e)
{
	int rc;

	if ((p->to = open_memstream(&p->text, &p->len)) == NULL)
		return err_set(e, ERR_MEMORY, "out of memory");
	if ((rc = p->open_spans(&p->batch, p->to, e)) != 0) {
		fclose(p->to);
		free(p->text);
		p->batch = NULL;
	}
	return rc;
}

static int
put(struct export_sink *s, const struct exported *x, struct err *e)
{
	struct push *p = (struct push *)s;
	int rc = p->batch == NULL ? begin(p, e) : 0;

	if (rc != 0 || (rc = p->batch->put(p->batch, x, e)) != 0)
		return rc;
	p->spans += x->n;
	fflush(p->to); /* sets p->len */
	return p->spans >= PUSH_BATCH_SPANS || p->len >= PUSH_BATCH_BYTES ? flush(p, e) : 0;
}

static int
close_push(struct export_sink *s, struct err *e)
{
	struct push *p = (struct push *)s;
	int rc = flush(p, e);

	free(p);
	return rc;
}

bool
push_knows(const char *format)
{
	return strcmp(format, "otlp") == 0 || strcmp(format, "zipkin") == 0;
}

int
push_open(struct export_sink **ret, const struct push_options *o, struct err *e)
{
	struct push *p = calloc(1, sizeof *p);

	if (p == NULL)
		return err_set(e, ERR_MEMORY, "out of memory");
	p->sink = (struct export_sink){ put, close_push };
	p->o = *o;
	p->open_spans = export_format(o->format)->open;
	*ret = &p->sink;
	return 0;
}

/* ---- the address ---- */

int
push_url(const char **ret, const char *url, const char *format, struct arena *a, struct err *e)
{
	const char *path = strcmp(format, "otlp") == 0 ? "/v1/traces" : "/api/v2/spans", *host,
		   *end;
	size_t len = strlen(url);
	char *own;

	if (strncasecmp(url, "http://", 7) != 0 && strncasecmp(url, "https://", 8) != 0)
		return err_set(e, ERR_INPUT, "must begin with http:// or https://");
	host = strstr(url, "://") + 3;
	end = host + strcspn(host, "/?#");
	if (end == host)
		return err_set(e, ERR_INPUT, "has no host");
	for (const char *c = url; *c != '\0'; c++)
		if ((unsigned char)*c <= ' ' || *c == 0x7f)
			return err_set(e, ERR_INPUT, "has a blank or a control character");
	if (*end == '\0' || (*end == '/' && end[1] == '\0')) {
		len = (size_t)(end - url);
	} else {
		path = "";
	}
	if ((own = arena_alloc(a, len + strlen(path) + 1)) == NULL)
		return err_set(e, ERR_MEMORY, "out of memory");
	memcpy(own, url, len);
	memcpy(own + len, path, strlen(path) + 1);
	*ret = own;
	return 0;
}

static int
digit_of(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
	                              : -1;
}

/* "name=value" to "name: value". NULL: malformed. */
static char *
header_line(const char *s, size_t len, char *line)
{
	size_t n = 0, i = 0;

	for (; i < len && s[i] != '='; i++)
		if (!isalnum((unsigned char)s[i]) && strchr("!#$&'*+-.^_`|~", s[i]) == NULL)
			return NULL;
		else
			line[n++] = s[i];
	if (n == 0 || i == len)
		return NULL;
	line[n++] = ':';
	line[n++] = ' ';
	for (i++; i < len; i++) {
		unsigned char c = (unsigned char)s[i];

		if (c == '%') {
			if (i + 2 >= len || digit_of(s[i + 1]) < 0 || digit_of(s[i + 2]) < 0)
				return NULL;
			c = (unsigned char)(digit_of(s[i + 1]) * 16 + digit_of(s[i + 2]));
			i += 2;
		}
		if (c < ' ' || c == 0x7f)
			return NULL;
		line[n++] = (char)c;
	}
	line[n] = '\0';
	return line;
}

int
push_headers(
    const char *ret[PUSH_HEADERS_MAX + 1], const char *list, struct arena *a, struct err *e)
{
	uint32_t n = 0;

	for (const char *s = list; *s != '\0';) {
		size_t len = strcspn(s, ",");
		const char *end = s + len;
		char *line;

		while (len > 0 && (*s == ' ' || *s == '\t')) {
			s++;
			len--;
		}
		while (len > 0 && (s[len - 1] == ' ' || s[len - 1] == '\t'))
			len--;
		if (len > 0) {
			if (n == PUSH_HEADERS_MAX)
				return err_set(
				    e, ERR_INPUT, "has more than %d headers", PUSH_HEADERS_MAX);
			if ((line = arena_alloc(a, len + 3)) == NULL)
				return err_set(e, ERR_MEMORY, "out of memory");
			if ((ret[n++] = header_line(s, len, line)) == NULL)
				return err_set(e, ERR_INPUT,
				    "header %u is malformed: must be name=value,name=value with %%XX for special bytes",
				    n);
		}
		s = *end == ',' ? end + 1 : end;
	}
	ret[n] = NULL;
	return 0;
}
