/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Folders, and what /proc tells of processes. */
#ifndef AGENT_FILES_H
#define AGENT_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/* mkdir -p, for the owner alone where it makes one. */
int  folder_make(const char *path, struct err *e);
/* rm -rf, as far as it goes; follows no links, stays on the file system. True: nothing is left. */
bool folder_remove(const char *path);
bool folder_is_memory(const char *path);	/* on a tmpfs */

/* A number that is another one for another program file (also one that was built anew); 0: cannot be told. */
uint64_t process_program(pid_t pid);
bool process_is(pid_t pid, const char *comm);	/* lives, and is called so */
int64_t process_cpu_us(pid_t pid);		/* of its life so far; 0: gone */
int64_t process_memory_bytes(void);		/* of this process, resident */
/* The CPU time of a process and of its children together. */
int64_t process_family_cpu_us(pid_t pid);
pid_t pid_in_file(const char *path);		/* 0: none */

#endif
