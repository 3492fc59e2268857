/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/server/mailbox.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

void
cond_init_mono(pthread_cond_t *c)
{
	pthread_condattr_t a;

	pthread_condattr_init(&a);
	pthread_condattr_setclock(&a, CLOCK_MONOTONIC);
	pthread_cond_init(c, &a);
	pthread_condattr_destroy(&a);
}

struct timespec
mono_in_ms(int ms)
{
	int64_t at_ns = clock_mono().ns + (int64_t)ms * 1000000;

	return (struct timespec){ .tv_sec = at_ns / 1000000000, .tv_nsec = at_ns % 1000000000 };
}

struct letter *
letter_new(enum mail_kind kind, const char *text)
{
	struct letter *l = calloc(1, sizeof *l);

	if (l == NULL)
		return NULL;
	l->mail.kind = kind;
	l->mail.text = strdup(text);
	return l;
}

void
mailbox_init(struct mailbox *m, size_t max_bytes)
{
	m->first = NULL;
	m->last = m->urgent = &m->first;
	m->max_bytes = max_bytes;
	cond_init_mono(&m->mail);
}

void
mailbox_release(struct mailbox *m)
{
	struct letter *l;

	while ((l = mailbox_take(m)) != NULL) {
		mail_release(&l->mail);
		free(l);
	}
	pthread_cond_destroy(&m->mail);
}

/* Adds a letter to the sums, or subtracts it. */
static void
count(struct mailbox *m, const struct letter *l, bool in)
{
	size_t bytes = l->mail.len + sizeof *l;

	m->bytes += in ? bytes : 0 - bytes;
	if (l->mail.kind == MAIL_NOTE || l->mail.kind == MAIL_REFUSED)
		m->notes += in ? 1u : 0u - 1u;
}

void
mailbox_put(struct mailbox *m, struct letter *l)
{
	struct letter **at = l->urgent ? m->urgent : m->last;

	l->next = *at;
	*at = l;
	if (m->last == at)
		m->last = &l->next;
	if (l->urgent)
		m->urgent = &l->next;
	count(m, l, true);
	m->unannounced = true;
}

void
mailbox_announce(struct mailbox *m)
{
	if (m->unannounced)
		pthread_cond_signal(&m->mail);
	m->unannounced = false;
}

void
mailbox_put_back(struct mailbox *m, struct letter *l)
{
	l->next = m->first;
	if (m->first == NULL)
		m->last = &l->next;
	m->first = l;
	count(m, l, true);
}

struct letter *
mailbox_take(struct mailbox *m)
{
	struct letter *l = m->first;

	if (l == NULL)
		return NULL;
	m->first = l->next;
	if (m->first == NULL)
		m->last = &m->first;
	if (m->urgent == &l->next)
		m->urgent = &m->first;
	count(m, l, false);
	return l;
}

bool
mailbox_full(const struct mailbox *m)
{
	return m->bytes >= m->max_bytes;
}

void
mail_release(struct mail *m)
{
	free(m->data);
	free(m->text);
	m->data = NULL;
	m->text = NULL;
}
