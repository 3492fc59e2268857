/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Opens the file that a process has mapped, if it can be had; and tells it from another one that has taken its name. */
#ifndef BELOW_STACKS_MAPPED_FILE_H
#define BELOW_STACKS_MAPPED_FILE_H

#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/types.h>

#include "below/stacks/code_maps.h"

/* PROCMAP_QUERY of <linux/fs.h> since Linux 6.11, which Debian 12 does not have; its argument has this many bytes. */
enum { MAPPED_QUERY_BYTES = 104 };
#define MAPPED_QUERY _IOWR('f', 17, char[MAPPED_QUERY_BYTES])

enum mapped_state { MAPPED_OPEN, MAPPED_REPLACED, MAPPED_UNREADABLE };

/*
 * Tries /proc/PID/map_files, /proc/PID/root and the path, and takes the first that is a regular file of at most
 * bytes_max and that file_is_mapped() accepts. maps_fd: /proc/PID/maps, which Linux 6.11 and later ask for the build id of
 * what is mapped. On MAPPED_OPEN *fd is the caller's. "[vdso]" is opened as a copy of the own one.
 */
enum mapped_state mapped_file_open(
    pid_t pid, int maps_fd, const struct code_map *map, uint64_t bytes_max, int *fd);

#endif
