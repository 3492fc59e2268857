/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The receipts of earlier orders, in a file. */
#ifndef SHOP_RECEIPTS_H
#define SHOP_RECEIPTS_H

#include <stdint.h>

/* Opens the file, or creates it, and starts a thread. Returns 0, or -1 after a message. Once per process. */
int receipts_open(const char *path);

/* The fault page_cache: the file's pages are dropped from memory periodically, and receipts_read() reads `degree` times
 * as many. 0: off. Writes the file at the first call that is not 0: 64 MiB. */
void receipts_cold(int degree);

/* The sum of the receipts of a user; 0 if the fault is off, and for three calls in four. */
int64_t receipts_read(int64_t user);

#endif
