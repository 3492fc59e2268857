/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who begins requests: addresses, networks, hosts, processes. Pure. */
#ifndef KERNEL_REQUESTS_GATEWAYS_H
#define KERNEL_REQUESTS_GATEWAYS_H

#include "kernel/event.h"

struct gateways;

enum { GATEWAYS_MAX = 1024 }; /* of each kind */

struct gateways *gateways_new(void); /* NULL: out of memory */
void gateways_free(struct gateways *g);

/* Adds a list with commas between: each is an address ("10.0.0.1", "fe80::1"), one with a port ("10.0.0.1:80", "[fe80::1]:80"), or a
 * network ("10.0.0.0/8", "fe80::/10"), or a process of any host ("pid:1234"). ERR_INPUT: one of them is not readable, or they are too many; ERR_MEMORY. */
int gateways_add(struct gateways *g, const char *list, struct err *e);
/* Adds a process, of one host or of any, as of a cgroup that the caller has read. ERR_INPUT: too many; ERR_MEMORY. */
enum { GATEWAY_ANY_HOST = KERNEL_HOSTS_MAX };
int gateways_add_process(struct gateways *g, uint16_t host, uint32_t pid, struct err *e);
void gateways_forget_processes(struct gateways *g); /* those of a list, too */

/* Whether one has this address. O(gateways). */
bool gateways_match(const struct gateways *g, const struct kernel_end *end);
/* Whether this process is one. O(gateways). */
bool gateways_match_process(const struct gateways *g, uint16_t host, uint32_t pid);

#endif
