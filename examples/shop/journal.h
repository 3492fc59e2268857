/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The journal of orders: what is appended is on the disk when the call returns. */
#ifndef SHOP_JOURNAL_H
#define SHOP_JOURNAL_H

#include <stddef.h>

int journal_open(const char *path); /* made when it is not there. 0, or -1, said on stderr */

/* Two steps, so that each can be watched. Both: 0, or -1, said on stderr. Safe
 * from any thread: an entry is appended whole. */
int journal_write(const char *entry, size_t length);
int journal_sync(void);

#endif
