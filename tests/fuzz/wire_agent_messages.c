/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as hello, welcome, status and programs: refused, or the same after being written again.
 */
#include "tests/fuzz/common/fuzz.h"
#include "wire/agent_messages.h"

#define TRY(message)                                                          \
	static void try_##message(const uint8_t *data, size_t len)            \
	{                                                                     \
		struct buf once = { 0 }, twice = { 0 };                       \
		struct arena a = { 0 };                                       \
		struct message m;                                             \
		int rc = DECODE(message, &m, data, len);                      \
                                                                              \
		check(a.total_bytes <= 64 * len + 4096);                      \
		if (rc == 0) {                                                \
			message##_encode(&m, &once);                          \
			check(DECODE(message, &m, once.data, once.len) == 0); \
			message##_encode(&m, &twice);                         \
			check_same(&once, &twice);                            \
		}                                                             \
		arena_release(&a);                                            \
	}

#define DECODE(message, m, data, len) message##_decode(m, &a, data, len, NULL)
TRY(hello)
TRY(status)
TRY(programs)
#undef DECODE
#define DECODE(message, m, data, len) message##_decode(m, data, len, NULL)
TRY(welcome)
#define clock_echo_encode clock_encode
#define clock_echo_decode clock_decode
TRY(clock_echo)

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	try_hello(data, len);
	try_status(data, len);
	try_programs(data, len);
	try_welcome(data, len);
	try_clock_echo(data, len);
	return 0;
}
