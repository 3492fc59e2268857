/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef BELOW_STACKS_FILE_IDENTITY_H
#define BELOW_STACKS_FILE_IDENTITY_H

#include <stdint.h>

struct file_identity { /* while the file is open; zeroes: none */
	uint64_t device, inode;
};

#endif
