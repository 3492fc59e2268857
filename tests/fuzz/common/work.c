/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Part of each fuzz target: finds inputs that take too long. The unit of work is a basic block that
 * is executed, which the compiler counts (-fsanitize-coverage=trace-pc), not a second; so an input
 * that fails does so on every machine and under any load. Blocks in libraries do not count.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/fuzz/common/work.h"

static uint64_t work;

uint64_t work_max = WORK_BASE, work_per_byte = WORK_PER_BYTE;

/* The linker puts them in the place of the functions without __wrap_ (make fuzz). */
void __wrap___sanitizer_cov_trace_pc(void);
int __real_LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);
int __wrap_LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

__attribute__((no_sanitize("coverage"))) void
__wrap___sanitizer_cov_trace_pc(void)
{
	work++;
}

uint64_t
work_done(void)
{
	return __atomic_load_n(&work, __ATOMIC_RELAXED);
}

int
__wrap_LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	uint64_t before = work_done(), took;
	int rc = __real_LLVMFuzzerTestOneInput(data, len);

	took = work_done() - before;
	if (getenv("WORK") != NULL)
		fprintf(stderr, "work: %llu blocks for %zu bytes\n", (unsigned long long)took, len);
	if (took > work_max + work_per_byte * len) {
		fprintf(stderr,
		    "work: %llu blocks for %zu bytes are over the bound of %llu + %llu a byte\n",
		    (unsigned long long)took, len, (unsigned long long)work_max,
		    (unsigned long long)work_per_byte);
		abort();
	}
	return rc;
}
