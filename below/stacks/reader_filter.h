/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which system calls the process that reads the files of traced programs may make (seccomp(2)). A hostile file that takes
 * libdw over can then read files and answer, and nothing else: no socket, no further process, no signal, no file opened for
 * writing, no memory made executable, no look into other processes' memory by ptrace(2) or process_vm_readv(2).
 */
#ifndef BELOW_STACKS_READER_FILTER_H
#define BELOW_STACKS_READER_FILTER_H

#include <stdbool.h>

/*
 * From now on this thread, and every thread and process that it starts, may make only these calls; any other one fails with
 * EPERM, so that a C library that tries something new goes on without it. A call of another architecture (32 bits) ends the
 * process. Cannot be undone. Sets PR_SET_NO_NEW_PRIVS. False: this kernel has no such filters, or does not permit them here;
 * then nothing has changed but that.
 */
bool reader_filter_begin(void);

#endif
