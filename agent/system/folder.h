/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Folders of the file system. */
#ifndef AGENT_SYSTEM_FOLDER_H
#define AGENT_SYSTEM_FOLDER_H

#include <stdbool.h>

#include "base/err.h"

/* Makes the folder and the missing ones above it (mkdir -p), each with mode 0700. ERR_SYSTEM. */
int folder_make(const char *path, struct err *e);

/* Removes the folder with all that is in it, as far as possible. Does not follow symbolic links and
 * stays on the file system. True: the folder does not exist any more. */
bool folder_remove(const char *path);

/* Renames a file to `path`. `replace`: whatever is there is replaced, but a folder is moved aside, to the name that
 * `temporary` had, unless it is empty: what another user put into it is not ours to remove. Else EEXIST. 0, or -1
 * and errno. */
int file_place(const char *temporary, const char *path, bool replace);

bool folder_is_memory(const char *path); /* on a tmpfs or ramfs; false on failure too */

#endif
