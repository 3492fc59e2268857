/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inside code_file: what its two files share. */
#ifndef BELOW_STACKS_CODE_FILE_INSIDE_H
#define BELOW_STACKS_CODE_FILE_INSIDE_H

#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>

#include "below/stacks/code_file.h"

struct code_file {
	Dwfl *dwfl; /* with this one module */
	Dwfl_Module *module;
	Elf *elf; /* the module's */
	Dwarf_Addr bias;
	Dwarf_CFI *rules; /* of .eh_frame, or NULL */
	Dwarf_Addr rules_bias;
	bool library; /* code_is_library() */
	struct {
		uint64_t begin, end;
	} links[4]; /* sections with jumps to functions of other files: .plt, .plt.sec, .plt.got */
	Elf_Data *index; /* .eh_frame_hdr, or NULL */
	uint64_t index_address;
};

struct code_machine { /* evaluates the expression of a rule */
	const struct code_state *state;
	uint64_t cfa;
	uint64_t stack[32];
	int depth;
	bool failed, missed; /* malformed or not known here; needs bytes that were not copied */
	bool is_value;       /* the result is a value, not where it lies */
};

/* The result of a DWARF expression (DWARF 5, 2.5); 0, and m->failed or m->missed: there is none. At most 1000 operations. */
uint64_t code_machine_run(struct code_machine *m, const Dwarf_Op *ops, size_t count);

#endif
