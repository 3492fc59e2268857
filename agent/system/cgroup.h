/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which processes are in a control group. */
#ifndef AGENT_SYSTEM_CGROUP_H
#define AGENT_SYSTEM_CGROUP_H

#include <stdint.h>
#include <sys/types.h>

enum { CGROUP_DEPTH_MAX = 16 };

/* Appends the processes of the group with this folder, and of those below it up to CGROUP_DEPTH_MAX, to ret, which has n of at most `max`.
 * Returns their number with n. A folder that does not exist has none. Reads a file of each group. */
uint32_t cgroup_processes(const char *folder, pid_t *ret, uint32_t n, uint32_t max);

#endif
