/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The live page by HTTP. libmicrohttpd has a thread of its own here, which reads, checks and writes; honed's thread answers:
 *
 *	browser --> web thread --> waiting questions, at most WAITING_MAX --> honed's thread: questions_answer() --> a process: reports
 *	browser <-- web thread <-- answers; states of the feed, at most one a topic <--'                                      |
 *	           '-------------- a file <----------------------------------------------------------------------------------'
 *
 * The two share what `lock` protects, and hold it to queue or to copy 16 KiB at most, so that honed never waits for a browser. A
 * connection that waits for honed's thread, or for the process, is suspended.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <microhttpd.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/hash.h"
#include "base/listen_address.h"
#include "controlplane/honed/door.h"
#include "controlplane/honed/limited_log.h"
#include "controlplane/honed/long_answers.h"
#include "controlplane/web/web_access.h"
#include "controlplane/web/web_document.h"
#include "controlplane/web/web_feed.h"
#include "controlplane/web/web_files.h"
#include "controlplane/web/web_request.h"
#include "report/document.h"

#define MS_NS INT64_C(1000000)

enum {
	CONNECTIONS_MAX = 96,
	CONNECTION_BYTES = 32768, /* of the headers of a request */
	SILENT_S = 30,
	STREAMS_MAX = 48,
	STREAMS_OF_SESSION = 6, /* as many connections as a browser opens to a host */
	STREAMS_OF_USER = 12,
	WAITING_MAX = 32,
	UNREAD_OF_USER = 12, /* questions of a user that wait, or whose answers are not read yet */
	BODY_MAX = 65536,    /* as of an ASK frame */
	BLOCK_BYTES = 16384,
	ANSWERED_AT_ONCE = 4,
	ANSWER_MS = 20,  /* of one step, at most, before a question that began in it */
	BEAT_MS = 15000, /* a line without content, by which a connection that is gone is noticed */
	EXPIRE_MS = 1000,
	FIRST_AGE_MS = 5000, /* of a state that a page begins with, at most */
	STATE_PART = 50,     /* making states of a topic takes at most 1/50 of honed's thread */
	REFUSAL_MAX = 4096   /* longer answers are no refusals */
};

enum phase { READING, WAITING, ANSWERED };

struct web_asked {
	struct MHD_Connection *connection;
	struct web_asked *next; /* that waits */
	struct buf body;
	bool too_large;
	enum phase phase;
	struct who who;
	char *answer; /* NULL: out of memory, or honed ends; or it is in `file` */
	int file;     /* -1: none */
};

struct asked_list {
	struct web_asked *first, **last;
};

struct web_stream { /* of server-sent events */
	struct web_door *door;
	struct MHD_Connection *connection;
	struct web_stream *next, *before;
	uint64_t session, after; /* numbers: of the session, and of the last state that was begun */
	int uid;                 /* of the session's user */
	struct web_text *text;   /* that is being written, from `at` on; or NULL */
	size_t at;
	bool greeted, beat, suspended;
};

struct web_door {
	const struct config *config;
	struct questions *questions;
	struct listen_address address;
	const char *socket; /* path; NULL: an address */
	char url[INET6_ADDRSTRLEN + 48];
	struct MHD_Daemon *daemon; /* NULL: closed */
	/* of honed's thread */
	struct mono due[WEB_TOPIC_COUNT], beat, expired;
	/* of the web thread */
	struct web_first first;
	/* of both threads */
	pthread_mutex_t lock;
	struct web_access access;
	struct web_feed feed;
	struct mono made[WEB_TOPIC_COUNT]; /* when the feed's states were made */
	struct asked_list waiting;
	unsigned int nwaiting, nstreams;
	struct web_asked
	    *unread[CONNECTIONS_MAX]; /* questions that wait, or whose answers are not read yet */
	struct web_stream *streams;
	bool closing;
	pthread_mutex_t log_lock;
	struct limited_log log;
};

/* ---- lists ---- */

static void
list_add(struct asked_list *l, struct web_asked *r)
{
	r->next = NULL;
	if (l->first == NULL)
		l->last = &l->first;
	*l->last = r;
	l->last = &r->next;
}

/* NULL: it is empty. */
static struct web_asked *
list_take(struct asked_list *l)
{
	struct web_asked *r = l->first;

	if (r != NULL)
		l->first = r->next;
	return r;
}

/* ---- responses, in the web thread ---- */

static enum MHD_Result
respond(struct MHD_Connection *c, unsigned int status, struct MHD_Response *r, const char *type)
{
	const struct {
		const char *name, *value;
	} headers[] = {
		{ "Content-Security-Policy", web_page_policy() },
		{ "X-Content-Type-Options", "nosniff" },
		{ "Referrer-Policy", "no-referrer" },
		{ "Cross-Origin-Opener-Policy", "same-origin" },
		{ "Cross-Origin-Resource-Policy", "same-origin" },
		{ MHD_HTTP_HEADER_CACHE_CONTROL, "no-store" },
	};
	enum MHD_Result ok;

	if (r == NULL)
		return MHD_NO;
	for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++)
		MHD_add_response_header(r, headers[i].name, headers[i].value);
	MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	if (status == MHD_HTTP_SERVICE_UNAVAILABLE || status == MHD_HTTP_TOO_MANY_REQUESTS)
		MHD_add_response_header(r, MHD_HTTP_HEADER_RETRY_AFTER, "1");
	ok = MHD_queue_response(c, status, r);
	MHD_destroy_response(r);
	return ok;
}

/* text: of this program, for good. */
static enum MHD_Result
refuse(struct MHD_Connection *c, unsigned int status, const char *text)
{
	return respond(c, status,
	    MHD_create_response_from_buffer(
		strlen(text), (void *)(uintptr_t)text, MHD_RESPMEM_PERSISTENT),
	    "text/plain; charset=utf-8");
}

static enum MHD_Result
refuse_headers(struct MHD_Connection *c, unsigned int status)
{
	switch (status) {
	case 421:
		return refuse(c, status, "this page is served as localhost only\n");
	case MHD_HTTP_FORBIDDEN:
		return refuse(c, status, "requests of other sites are refused\n");
	default:
		return refuse(c, status, "only application/json\n");
	}
}

static enum MHD_Result
refuse_stranger(struct MHD_Connection *c)
{
	static const char page[] =
	    "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"color-scheme\" content=\"light dark\">"
	    "<title>Hone: no session</title><h1>No session</h1><p>Run <code>hone web</code>, and open the link that it prints: it is "
	    "valid once, for 60 s.</p></html>\n";

	return respond(c, MHD_HTTP_UNAUTHORIZED,
	    MHD_create_response_from_buffer(
		sizeof page - 1, (void *)(uintptr_t)page, MHD_RESPMEM_PERSISTENT),
	    "text/html; charset=utf-8");
}

static enum MHD_Result
refuse_method(struct MHD_Connection *c, const char *allowed)
{
	static const char text[] = "not this method\n";
	struct MHD_Response *r = MHD_create_response_from_buffer(
	    sizeof text - 1, (void *)(uintptr_t)text, MHD_RESPMEM_PERSISTENT);

	if (r != NULL)
		MHD_add_response_header(r, MHD_HTTP_HEADER_ALLOW, allowed);
	return respond(c, MHD_HTTP_METHOD_NOT_ALLOWED, r, "text/plain; charset=utf-8");
}

static const char *
header(struct MHD_Connection *c, const char *name)
{
	return MHD_lookup_connection_value(c, MHD_HEADER_KIND, name);
}

/* ---- sessions ---- */

static bool
draw(uint8_t random[WEB_RANDOM])
{
	return getrandom(random, WEB_RANDOM, 0) == WEB_RANDOM;
}

/* The number of the session of the request, and its user; 0: it has none. */
static uint64_t
session_of(struct web_door *d, struct MHD_Connection *c, int port, int *uid)
{
	char token[WEB_TOKEN];
	struct web_session *s;
	uint64_t number = 0;

	if (!web_cookie_token(header(c, MHD_HTTP_HEADER_COOKIE), port, token))
		return 0;
	pthread_mutex_lock(&d->lock);
	if ((s = web_session_of(&d->access, token, clock_mono())) != NULL) {
		number = s->grant.number;
		*uid = s->grant.uid;
	}
	pthread_mutex_unlock(&d->lock);
	return number;
}

/* Who the page belongs to, as JSON from malloc(); NULL: out of memory. */
static char *
session_text(const struct who *who)
{
	json_t *j = json_pack("{s:o, s:s, s:s}", "user", text_json(who->user, strlen(who->user)),
	    "role", role_word(who->role), "version", HONE_VERSION);
	char *text = json_dumps(j, JSON_COMPACT);

	json_decref(j);
	return text;
}

static enum MHD_Result
tell_session(struct MHD_Connection *c, const struct who *who)
{
	char *text = session_text(who);

	if (text == NULL)
		return refuse(c, MHD_HTTP_INTERNAL_SERVER_ERROR, "no text for the user\n");
	return respond(c, MHD_HTTP_OK,
	    MHD_create_response_from_buffer(strlen(text), text, MHD_RESPMEM_MUST_FREE),
	    "application/json");
}

static void wake_streams(struct web_door *d, bool beat);

static enum MHD_Result
log_out(struct web_door *d, struct MHD_Connection *c, uint64_t session)
{
	struct web_session *s;

	pthread_mutex_lock(&d->lock);
	if ((s = web_session_numbered(&d->access, session)) != NULL)
		web_session_end(s);
	wake_streams(d, false);
	pthread_mutex_unlock(&d->lock);
	return refuse(c, MHD_HTTP_OK, "the session has ended\n");
}

/* ---- questions ---- */

/* With the lock. NULL: the question waits; else why it does not. */
static const char *
queue_question(struct web_door *d, struct web_asked *r, uint64_t session, unsigned int *status)
{
	struct web_session *s = web_session_numbered(&d->access, session);
	struct web_asked **place = NULL;
	unsigned int own = 0;

	*status = MHD_HTTP_SERVICE_UNAVAILABLE;
	if (d->closing || s == NULL)
		return "honed ends\n";
	for (int i = 0; i < CONNECTIONS_MAX; i++)
		if (d->unread[i] == NULL)
			place = &d->unread[i];
		else
			own += d->unread[i]->who.uid == r->who.uid;
	if (d->nwaiting >= WAITING_MAX || place == NULL || own >= UNREAD_OF_USER)
		return "too many questions wait\n";
	if (bucket_wait_ns(web_pace_of(&d->access, s), clock_mono()) > 0) {
		*status = MHD_HTTP_TOO_MANY_REQUESTS;
		return "more questions than operators.questions_per_second\n";
	}
	*place = r;
	MHD_suspend_connection(r->connection);
	r->phase = WAITING;
	list_add(&d->waiting, r);
	d->nwaiting++;
	return NULL;
}

static enum MHD_Result
ask(struct web_door *d, struct web_asked *r, uint64_t session)
{
	unsigned int status;
	const char *why;

	if (r->too_large || r->body.failed)
		return refuse(r->connection, MHD_HTTP_CONTENT_TOO_LARGE, "at most 64 KiB\n");
	pthread_mutex_lock(&d->lock);
	why = queue_question(d, r, session, &status);
	pthread_mutex_unlock(&d->lock);
	return why == NULL ? MHD_YES : refuse(r->connection, status, why);
}

static unsigned int
status_of(const char *answer, size_t len)
{
	static const struct {
		const char *code;
		unsigned int status;
	} codes[] = { { "denied", MHD_HTTP_FORBIDDEN }, { "busy", MHD_HTTP_CONFLICT },
		{ "input", MHD_HTTP_BAD_REQUEST }, { "missing", MHD_HTTP_NOT_FOUND } };
	unsigned int status = MHD_HTTP_OK;
	const char *code;
	json_t *a;

	if (len > REFUSAL_MAX || (a = json_loadb(answer, len, 0, NULL)) == NULL)
		return status;
	if (json_is_false(json_object_get(a, "ok"))) {
		status = MHD_HTTP_INTERNAL_SERVER_ERROR;
		code = json_string_value(json_object_get(a, "code"));
		for (size_t i = 0; code != NULL && i < sizeof codes / sizeof codes[0]; i++)
			if (strcmp(codes[i].code, code) == 0)
				status = codes[i].status;
	}
	json_decref(a);
	return status;
}

/* An answer of the process. */
static enum MHD_Result
give_answer_file(struct web_asked *r)
{
	struct MHD_Response *response;
	unsigned int status = MHD_HTTP_OK;
	char text[REFUSAL_MAX];
	struct stat is;

	if (fstat(r->file, &is) < 0 ||
	    (is.st_size <= REFUSAL_MAX &&
		pread(r->file, text, (size_t)is.st_size, 0) != is.st_size))
		return refuse(
		    r->connection, MHD_HTTP_INTERNAL_SERVER_ERROR, "the answer is lost\n");
	if (is.st_size <= REFUSAL_MAX)
		status = status_of(text, (size_t)is.st_size);
	if ((response = MHD_create_response_from_fd64((uint64_t)is.st_size, r->file)) == NULL)
		return MHD_NO;
	r->file = -1; /* the response's */
	return respond(r->connection, status, response, "application/json");
}

static enum MHD_Result
give_answer(struct web_asked *r)
{
	struct MHD_Response *response;
	unsigned int status;
	size_t len;

	if (r->file >= 0)
		return give_answer_file(r);
	if (r->answer == NULL)
		return refuse(r->connection, MHD_HTTP_SERVICE_UNAVAILABLE,
		    "honed ends, or cannot make this answer now\n");
	len = strlen(r->answer);
	status = status_of(r->answer, len);
	if ((response = MHD_create_response_from_buffer(len, r->answer, MHD_RESPMEM_MUST_FREE)) ==
	    NULL)
		return MHD_NO;
	r->answer = NULL;
	return respond(r->connection, status, response, "application/json");
}

/* ---- streams ---- */

/* With the lock. */
static void
wake_streams(struct web_door *d, bool beat)
{
	for (struct web_stream *s = d->streams; s != NULL; s = s->next) {
		s->beat = s->beat || beat;
		if (s->suspended)
			MHD_resume_connection(s->connection);
		s->suspended = false;
	}
}

static ssize_t
copy(char *to, size_t max, const char *from, size_t len)
{
	size_t n = len < max ? len : max;

	memcpy(to, from, n);
	return (ssize_t)n;
}

/* With the lock. What the stream is to write next; 0: nothing. */
static ssize_t
stream_next(struct web_stream *s, char *to, size_t max)
{
	static const char hello[] = "retry: 1000\n\n", beat[] = ":\n\n";
	ssize_t n;

	if (!s->greeted) {
		s->greeted = true;
		return copy(to, max, hello, sizeof hello - 1);
	}
	if (s->text == NULL)
		s->text = web_feed_next(&s->door->feed, &s->after);
	if (s->text == NULL) {
		n = s->beat ? copy(to, max, beat, sizeof beat - 1) : 0;
		s->beat = false;
		return n;
	}
	n = copy(to, max, s->text->data + s->at, s->text->len - s->at);
	s->at += (size_t)n;
	if (s->at == s->text->len) {
		web_text_unref(s->text);
		s->text = NULL;
		s->at = 0;
	}
	return n;
}

static ssize_t
read_stream(void *of, uint64_t position, char *to, size_t max)
{
	struct web_stream *s = of;
	struct web_door *d = s->door;
	ssize_t n = MHD_CONTENT_READER_END_OF_STREAM;
	struct who who;

	(void)position;
	roles_who(d->questions->roles, s->uid, -1, clock_mono(), &who);
	pthread_mutex_lock(&d->lock);
	if (!d->closing && who.role >= ROLE_LOOK &&
	    web_session_numbered(&d->access, s->session) != NULL &&
	    (n = stream_next(s, to, max)) == 0) {
		s->suspended = true;
		MHD_suspend_connection(s->connection);
	}
	pthread_mutex_unlock(&d->lock);
	return n;
}

static void
close_stream(void *of)
{
	struct web_stream *s = of;
	struct web_door *d = s->door;
	struct web_session *session;

	pthread_mutex_lock(&d->lock);
	if (s->before != NULL)
		s->before->next = s->next;
	else
		d->streams = s->next;
	if (s->next != NULL)
		s->next->before = s->before;
	d->nstreams--;
	if ((session = web_session_numbered(&d->access, s->session)) != NULL)
		session->streams--;
	web_text_unref(s->text);
	pthread_mutex_unlock(&d->lock);
	free(s);
}

/* With the lock. The open streams of a user. */
static unsigned int
streams_of(const struct web_door *d, int uid)
{
	unsigned int n = 0;

	for (int i = 0; i < WEB_SESSIONS_MAX; i++)
		if (d->access.sessions[i].grant.number != 0 &&
		    d->access.sessions[i].grant.uid == uid)
			n += d->access.sessions[i].streams;
	return n;
}

/* With the lock. Whether there is room for another stream, which then counts. */
static bool
add_stream(struct web_door *d, struct web_stream *s)
{
	struct web_session *session = web_session_numbered(&d->access, s->session);

	if (d->closing || session == NULL || d->nstreams >= STREAMS_MAX ||
	    session->streams >= STREAMS_OF_SESSION ||
	    streams_of(d, session->grant.uid) >= STREAMS_OF_USER)
		return false;
	session->streams++;
	d->nstreams++;
	s->next = d->streams;
	if (s->next != NULL)
		s->next->before = s;
	d->streams = s;
	return true;
}

static enum MHD_Result
open_stream(struct web_door *d, struct MHD_Connection *c, uint64_t session, int uid)
{
	struct web_stream *s = calloc(1, sizeof *s);
	uint64_t instance, number;
	struct MHD_Response *r;
	bool added;

	if (s == NULL)
		return MHD_NO;
	*s = (struct web_stream){ .door = d, .connection = c, .session = session, .uid = uid };
	pthread_mutex_lock(&d->lock);
	if (web_event_id(header(c, "Last-Event-ID"), &instance, &number))
		s->after = web_feed_after(&d->feed, instance, number);
	added = add_stream(d, s);
	pthread_mutex_unlock(&d->lock);
	if (!added) {
		free(s);
		return refuse(c, MHD_HTTP_SERVICE_UNAVAILABLE,
		    "too many pages are open; close one, or use fewer tabs\n");
	}
	r = MHD_create_response_from_callback(
	    MHD_SIZE_UNKNOWN, BLOCK_BYTES, read_stream, s, close_stream);
	if (r == NULL) {
		close_stream(s);
		return MHD_NO;
	}
	return respond(c, MHD_HTTP_OK, r, "text/event-stream");
}

/* ---- requests ---- */

static enum web_method
method_of(const char *method)
{
	return strcmp(method, MHD_HTTP_METHOD_GET) == 0    ? WEB_GET
	       : strcmp(method, MHD_HTTP_METHOD_POST) == 0 ? WEB_POST
	                                                   : WEB_OTHER;
}

static enum MHD_Result
give_document(struct MHD_Connection *c, const struct web_piece *const *pieces, int n,
    const char *type, const char *cookie)
{
	bool packed = web_takes_gzip(header(c, MHD_HTTP_HEADER_ACCEPT_ENCODING));
	struct MHD_Response *r;
	size_t len;
	char *text = web_document(pieces, n, packed, &len);

	if (text == NULL)
		return MHD_NO;
	r = MHD_create_response_from_buffer(len, text, MHD_RESPMEM_MUST_FREE);
	if (r != NULL && packed)
		MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_ENCODING, "gzip");
	if (r != NULL && cookie != NULL)
		MHD_add_response_header(r, MHD_HTTP_HEADER_SET_COOKIE, cookie);
	return respond(c, MHD_HTTP_OK, r, type);
}

/* The piece of the topic's newest state; NULL: it has none, or an old one, which is not shown as new. */
static const struct web_piece *
first_piece(struct web_door *d, enum web_topic topic, struct mono now)
{
	const struct web_piece *p = NULL;
	struct web_text *state = NULL;

	pthread_mutex_lock(&d->lock);
	if (mono_since_ns(now, d->made[topic]) <= FIRST_AGE_MS * MS_NS)
		state = web_feed_newest(&d->feed, topic);
	pthread_mutex_unlock(&d->lock);
	if (state == NULL)
		return NULL;
	p = web_first_piece(&d->first, topic, d->feed.instance, state);
	pthread_mutex_lock(&d->lock);
	web_text_unref(state);
	pthread_mutex_unlock(&d->lock);
	return p;
}

#define MAY_NOT_LOOK "this user may not look any more\n"

/* A session that a link has opened. */
struct page_opened {
	char place[32]; /* the path below which it is */
	char cookie[160];
};

/* The page with the states that its first view is made of. opened: by this request; NULL: earlier. */
static enum MHD_Result
give_page(struct web_door *d, struct MHD_Connection *c, const struct who *who,
    const struct page_opened *opened)
{
	static const enum web_topic shown[] = { WEB_TOPIC_status, WEB_TOPIC_times,
		WEB_TOPIC_alerts };
	enum { SHOWN = sizeof shown / sizeof shown[0] };
	const struct web_piece *pieces[SHOWN + 3] = { web_page_head() };
	struct web_piece belongs;
	struct mono now = clock_mono();
	struct buf text = { 0 };
	enum MHD_Result ok;
	char *session;
	int n = 1;

	for (int i = 0; i < SHOWN; i++)
		if ((pieces[n] = first_piece(d, shown[i], now)) != NULL)
			n++;
	session = session_text(who);
	buf_printf(&text, "],\"session\":");
	for (const char *at = session != NULL ? session : "null"; *at != '\0'; at++)
		buf_bytes(&text, *at == '<' ? "\\u003c" : at, *at == '<' ? 6 : 1);
	if (opened != NULL)
		buf_printf(&text, ",\"place\":\"%s\"", opened->place);
	buf_printf(&text, "}");
	free(session);
	if (text.failed) {
		buf_release(&text);
		return MHD_NO;
	}
	if (!web_piece_make(&belongs, (char *)text.data, text.len, 0))
		return MHD_NO;
	pieces[n++] = &belongs;
	pieces[n++] = web_page_tail();
	ok = give_document(
	    c, pieces, n, "text/html; charset=utf-8", opened != NULL ? opened->cookie : NULL);
	web_piece_release(&belongs);
	return ok;
}

/*
 * The link was opened: a session, its cookie, and the page itself, so that a browser need not be sent there first; its script puts its place into
 * the address, in place of the token. A browser sends a cookie to all ports of a host, so to servers of other users, too; but only below its
 * path, which is random.
 */
static enum MHD_Result
log_in(struct web_door *d, struct MHD_Connection *c, int port)
{
	const char *token = MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, "token");
	uint8_t random[WEB_RANDOM], more[WEB_RANDOM];
	struct web_session *s = NULL;
	struct page_opened opened;
	struct who who = { 0 };
	uint64_t number, session = 0;
	int uid = -1;

	if (token == NULL || !draw(random) || !draw(more))
		return refuse(c, MHD_HTTP_FORBIDDEN, "no token\n");
	memcpy(&number, more, sizeof number);
	snprintf(opened.place, sizeof opened.place, "/s/%016" PRIx64 "/", number);
	pthread_mutex_lock(&d->lock);
	s = web_link_take(
	    &d->access, token, random, (double)d->config->questions_per_second, clock_mono());
	if (s != NULL) {
		uid = s->grant.uid;
		session = s->grant.number;
		snprintf(opened.cookie, sizeof opened.cookie,
		    "hone_%d=%s; HttpOnly; SameSite=Strict; Path=%s", port, s->grant.token,
		    opened.place);
	}
	pthread_mutex_unlock(&d->lock);
	if (s == NULL)
		return refuse(c, MHD_HTTP_FORBIDDEN,
		    "This link was used already, or is older than 60 s. hone web prints another one.\n");
	roles_who(d->questions->roles, uid, -1, clock_mono(), &who);
	if (who.role >= ROLE_LOOK)
		return give_page(d, c, &who, &opened);
	pthread_mutex_lock(&d->lock);
	if ((s = web_session_numbered(&d->access, session)) != NULL)
		web_session_end(s);
	pthread_mutex_unlock(&d->lock);
	return refuse(c, MHD_HTTP_FORBIDDEN, MAY_NOT_LOOK);
}

/* Of a session. */
static enum MHD_Result
serve(struct web_door *d, struct web_asked *r, const char *path, enum web_method method,
    uint64_t session)
{
	const struct web_file *f = web_file(path);
	bool posted = strcmp(path, "/ask") == 0 || strcmp(path, "/logout") == 0;
	bool told = strcmp(path, "/session") == 0, page = strcmp(path, "/") == 0;

	if (f == NULL && !posted && !told && !page && strcmp(path, "/events") != 0)
		return refuse(r->connection, MHD_HTTP_NOT_FOUND, "there is nothing here\n");
	if (method != (posted ? WEB_POST : WEB_GET))
		return refuse_method(r->connection, posted ? "POST" : "GET");
	if (page)
		return give_page(d, r->connection, &r->who, NULL);
	if (f != NULL)
		return give_document(r->connection, &f->text, 1, f->type, NULL);
	if (told)
		return tell_session(r->connection, &r->who);
	if (!posted)
		return open_stream(d, r->connection, session, r->who.uid);
	return path[1] == 'a' ? ask(d, r, session) : log_out(d, r->connection, session);
}

/*
 * 1. whether any page of this machine may be asked so
 * 2. the link of hone web
 * 3. the session, and that its user still may look
 * 4. what was asked for
 */
static enum MHD_Result
route(struct web_door *d, struct web_asked *r, const char *path, enum web_method method)
{
	struct MHD_Connection *c = r->connection;
	const struct web_headers h = { .host = header(c, MHD_HTTP_HEADER_HOST),
		.origin = header(c, MHD_HTTP_HEADER_ORIGIN),
		.fetch_site = header(c, "Sec-Fetch-Site"),
		.content_type = header(c, MHD_HTTP_HEADER_CONTENT_TYPE) };
	bool login = strcmp(path, "/login") == 0, page = strcmp(path, "/") == 0;
	int refusal = web_refusal(&h, method, login || page), uid = -1;
	uint64_t session;

	/* 1 */
	if (refusal != 0)
		return refuse_headers(c, (unsigned int)refusal);
	/* 2 */
	if (login)
		return method == WEB_GET ? log_in(d, c, web_host_port(h.host))
		                         : refuse_method(c, "GET");
	/* 3 */
	if ((session = session_of(d, c, web_host_port(h.host), &uid)) == 0)
		return refuse_stranger(c);
	roles_who(d->questions->roles, uid, -1, clock_mono(), &r->who);
	if (r->who.role < ROLE_LOOK)
		return refuse(c, MHD_HTTP_FORBIDDEN, MAY_NOT_LOOK);
	/* 4 */
	return serve(d, r, path, method, session);
}

/* The path without the /s/HEX of a session. */
static const char *
below_place(const char *path)
{
	size_t n;

	if (strncmp(path, "/s/", 3) != 0)
		return path;
	n = strspn(path + 3, "0123456789abcdef");
	return n > 0 && path[3 + n] == '/' ? path + 3 + n : path;
}

static enum MHD_Result
on_request(void *of, struct MHD_Connection *c, const char *path, const char *method,
    const char *version, const char *body, size_t *body_len, void **state)
{
	struct web_asked *r = *state;

	(void)version;
	if (r == NULL) { /* the headers only */
		if ((r = *state = calloc(1, sizeof *r)) == NULL)
			return MHD_NO;
		r->connection = c;
		r->file = -1;
		return MHD_YES;
	}
	if (*body_len > 0) {
		r->too_large = r->too_large || r->body.len + *body_len > BODY_MAX;
		if (!r->too_large)
			buf_bytes(&r->body, body, *body_len);
		*body_len = 0;
		return MHD_YES;
	}
	return r->phase == ANSWERED ? give_answer(r)
	                            : route(of, r, below_place(path), method_of(method));
}

static void
on_completed(void *of, struct MHD_Connection *c, void **state, enum MHD_RequestTerminationCode why)
{
	struct web_asked *r = *state;
	struct web_door *d = of;

	(void)c;
	(void)why;
	if (r == NULL)
		return;
	pthread_mutex_lock(&d->lock);
	for (int i = 0; i < CONNECTIONS_MAX; i++)
		if (d->unread[i] == r)
			d->unread[i] = NULL;
	pthread_mutex_unlock(&d->lock);
	buf_release(&r->body);
	free(r->answer);
	if (r->file >= 0)
		close(r->file);
	free(r);
	*state = NULL;
}

static void
take_log(void *of, const char *fmt, va_list ap)
{
	struct web_door *d = of;
	char text[400];

	vsnprintf(text, sizeof text, fmt, ap);
	text[strcspn(text, "\n")] = '\0';
	pthread_mutex_lock(&d->log_lock);
	limited_log(&d->log, clock_mono(), LOG_DEBUG, "web: %s", text);
	pthread_mutex_unlock(&d->log_lock);
}

/* ---- what honed's thread does ---- */

static struct web_asked *
take_waiting(struct web_door *d)
{
	struct web_asked *r;

	pthread_mutex_lock(&d->lock);
	if ((r = list_take(&d->waiting)) != NULL)
		d->nwaiting--;
	pthread_mutex_unlock(&d->lock);
	return r;
}

/* Takes the answer, and the file. */
static void
answer_waiting(struct web_door *d, struct web_asked *r, char *answer, int file)
{
	pthread_mutex_lock(&d->lock);
	r->answer = answer;
	r->file = file;
	r->phase = ANSWERED;
	MHD_resume_connection(r->connection);
	pthread_mutex_unlock(&d->lock);
}

static const char *
question_of(const struct web_asked *r)
{
	return r->body.len > 0 ? (const char *)r->body.data : "";
}

/* Of struct long_asker. A connection that waits stays until it is answered, also if its browser has gone. */
static void
long_answered(void *door, void *asked, struct long_answer a)
{
	answer_waiting(door, asked, a.text, a.file);
}

/* They are at most CONNECTIONS_MAX. */
static void
ask_long(struct web_door *d, struct web_asked *r)
{
	const struct long_asker asker = { .door = d, .peer = r, .answered = long_answered };
	struct err e;

	if (long_answers_ask(
		d->questions->long_answers, &asker, &r->who, question_of(r), r->body.len, &e) != 0)
		answer_waiting(d, r, NULL, -1);
}

static void
answer_some(struct web_door *d)
{
	int64_t until_ns = clock_mono().ns + ANSWER_MS * MS_NS;
	struct web_asked *r;

	for (int i = 0; i < ANSWERED_AT_ONCE && clock_mono().ns < until_ns; i++) {
		if ((r = take_waiting(d)) == NULL)
			return;
		if (answer_length(question_of(r), r->body.len) != ANSWER_SHORT)
			ask_long(d, r);
		else
			answer_waiting(d, r,
			    questions_answer(d->questions, &r->who, question_of(r), r->body.len),
			    -1);
	}
}

/* Whether the topic has a new state. */
static bool
make_state(struct web_door *d, enum web_topic topic, const char *question)
{
	const struct who nobody = { .uid = -1, .pid = -1, .role = ROLE_LOOK };
	char *json = questions_answer(d->questions, &nobody, question, strlen(question));
	size_t len = json != NULL ? strlen(json) : 0;
	uint64_t hash = hash_bytes(0, json != NULL ? json : "", len);
	struct web_text *text = NULL;
	bool put = false;

	if (json != NULL && d->feed.topics[topic].hash != hash)
		text = web_feed_text(
		    &d->feed, topic, json, len); /* only this thread changes the feed */
	free(json);
	if (text != NULL) {
		pthread_mutex_lock(&d->lock);
		put = web_feed_put(&d->feed, topic, text, hash);
		pthread_mutex_unlock(&d->lock);
	}
	return put;
}

static bool
make_due(
    struct web_door *d, struct mono now, enum web_topic topic, int every_ms, const char *question)
{
	int64_t took_ns, pause_ns;
	bool made;

	if (now.ns < d->due[topic].ns)
		return false;
	made = make_state(d, topic, question);
	took_ns = mono_since_ns(clock_mono(), now);
	pthread_mutex_lock(&d->lock);
	d->made[topic] = clock_mono();
	pthread_mutex_unlock(&d->lock);
	pause_ns = every_ms * MS_NS;
	d->due[topic].ns = now.ns +
	                   (pause_ns > STATE_PART * took_ns ? pause_ns : STATE_PART * took_ns);
	return made;
}

static void
make_states(struct web_door *d, struct mono now)
{
	bool made = false, beat = mono_since_ns(now, d->beat) >= BEAT_MS * MS_NS;
	bool watched;

	pthread_mutex_lock(&d->lock);
	watched = d->nstreams > 0 || web_link_waits(&d->access, now);
	pthread_mutex_unlock(&d->lock);
	if (!watched)
		return;
#define TOPIC(name, every_ms, question) \
	made = make_due(d, clock_mono(), WEB_TOPIC_##name, every_ms, question) || made;
	WEB_TOPICS
#undef TOPIC
	if (beat)
		d->beat = now;
	if (!made && !beat)
		return;
	pthread_mutex_lock(&d->lock);
	wake_streams(d, beat);
	pthread_mutex_unlock(&d->lock);
}

/* ---- opening and closing ---- */

/* A socket that listens at d->socket; -1: errno says why. */
static int
listen_local(const struct web_door *d)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), why;
	struct stat old;

	if (fd < 0)
		return -1;
	snprintf(at.sun_path, sizeof at.sun_path, "%s", d->socket);
	if (lstat(d->socket, &old) == 0 && S_ISSOCK(old.st_mode)) /* of a honed that was killed */
		unlink(d->socket);
	if (bind(fd, (struct sockaddr *)&at, sizeof at) == 0 &&
	    chmod(d->socket, roles_operators_open(d->questions->roles) ? 0666 : 0600) == 0 &&
	    listen(fd, CONNECTIONS_MAX) == 0)
		return fd;
	why = errno;
	close(fd);
	errno = why;
	return -1;
}

static void
close_daemon(struct web_door *d)
{
	struct web_asked *r;

	if (d->daemon == NULL)
		return;
	pthread_mutex_lock(&d->lock);
	d->closing = true;
	wake_streams(d, false);
	pthread_mutex_unlock(&d->lock);
	long_answers_forget(d->questions->long_answers, d);
	while ((r = take_waiting(d)) != NULL)
		answer_waiting(d, r, NULL, -1);
	MHD_stop_daemon(d->daemon);
	d->daemon = NULL;
	d->closing = false;
	if (d->socket != NULL)
		unlink(d->socket);
}

static int
open_daemon(struct web_door *d, struct err *e)
{
	int fd = d->socket != NULL ? listen_local(d) : -1;
	struct MHD_OptionItem place[] = { { MHD_OPTION_SOCK_ADDR, 0, &d->address.place },
		{ MHD_OPTION_END, 0, NULL } };
	const union MHD_DaemonInfo *port;

	if (d->socket != NULL && fd < 0)
		return err_errno(e, "web.listen: cannot listen at %s", d->socket);
	if (fd >= 0)
		place[0] = (struct MHD_OptionItem){ MHD_OPTION_LISTEN_SOCKET, fd, NULL };
	errno = 0;
	d->daemon = MHD_start_daemon(
	    MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG |
		(d->address.place.ss_family == AF_INET6 ? MHD_USE_IPv6 : 0),
	    0, NULL, NULL, on_request, d, MHD_OPTION_EXTERNAL_LOGGER, take_log, d, MHD_OPTION_ARRAY,
	    place, MHD_OPTION_NOTIFY_COMPLETED, on_completed, d, MHD_OPTION_CONNECTION_LIMIT,
	    (unsigned int)CONNECTIONS_MAX, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
	    (size_t)CONNECTION_BYTES, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned int)SILENT_S,
	    MHD_OPTION_END);
	if (d->daemon == NULL) {
		int why = errno;

		if (fd >= 0)
			close(fd);
		return err_set(e, ERR_SYSTEM, "web.listen: cannot listen at %s: %s",
		    d->config->web_listen,
		    why != 0 ? strerror(why) : "libmicrohttpd does not say why");
	}
	port = MHD_get_daemon_info(d->daemon, MHD_DAEMON_INFO_BIND_PORT);
	if (d->socket == NULL)
		snprintf(d->url, sizeof d->url, "http://%.*s:%u", d->address.host_len,
		    d->config->web_listen, port != NULL ? port->port : 0);
	log_line(LOG_INFO, "the live page is open at %s", d->socket != NULL ? d->socket : d->url);
	return 0;
}

/* Of struct web_port. */
static int
make_link(
    void *of, const struct who *who, struct mono now, struct web_link_text *ret, struct err *e)
{
	struct web_door *d = of;
	uint8_t random[WEB_RANDOM];
	int rc;

	if (who->pid < 0) /* a session that made links would not end */
		return err_set(e, ERR_DENIED, "the page itself gets no links; run hone web");
	if (!draw(random))
		return err_errno(e, "random numbers");
	if (d->daemon == NULL && (rc = open_daemon(d, e)) < 0)
		return rc;
	pthread_mutex_lock(&d->lock);
	snprintf(ret->path, sizeof ret->path, "/login?token=%s",
	    web_link_make(&d->access, who->uid, random, now));
	pthread_mutex_unlock(&d->lock);
	snprintf(ret->url, sizeof ret->url, "%s%s", d->url, ret->path);
	snprintf(ret->socket, sizeof ret->socket, "%s", d->socket != NULL ? d->socket : "");
	ret->seconds = WEB_LINK_S;
	return 0;
}

static void
close_door(void *state)
{
	struct web_door *d = state;

	d->questions->web = (struct web_port){ 0 };
	close_daemon(d);
	web_feed_release(&d->feed);
	web_first_release(&d->first);
	web_files_release();
	pthread_mutex_destroy(&d->lock);
	pthread_mutex_destroy(&d->log_lock);
	free(d);
}

static int
read_place(struct web_door *d, struct err *e)
{
	static const char scheme[] = "unix://";
	const char *listen = d->config->web_listen;
	struct sockaddr_un at;

	if (strncmp(listen, scheme, sizeof scheme - 1) == 0) {
		d->socket = listen + sizeof scheme - 1;
		snprintf(d->url, sizeof d->url, "http://localhost:9470");
		if (d->socket[0] == '/' && strlen(d->socket) < sizeof at.sun_path)
			return 0;
		return err_set(e, ERR_INPUT,
		    "web.listen: %s: must be unix:///path, of at most %zu bytes", listen,
		    sizeof at.sun_path - 1);
	}
	snprintf(d->url, sizeof d->url, "http://%.60s", listen);
	if (!listen_address_read(&d->address, listen) || !d->address.local)
		return err_set(e, ERR_INPUT,
		    "web.listen: %s is no address of this machine's loopback, such as 127.0.0.1:9470 or [::1]:9470, "
		    "and no unix:///path; forward one by ssh -L to see the page elsewhere",
		    listen);
	return 0;
}

static int
open_door(void **state, const struct config *c, struct questions *questions, struct err *e)
{
	struct web_door *d;
	uint8_t random[WEB_RANDOM];
	int rc;

	*state = NULL;
	if (c->web_listen[0] == '\0')
		return 0;
	if ((d = calloc(1, sizeof *d)) == NULL)
		return err_set(e, ERR_MEMORY, "out of memory");
	*d = (struct web_door){ .config = c, .questions = questions };
	limited_log_init(&d->log, clock_mono());
	if ((rc = read_place(d, e)) < 0) {
		free(d);
		return rc;
	}
	if (!draw(random) || web_files_init() < 0) {
		free(d);
		return err_set(e, ERR_MEMORY, "out of memory, or of random numbers");
	}
	memcpy(&d->feed.instance, random, sizeof d->feed.instance);
	pthread_mutex_init(&d->lock, NULL);
	pthread_mutex_init(&d->log_lock, NULL);
	questions->web = (struct web_port){ d, make_link };
	*state = d;
	return 0;
}

static void
step(void *state, struct mono now)
{
	struct web_door *d = state;
	bool unused;

	if (d->daemon == NULL)
		return;
	answer_some(d);
	make_states(d, now);
	if (mono_since_ns(now, d->expired) < EXPIRE_MS * MS_NS)
		return;
	d->expired = now;
	pthread_mutex_lock(&d->lock);
	unused = web_access_expire(&d->access, now) && d->nstreams == 0;
	pthread_mutex_unlock(&d->lock);
	if (unused) {
		close_daemon(d);
		log_line(LOG_INFO, "the live page is closed: its last session has ended");
	}
}

static const char *
url(const void *state)
{
	const struct web_door *d = state;

	return d->socket != NULL ? d->socket : d->url;
}

const struct door_ops door_web = { "the live page (when hone web asks)", open_door, step,
	close_door, url };
