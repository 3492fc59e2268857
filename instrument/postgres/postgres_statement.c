/* SPDX-License-Identifier: MIT */
#include "postgres.h"

#undef ENABLE_GSS /* of a connection we ask nothing, so Kerberos' headers need not be there */

#include "access/xact.h"
#include "libpq/libpq.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "tcop/dest.h"
#include "tcop/tcopprot.h"
#include "utils/guc.h"

#include "instrument/postgres/postgres_comment.h"
#include "instrument/postgres/postgres_spans.h"
#include "instrument/postgres/postgres_statement.h"
#include "instrument/postgres/postgres_tracepoints.h"

/* How far the statement is. From each on, the same text again may be the next statement. */
enum stage { PARSED, PLANNED, EXECUTING };

/* What hone.context was set to. The server keeps it as long as the value, also over
 * a rollback that brings it back: so it is used up once, whatever happens. */
struct setting {
	struct hone_carrier carrier;
	bool used;
};

static struct {
	bool open, failed;
	bool unit, request; /* what is to be ended: one of them, or neither */
	enum stage stage;
	const char *text;         /* as we were given it last; only compared */
	TimestampTz arrived;      /* when the message came that the stage belongs to */
	struct hone_carrier said; /* what the text said, all zeroes if nothing */
} now;

static struct setting *setting;
static char *setting_text;
static bool requests;

/*
 * A link is begun by one unit. The text of a prepared statement stays, and is
 * analyzed again when a table has changed: its link would come a second time.
 */
static bool
link_is_new(uint64 link)
{
	static uint64 begun[256];
	uint64 *slot = &begun[link % lengthof(begun)];

	if (*slot == link)
		return false;
	*slot = link;
	return true;
}

/* ReadyForQuery is where a statement is over: all of its answer is written, the
 * last of it is about to be sent, and its transaction, if it was its own, is done. */
static PQcommMethods methods;
static const PQcommMethods *methods_before;

static int
on_message(char type, const char *s, size_t len)
{
	if (type == 'Z')
		statement_close();
	else if (type == 'E')
		now.failed = true;
	return methods_before->putmessage(type, s, len);
}

static void
on_exit_close(int code, Datum arg)
{
	(void)code, (void)arg;
	now.failed = true;
	spans_end();
	statement_close();
}

/* In each backend anew, since the postmaster serves nobody. */
static void
watch_messages(void)
{
	if (methods_before != NULL || whereToSendOutput != DestRemote)
		return;
	before_shmem_exit(on_exit_close, (Datum)0);
	methods_before = PqCommMethods;
	methods = *PqCommMethods;
	methods.putmessage = on_message;
	PqCommMethods = &methods;
}

bool
statement_backend(void)
{
	return MyBackendType == B_BACKEND;
}

static bool
text_context(struct hone_carrier *out, const char *text)
{
	if (hone_listening())
		return comment_context(out, text, strlen(text)) == 0;
	*out = (struct hone_carrier){ 0 };
	return false;
}

/* All that a statement is at its beginning; `said` stays as it was found. */
static void
statement_open(const char *text, const char *tag, const struct hone_carrier *said)
{
	struct hone_carrier c = *said;

	watch_messages();
	now.open = true;
	now.failed = now.unit = now.request = false;
	now.said = *said;
	if (c.trace_id == 0 && setting != NULL && !setting->used) {
		c = setting->carrier;
		setting->used = true;
	}
	if (hone_from_known(&c) && link_is_new(c.link_id)) {
		hone_unit_begin(&c, tag);
		now.unit = true;
	} else if (!hone_from_known(&c) && (c.trace_id != 0 || requests)) {
		hone_request_begin(tag, &c);
		now.request = true;
	}
	lttng_ust_tracepoint(postgres, statement_begin, tag, strlen(text));
}

void
statement_close(void)
{
	if (!now.open)
		return;
	lttng_ust_tracepoint(postgres, statement_end, now.failed);
	if (now.unit)
		hone_unit_end();
	if (now.request)
		hone_request_end(now.failed);
	memset(&now, 0, sizeof(now));
}

static void
reached(enum stage stage, const char *text)
{
	now.stage = stage;
	now.text = text;
	now.arrived = GetCurrentStatementStartTimestamp();
}

/* The text that the client sent, or a copy of it. */
static bool
clients(const char *text)
{
	return debug_query_string != NULL &&
	       (text == debug_query_string || strcmp(text, debug_query_string) == 0);
}

static bool
same_message(void)
{
	return now.arrived == GetCurrentStatementStartTimestamp();
}

static bool
same_context(const char *text)
{
	struct hone_carrier c;

	if (text == now.text)
		return true;
	text_context(&c, text);
	return memcmp(&c, &now.said, sizeof(c)) == 0;
}

void
statement_parsed(const char *text, const char *tag)
{
	struct hone_carrier c;

	if (text != debug_query_string || text == NULL)
		return;
	if (now.open && text == now.text && same_message()) { /* the next command of one text */
		if (now.unit || now.request || setting == NULL || setting->used) {
			now.stage = PARSED;
			return;
		}
	}
	statement_close();
	text_context(&c, text);
	statement_open(text, tag, &c);
	reached(PARSED, text);
}

/* The text came in an earlier message, with Sync after it: its comment was for then. */
static void
again(const char *text, const char *tag)
{
	static const struct hone_carrier nothing;

	statement_close();
	statement_open(text, tag, &nothing);
}

void
statement_planned(const char *text, const char *tag)
{
	if (text == NULL || !clients(text))
		return;
	if (!now.open || (now.stage == PARSED ? !same_context(text) : !same_message()))
		again(text, tag);
	reached(PLANNED, text);
}

void
statement_executes(const char *text, const char *tag)
{
	if (text == NULL || !clients(text))
		return;
	if (!now.open || (now.stage != EXECUTING ? !same_context(text) : !same_message()))
		again(text, tag);
	reached(EXECUTING, text);
}

void
statement_runs(const char *text, const char *tag)
{
	if (now.open || text == NULL || !clients(text))
		return;
	again(text, tag);
	reached(EXECUTING, text);
}

/* The server's rule: it is the one that frees it. */
#if PG_VERSION_NUM >= 160000
#define SETTING_ALLOC(bytes) guc_malloc(LOG, bytes)
#else
#define SETTING_ALLOC(bytes) malloc(bytes)
#endif

/* Never refuses: a context that cannot be read is none. */
static bool
setting_check(char **value, void **extra, GucSource source)
{
	struct hone_carrier c;
	struct setting *s;
	(void)source;

	if (setting_context(&c, *value) != 0)
		return true;
	s = SETTING_ALLOC(sizeof(*s));
	if (s != NULL)
		*s = (struct setting){ c };
	*extra = s;
	return true;
}

static void
setting_assign(const char *value, void *extra)
{
	(void)value;
	setting = extra;
}

void
statement_init(void)
{
	DefineCustomStringVariable("hone.context",
	    "Context of the next statement: \"traceparent tracestate\".", NULL, &setting_text, "",
	    PGC_USERSET, GUC_NO_SHOW_ALL | GUC_NOT_IN_SAMPLE | GUC_DISALLOW_IN_FILE, setting_check,
	    setting_assign, NULL);
	DefineCustomBoolVariable("hone.requests",
	    "A statement without a context begins a request of its own.", NULL, &requests, false,
	    PGC_SUSET, 0, NULL, NULL, NULL);
}
