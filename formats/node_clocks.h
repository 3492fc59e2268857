/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * By how much the clock of one node may be ahead of another's, from pairs of a client span on the first and its server span on the second. A
 * server begins after its client, so by clocks that agree no server begins before; by one that is ahead by d every server begins at
 * least d later than its client. The least distance of all pairs is thus the most that the clock can be ahead. (Of the two bounds by
 * messages of Duda, Harrus, Haddad and Bernard, "Estimating global time in distributed systems", ICDCS 1987, it is the one that does not depend
 * on when a server ends its span after it answered.)
 *
 * A clock drifts, so only the last NODE_CLOCKS_WINDOW to 2 NODE_CLOCKS_WINDOW pairs count. Bounded: NODE_CLOCKS_MAX pairs of nodes, 48 bytes
 * each with their slots; when they are full, all are forgotten. Pure.
 */
#ifndef FORMATS_NODE_CLOCKS_H
#define FORMATS_NODE_CLOCKS_H

#include <stdint.h>

enum { NODE_CLOCKS_MAX = 4096, NODE_CLOCKS_WINDOW = 64 };

struct node_clocks;

struct node_clocks *node_clocks_new(void);    /* NULL: out of memory */
void node_clocks_free(struct node_clocks *c); /* NULL is fine */

/* Notes a pair whose server began later_ns after its client, each by its own clock, and returns the most that the server's clock can be
 * ahead of the client's: the least later_ns of the window with this pair; 0 if that is negative. O(1). */
int64_t node_clocks_note(
    struct node_clocks *c, uint32_t client_node, uint32_t server_node, int64_t later_ns);

#endif
