/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a traced program publishes of its threads' context may be any bytes: what is accepted lies
 * within bounds. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agent/system/thread_context.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct hone_context_place p = { 0 };

	memcpy(&p, data, len < sizeof p ? len : sizeof p);
	if (len > 0 && (data[0] & 1) != 0)
		p.magic = HONE_CONTEXT_MAGIC;
	if (thread_context_check(&p) != THREAD_CONTEXT_FOUND)
		return 0;
	if (p.context_bytes > 4096 || p.trace_id + 8U > p.context_bytes ||
	    p.trace_id_high + 8U > p.context_bytes || p.unit_id + 8U > p.context_bytes ||
	    p.request_type + 4U > p.context_bytes || p.sampled >= p.context_bytes ||
	    p.probed >= p.context_bytes || llabs(p.offset) >= 1 << 30)
		abort();
	return 0;
}
