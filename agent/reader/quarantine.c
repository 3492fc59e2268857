/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "agent/reader/quarantine.h"

#define SECOND INT64_C(1000000000)
#define INVALID_NS SECOND
#define STUCK_NS (10 * SECOND)
#define ALONE_NS (60 * SECOND)
#define STEP_MAX_NS (SECOND / 2)

/* Time with the sign counts up, time without it down to 0. */
static void
add(int64_t *sum_ns, bool sign, int64_t since_ns)
{
	if (sign)
		*sum_ns += since_ns < STEP_MAX_NS ? since_ns : STEP_MAX_NS;
	else
		*sum_ns = *sum_ns > since_ns ? *sum_ns - since_ns : 0;
}

enum quarantine
quarantine_decide(struct suspicion *s, const struct ring_looks *looks, int64_t now_ns)
{
	int64_t since_ns = s->looked_ns > 0 ? now_ns - s->looked_ns : 0;

	s->looked_ns = now_ns;
	add(&s->invalid_ns, looks->invalid, since_ns);
	add(&s->alone_ns, looks->stuck, since_ns);
	if (looks->drains || !looks->stuck)
		add(&s->stuck_ns, looks->stuck, since_ns);
	if (looks->damaged) /* 1 */
		return QUARANTINE_DAMAGED;
	if (s->invalid_ns >= INVALID_NS) /* 2 */
		return QUARANTINE_POSITIONS;
	if (s->stuck_ns >= STUCK_NS) /* 3 */
		return QUARANTINE_STUCK;
	if (s->alone_ns >= ALONE_NS) /* 4 */
		return QUARANTINE_STUCK;
	return QUARANTINE_NONE;
}
