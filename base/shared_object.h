/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parts of a program that use a foreign library which not everybody has: shared objects in ../lib/hone, loaded only when they are needed. */
#ifndef BASE_SHARED_OBJECT_H
#define BASE_SHARED_OBJECT_H

#include "base/err.h"

/*
 * Loads the object `file` and finds the symbol; it stays loaded. Its folder is ../lib/hone, seen from that of this program, or ../../lib/hone (a
 * program of the build folder's tests/scenario), if the file is not in the first. ERR_SYSTEM: it cannot be loaded, in the words of `failure`, with
 * the cause behind them.
 */
int shared_object_symbol(
    void **ret, const char *file, const char *symbol, const char *failure, struct err *e);

#endif
