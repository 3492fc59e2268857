/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controlplane/search/company_wait.h"

bool
company_wait(const struct company_facts *f)
{
	/* 1 */
	if (!f->awaited || f->state == COMPANY_NONE)
		return false;
	/* 2 */
	if (f->state == COMPANY_KNOWN && f->known_ns >= COMPANY_ENOUGH_NS && f->named)
		return false;
	/* 3 and 4 */
	return f->waited_ns < COMPANY_WAIT_NS ||
	       (f->state == COMPANY_KNOWN && f->known_ns < COMPANY_ENOUGH_NS &&
		   f->waited_ns < COMPANY_WAIT_NS + COMPANY_ENOUGH_NS);
}
