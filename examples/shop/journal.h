/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The journal of orders, a file. */
#ifndef SHOP_JOURNAL_H
#define SHOP_JOURNAL_H

#include <stddef.h>

int journal_open(
    const char *path); /* creates it if needed. 0; -1: failed, with a message on stderr */

/* Append an entry, as a whole; flush the file to the disk: two calls, so that each can be traced. 0; -1:
 * failed, with a message on stderr. From any thread. */
int journal_write(const char *entry, size_t length);
int journal_sync(void);

#endif
