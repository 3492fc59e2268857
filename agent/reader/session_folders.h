/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Folders of sessions, and of processes in them, as they come and go. */
#ifndef AGENT_READER_SESSION_FOLDERS_H
#define AGENT_READER_SESSION_FOLDERS_H

#include <stdbool.h>
#include <stdint.h>

struct lttng_source;
struct session_folder;

/* Takes notice of all that came or went up to this call: after it, src->processes is complete. */
void session_folders_poll(struct lttng_source *src, int64_t now_ns);
/* NULL: out of memory, or a path is too long. */
struct session_folder *session_folder_add(
    struct lttng_source *src, uint32_t number, const char *output_dir, const char *shm_dir);
void session_folders_release(struct lttng_source *src);

#endif
