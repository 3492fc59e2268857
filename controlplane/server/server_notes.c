/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Notices for the log and the audit. Their number in the mailbox is limited, so that a peer that
 * connects a thousand times per second fills neither the memory nor the log. */
#include "controlplane/server/server_inside.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

void
server_note(struct server *s, const char *fmt, ...)
{
	char text[512];
	struct letter *l;
	va_list ap;

	assert(server_lock_held(s));
	if (s->mailbox.notes >= MAILBOX_NOTES_MAX)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	if ((l = letter_new(MAIL_NOTE, text)) != NULL)
		mailbox_put(&s->mailbox, l);
}

void
server_refused(struct server *s, enum door door, const struct who *who, const struct err *e)
{
	struct letter *l;

	assert(server_lock_held(s));
	/* The next notice counts the refusals that were left out. */
	if (s->mailbox.notes >= MAILBOX_NOTES_MAX ||
	    (l = letter_new(MAIL_REFUSED, e->text)) == NULL) {
		s->refusals_unnoted++;
		return;
	}
	l->mail.who = *who;
	l->mail.door = door;
	l->mail.times = 1 + s->refusals_unnoted;
	s->refusals_unnoted = 0;
	mailbox_put(&s->mailbox, l);
}
