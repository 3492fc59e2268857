/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What below/stacks/ itself reads of a foreign process: by the first byte
 *	0: /proc/PID/maps: mappings are in order, do not overlap, and are found
 *	1: a file whose notes hold the build id
 *	2: the expression of an unwinding rule, over any registers and stack bytes
 * Files as a whole are read by libdw, in a process of its own (stacks_test.c).
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "below/stacks/code_file_inside.h"
#include "below/stacks/code_maps.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void
maps(const uint8_t *data, size_t len)
{
	char *text = malloc(len + 1);
	struct code_maps m;

	if (text == NULL)
		return;
	memcpy(text, data, len);
	if (code_maps_parse(&m, text, len)) {
		for (uint32_t i = 0; i < m.count; i++)
			if (m.maps[i].start >= m.maps[i].end ||
			    (i > 0 && m.maps[i].start < m.maps[i - 1].end) ||
			    code_maps_find(&m, m.maps[i].start) != (int)i ||
			    code_maps_find(&m, m.maps[i].end - 1) != (int)i ||
			    m.maps[i].path < text ||
			    m.maps[i].path + strlen(m.maps[i].path) > text + len)
				abort();
		code_maps_release(&m);
	}
	free(text);
}

static void
notes(const uint8_t *data, size_t len)
{
	static int fd = -1;

	if (fd < 0)
		fd = memfd_create("file", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, 0) != 0 || pwrite(fd, data, len, 0) != (ssize_t)len)
		abort();
	if (build_id_of(fd).len > BUILD_ID_MAX)
		abort();
}

static void
rule(const uint8_t *data, size_t len)
{
	enum { OPS_MAX = 64, OP_BYTES = 10 };
	struct code_state state = { .low = 0x7000, .bytes = data, .nbytes = len };
	struct code_machine m = { .state = &state, .cfa = 0x7010 };
	Dwarf_Op ops[OPS_MAX] = { 0 };
	size_t n = 0;

	for (; n < OPS_MAX && len >= OP_BYTES; n++, data += OP_BYTES, len -= OP_BYTES) {
		ops[n].atom = data[0];
		memcpy(&ops[n].number, data + 1, sizeof ops[n].number);
		ops[n].number2 = data[9];
		state.registers[n % CODE_REGISTERS] += ops[n].number;
	}
	if (code_machine_run(&m, ops, n) != 0 && m.failed && m.depth < 0)
		abort();
	if (m.depth < 0 || m.depth > 32)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	if (len < 1)
		return 0;
	switch (data[0] % 3) {
	case 0:
		maps(data + 1, len - 1);
		break;
	case 1:
		notes(data + 1, len - 1);
		break;
	default:
		rule(data + 1, len - 1);
	}
	return 0;
}
