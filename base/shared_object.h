/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parts of a program that use a foreign library which not everybody has: shared objects in ../lib/hone, loaded only when they are needed. */
#ifndef BASE_SHARED_OBJECT_H
#define BASE_SHARED_OBJECT_H

#include "base/err.h"

/*
 * Loads the object `file` of ../lib/hone, seen from the folder of this program, and finds the symbol; it stays loaded. ERR_SYSTEM: it cannot be
 * loaded, in the words of `failure`, with the cause behind them.
 */
int shared_object_symbol(
    void **ret, const char *file, const char *symbol, const char *failure, struct err *e);

#endif
