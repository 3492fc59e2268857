/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The order in which mail is taken, for any order of puts and takes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "controlplane/server/mailbox.h"

enum { MOST = 4000 };

struct model { /* numbers of the letters inside, in the order in which they are to be taken */
	uint64_t urgent[MOST], others[MOST];
	size_t nurgent, nothers;
};

static uint64_t
pop(uint64_t *list, size_t *n)
{
	uint64_t got = list[0];

	memmove(list, list + 1, --*n * sizeof *list);
	return got;
}

static void
put(struct mailbox *m, struct model *o, uint64_t number, struct rng *rng)
{
	static const struct {
		enum mail_kind kind;
		unsigned frame;
	} WHAT[] = {
		{ MAIL_FRAME, FRAME_RECORDS },
		{ MAIL_FRAME, FRAME_STATUS },
		{ MAIL_FRAME, FRAME_DONE },
		{ MAIL_JOINED, 0 },
		{ MAIL_ASKED, 0 },
	};
	uint64_t what = rng_below(rng, 5);
	struct letter *l = calloc(1, sizeof *l);

	l->mail = (struct mail){
		.kind = WHAT[what].kind, .frame = WHAT[what].frame, .seq = number
	};
	l->urgent = l->mail.kind == MAIL_FRAME && l->mail.frame == FRAME_STATUS;
	mailbox_put(m, l);
	if (l->urgent)
		o->urgent[o->nurgent++] = number;
	else
		o->others[o->nothers++] = number;
}

/*
 * Takes one letter; sometimes puts it back, as when a connection is replaced by another, and it is
 * taken next.
 */
static void
take(struct mailbox *m, struct model *o, struct rng *rng)
{
	struct letter *l = mailbox_take(m);
	uint64_t want;

	if (o->nurgent + o->nothers == 0) {
		assert_null(l);
		return;
	}
	want = o->nurgent > 0 ? pop(o->urgent, &o->nurgent) : pop(o->others, &o->nothers);
	assert_int_equal(l->mail.seq, want);
	if (rng_below(rng, 10) == 0) {
		mailbox_put_back(m, l);
		l = mailbox_take(m);
		assert_int_equal(l->mail.seq, want);
	}
	mail_release(&l->mail);
	free(l);
}

static void
a_status_waits_only_for_earlier_statuses(void **state)
{
	static struct model o;
	struct mailbox m = { 0 };
	struct rng rng;
	(void)state;

	rng_seed(&rng, 3);
	mailbox_init(&m, 1 << 20);
	for (uint64_t number = 1; number < MOST; number++) {
		put(&m, &o, number, &rng);
		for (uint64_t n = rng_below(&rng, 3); n > 0; n--)
			take(&m, &o, &rng);
	}
	while (m.bytes > 0)
		take(&m, &o, &rng);
	take(&m, &o, &rng);
	assert_int_equal(o.nurgent + o.nothers, 0);
	mailbox_release(&m);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_status_waits_only_for_earlier_statuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
