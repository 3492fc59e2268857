/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The healthy windows in a file of SQLite, so that honed does not learn them anew when it is started. One row for each window; those
 * beyond RANGE_WINDOWS_MAX of a type are deleted, and types without a new window for 30 days.
 */
#ifndef CONTROLPLANE_ALERTS_HEALTHY_STORE_H
#define CONTROLPLANE_ALERTS_HEALTHY_STORE_H

#include "controlplane/alerts/healthy_range.h"

struct healthy_store; /* owns a connection, one thread at a time */

/* Opens or creates the file. ERR_STORE: not such a file, or damaged; ERR_VERSION: of a newer Hone; it is left as it is. *ret is the
 * caller's until healthy_store_close(). */
int healthy_store_open(struct healthy_store **ret, const char *path, struct err *e);
void healthy_store_close(struct healthy_store *s); /* NULL is fine */

/* Adds the stored windows of the type, oldest first, to the empty range. windows_ns: those of another length say nothing about these,
 * and are left out. O(rows of the type). Rows that hold impossible values are left out. */
int healthy_store_load(struct healthy_store *s, const char *service, const char *type,
    int64_t window_ns, struct healthy_range *h, struct err *e);

/* Between begin and end: one transaction, which end() commits. O(1) each, and O(log rows). ERR_FULL, ERR_STORE: nothing of it is stored. */
int healthy_store_begin(struct healthy_store *s, struct err *e);
int healthy_store_add(struct healthy_store *s, const char *service, const char *type,
    int64_t window_ns, const struct latency_window *w, struct err *e);
int healthy_store_forget(
    struct healthy_store *s, const char *service, const char *type, struct err *e);
int healthy_store_end(struct healthy_store *s, struct err *e);

#endif
