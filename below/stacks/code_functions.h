/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where the functions of a name can be probed: their begin at a low price, and all ways out (probe_price.h). */
#ifndef BELOW_STACKS_CODE_FUNCTIONS_H
#define BELOW_STACKS_CODE_FUNCTIONS_H

#include "below/probes/file_probes.h"
#include "below/stacks/code_file.h"

/* name: as code_file_name() gives it; of a C++ function without its scope. fd: the file. A part of a function longer than 64 KiB is not read:
 * it has no exits then. O(symbols + bytes of the functions). */
void code_file_functions(struct file_functions *ret, struct code_file *f, int fd, const char *name);

/* Whether the linker's name is that of a function that is called so: "lookup" of "lookup.isra.0" and of "_ZN5Store6lookupEi". Pure. */
bool code_name_is_of(const char *symbol, const char *name);

#endif
