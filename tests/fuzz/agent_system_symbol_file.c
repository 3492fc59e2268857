/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Any bytes as a traced program's file: 8 bytes of position, then the file. Whatever the file says,
 * the result is a terminated name, or none, and an object or a thread-local variable of an exported name, or none.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/system/symbol_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static int fd = -1;
	char name[SYMBOL_NAME_MAX + 1];
	struct tls_symbol tls;
	uint64_t from_start;

	if (len < sizeof from_start)
		return 0;
	memcpy(&from_start, data, sizeof from_start);
	data += sizeof from_start;
	len -= sizeof from_start;
	if (fd < 0)
		fd = memfd_create("program", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, 0) != 0 || pwrite(fd, data, len, 0) != (ssize_t)len)
		abort();
	if (symbol_file_find(fd, from_start, name) &&
	    (name[0] == '\0' || strnlen(name, sizeof name) == sizeof name))
		abort();
	symbol_file_place(fd, "hone_context_place_v1", 40, &from_start);
	if (symbol_file_tls(fd, "otel_thread_ctx_v1", &tls) && tls.model > TLS_MODULE)
		abort();
	return 0;
}
