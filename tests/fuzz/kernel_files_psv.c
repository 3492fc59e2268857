/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as a log of MiSeRTrace, and those before the first 0 as its meta file: sound events in the order of time, the
 * same wherever the window moves. */
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/fuzz/kernel_files_seen.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	const uint8_t *zero = len > 0 ? memchr(data, 0, len) : NULL;
	size_t meta_len = zero != NULL ? (size_t)(zero - data) : 0;
	const uint8_t *log = zero != NULL ? zero + 1 : data;
	size_t log_len = len - (size_t)(log - data);
	int sure = recording_psv_sniff((const char *)log, log_len), fd = -1;
	char path[40], *meta = NULL;

	check(sure >= 0 && sure <= 100);
	if (meta_len > 0) {
		check((fd = memfd_create("meta", 0)) >= 0);
		check(write(fd, data, meta_len) == (ssize_t)meta_len);
		snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
		meta = path;
	}
	check(seen_read(recording_psv_open, meta, log, log_len, 0) ==
	      seen_read(recording_psv_open, meta, log, log_len, 5));
	if (fd >= 0)
		close(fd);
	return 0;
}
