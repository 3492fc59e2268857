/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The healthy windows in a file of SQLite, so that honed does not learn them anew when it is started. One row for each window; those
 * beyond RANGE_WINDOWS_MAX of a type or a group are deleted, and those of types and groups without a new window for 30 days. Windows that
 * Hone stored before it knew excesses (window_times.h) are deleted.
 */
#ifndef CONTROLPLANE_ALERTS_HEALTHY_STORE_H
#define CONTROLPLANE_ALERTS_HEALTHY_STORE_H

#include "base/hash.h"
#include "controlplane/alerts/healthy_range.h"

/* Whose windows: of a type, or of one of its groups, by the key of its shape. */
struct healthy_key {
	const char *service, *type;
	const struct hash128 *group; /* NULL: of the type */
};

struct healthy_store; /* owns a connection, one thread at a time */

/* Opens or creates the file. ERR_STORE: not such a file, or damaged; ERR_VERSION: of a newer Hone; it is left as it is. *ret is the
 * caller's until healthy_store_close(). */
int healthy_store_open(struct healthy_store **ret, const char *path, struct err *e);
void healthy_store_close(struct healthy_store *s); /* NULL is fine */

/* Adds the stored windows, oldest first, to the empty range. windows_ns: those of another length say nothing about these,
 * and are left out. O(rows of the key). Rows that hold impossible values are left out. */
int healthy_store_load(struct healthy_store *s, const struct healthy_key *of, int64_t window_ns,
    struct healthy_range *h, struct err *e);

/* Between begin and end: one transaction, which end() commits. O(1) each, and O(log rows). ERR_FULL, ERR_STORE: nothing of it is stored. */
int healthy_store_begin(struct healthy_store *s, struct err *e);
int healthy_store_add(struct healthy_store *s, const struct healthy_key *of, int64_t window_ns,
    const struct latency_window *w, struct err *e);
/* Those of the type and of all its groups. */
int healthy_store_forget(
    struct healthy_store *s, const char *service, const char *type, struct err *e);
int healthy_store_end(struct healthy_store *s, struct err *e);

#endif
