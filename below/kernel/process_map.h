/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Maps of BPF programs whose keys are processes (u32): those that are followed. */
#ifndef BELOW_KERNEL_PROCESS_MAP_H
#define BELOW_KERNEL_PROCESS_MAP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

typedef void process_map_take(void *of, pid_t pid);

/* Calls for each process of the map, in no order. Returns their number. map: its descriptor. O(processes) system calls. */
uint32_t process_map_each(int map, process_map_take *take, void *of);

/* Takes out those that have ended. False: none is left. O(processes) system calls. */
bool process_map_forget_ended(int map);

#endif
