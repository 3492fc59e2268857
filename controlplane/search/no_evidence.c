/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/search/no_evidence.h"

/* What is told within 5 s has to be known earlier. One usable trace in ten is evidence. */
static const int64_t EARLY_NS = INT64_C(3500000000);
enum { USABLE_PART = 10 };

enum reason
no_evidence(const struct evidence_facts *f)
{
	uint64_t broken = f->lossy + f->no_unit + f->open + f->other;

	/* 1. No agent: nothing can come. */
	if (f->agents == 0)
		return REASON_NO_AGENT;
	/* 2. Too early. */
	if (f->lasts_ns < EARLY_NS)
		return REASON_NONE;
	/* 3. Enough of what comes is usable. */
	if (f->usable > 0 && f->usable >= broken / USABLE_PART)
		return REASON_NONE;
	/* 4. Nothing comes. */
	if (broken == 0 && !f->confirmed)
		return REASON_UNCONFIRMED;
	if (broken == 0 && !f->traceable)
		return REASON_NOT_TRACEABLE;
	if (broken == 0)
		return f->sampled <= 0 ? REASON_NOT_SAMPLED : REASON_NO_REQUESTS;
	/* 5. What comes is broken: the most frequent kind. */
	if (f->lossy >= broken - f->lossy)
		return REASON_LOST_RECORDS;
	if (f->no_unit >= f->open && f->no_unit >= f->other)
		return REASON_UNIT_MISSING;
	return f->open >= f->other ? REASON_END_MISSING : REASON_INCOMPLETE;
}
