/* SPDX-License-Identifier: MIT */
#include "postgres.h"

#undef ENABLE_GSS /* so that Kerberos' headers are not needed; struct Port is not used here */

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

/* The progress of the statement. The same text at the same or an earlier stage may be the next statement. */
enum stage { PARSED, PLANNED, EXECUTING };

/* The parsed value of hone.context. The server keeps this struct as long as the value, and a rollback
 * may restore it; `used` makes sure that a context is used for one statement only. */
struct setting {
	struct hone_carrier carrier;
	bool used;
};

static struct {
	bool open, failed;
	bool unit, request; /* begun by this statement, to be ended: at most one of them */
	enum stage stage;
	const char *text;         /* of the latest call; its address is compared, not its bytes */
	TimestampTz arrived;      /* when the message of this stage arrived */
	struct hone_carrier said; /* the context in the text; all zeroes: none */
} now;

static struct setting *setting;
static char *setting_text;
static bool requests;

/*
 * False if a unit has begun with this link (of the last 256, by hash). A prepared
 * statement is analyzed again when a table has changed; its text, and so its link,
 * is then seen a second time, but one link belongs to one unit.
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

/* A statement ends with the message ReadyForQuery ('Z'): its answer is written, the rest of it is about
 * to be sent, and its transaction, if it was implicit, has ended. 'E': an error. */
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

/* Done by each backend for itself, at its first statement. */
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

/* Begins a statement, with the context `said`, or else that of the setting. */
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
	/* Statements of one program with OpenTelemetry share the link of its caller. */
	if (hone_from_known(&c) && link_is_new(c.link_id ^ (uint64)c.via << 48)) {
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
	memset(&now, 0, sizeof now);
}

/* The statement has reached a stage. */
static void
reached(enum stage stage, const char *text)
{
	now.stage = stage;
	now.text = text;
	now.arrived = GetCurrentStatementStartTimestamp();
}

/* Whether the client sent this text; it may be a copy. */
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
	return memcmp(&c, &now.said, sizeof c) == 0;
}

void
statement_parsed(const char *text, const char *tag)
{
	struct hone_carrier c;

	if (text != debug_query_string || text == NULL)
		return;
	if (now.open && text == now.text && same_message()) { /* another command of the same text */
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

/* Begins a statement whose text came in an earlier message, before a Sync: its comment was used then. */
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

/* The server frees this memory, so it must be allocated the way that the server requires. */
#if PG_VERSION_NUM >= 160000
#define SETTING_ALLOC(bytes) guc_malloc(LOG, bytes)
#else
#define SETTING_ALLOC(bytes) malloc(bytes)
#endif

/* Accepts all values; an invalid context counts as none. */
static bool
setting_check(char **value, void **extra, GucSource source)
{
	struct hone_carrier c;
	struct setting *s;
	(void)source;

	if (setting_context(&c, *value) != 0)
		return true;
	s = SETTING_ALLOC(sizeof *s);
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
