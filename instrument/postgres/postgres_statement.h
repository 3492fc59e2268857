/* SPDX-License-Identifier: MIT */
/*
 * The statement that this backend serves: from where its text is first seen
 * until it says ReadyForQuery. One backend serves one client, on one thread, so
 * this is one struct, and nothing here locks or allocates.
 *
 * One message of the simple protocol is one statement, however many commands
 * its text has. In the extended protocol a statement is parse, bind and
 * execute up to Sync, or up to the next statement of a pipeline.
 */
#ifndef HONE_POSTGRES_STATEMENT_H
#define HONE_POSTGRES_STATEMENT_H

#include <stdbool.h>

/* The two settings, and what ends a statement when its backend exits. Once, in the postmaster. */
void statement_init(void);

/* Is this the process of a client (not a worker, not autovacuum, not a sender of the log)? */
bool statement_backend(void);

/* Outside of any other hook: this text was analyzed, planned, executed. `tag`: its
 * command, a literal. Begins a statement where none is open or it is another one's,
 * with the context of the text, or else of hone.context. A text that is not the
 * client's (a trigger that was put off until commit) changes nothing. */
void statement_parsed(const char *text, const char *tag);
void statement_planned(const char *text, const char *tag);
void statement_executes(const char *text, const char *tag);

/* More rows are fetched. Begins a statement only where none is open (a portal that has waited since
 * an earlier Sync). */
void statement_runs(const char *text, const char *tag);

/* The statement that is open, if any, is over. */
void statement_close(void);

#endif
