/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inside code_file: what its two files share. */
#ifndef BELOW_STACKS_CODE_FILE_INSIDE_H
#define BELOW_STACKS_CODE_FILE_INSIDE_H

#include <elfutils/libdwfl.h>

#include "below/stacks/code_file.h"

struct code_file {
	Dwfl *dwfl; /* with this one module */
	Dwfl_Module *module;
	Elf *elf; /* the module's */
	Dwarf_Addr bias;
	Dwarf_CFI *rules; /* of .eh_frame, or NULL */
	Dwarf_Addr rules_bias;
	struct build_id id;
	Elf_Data *index; /* .eh_frame_hdr, or NULL */
	uint64_t index_address;
};

#endif
