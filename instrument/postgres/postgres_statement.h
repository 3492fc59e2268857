/* SPDX-License-Identifier: MIT */
/*
 * The statement that this backend executes: from the first hook that is called with
 * its text until ReadyForQuery is sent. A backend serves one client on one thread, so
 * there is one statement at a time, and no lock.
 *
 * A message of the simple protocol is one statement, also if its text has several
 * commands. In the extended protocol a statement is parse, bind and execute up to
 * Sync, or up to the next statement of a pipeline.
 */
#ifndef HONE_POSTGRES_STATEMENT_H
#define HONE_POSTGRES_STATEMENT_H

#include <stdbool.h>

/* Defines the settings hone.context and hone.requests. Once, in the postmaster. */
void statement_init(void);

/* Whether this process serves a client (and is not a parallel worker, autovacuum or a sender of the log). */
bool statement_backend(void);

/* This text was analyzed, is planned, is executed. Only for spans_depth 0 and in a backend. `tag`: the
 * name of its command, a literal. If no statement is open, or the text belongs to another one, a
 * statement begins with the context of the text, or else of hone.context. No effect for a text that
 * the client did not send (a trigger deferred until commit). */
void statement_parsed(const char *text, const char *tag);
void statement_planned(const char *text, const char *tag);
void statement_executes(const char *text, const char *tag);

/* Rows are fetched. Begins a statement only if none is open (a portal that was opened before an earlier
 * Sync). */
void statement_runs(const char *text, const char *tag);

/* Ends the open statement, if any. */
void statement_close(void);

#endif
