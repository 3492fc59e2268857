/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernel/requests/gateways.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

struct gateway {
	struct kernel_end end; /* port 0: any */
	uint32_t bits;         /* of the address that count, 0 to 128 */
};

struct gateway_process {
	uint16_t host;
	uint32_t pid;
};

struct gateways {
	struct gateway *addresses;
	struct gateway_process *processes;
	uint32_t naddresses, addresses_cap, nprocesses, processes_cap;
};

enum { ADDRESS_BITS = 128, IPV4_BITS = 32, ITEM_MAX = 80 };

struct gateways *
gateways_new(void)
{
	return calloc(1, sizeof(struct gateways));
}

void
gateways_free(struct gateways *g)
{
	if (g == NULL)
		return;
	free(g->addresses);
	free(g->processes);
	free(g);
}

/* The number of bits after the slash: of IPv4 up to 32, which are the last ones of the mapped address. */
static bool
read_bits(uint32_t *ret, const char *text, bool ipv4)
{
	uint32_t most = ipv4 ? IPV4_BITS : ADDRESS_BITS;
	char *rest;
	unsigned long n;

	if (text[0] < '0' || text[0] > '9')
		return false;
	n = strtoul(text, &rest, 10);
	if (*rest != '\0' || n > most)
		return false;
	*ret = ADDRESS_BITS - most + (uint32_t)n;
	return true;
}

/* Changes item. */
static bool
read_gateway(struct gateway *ret, char *item)
{
	char *slash = strchr(item, '/');

	ret->bits = ADDRESS_BITS;
	if (slash != NULL)
		*slash = '\0';
	if (!kernel_end_read(&ret->end, item))
		return false;
	if (slash == NULL)
		return true;
	return ret->end.port == 0 && read_bits(&ret->bits, slash + 1, strchr(item, ':') == NULL);
}

int
gateways_add_process(struct gateways *g, uint16_t host, uint32_t pid, struct err *e)
{
	if (g->nprocesses == GATEWAYS_MAX)
		return err_set(e, ERR_INPUT, "more than %d processes as gateways", GATEWAYS_MAX);
	if (!array_reserve(g->processes, g->processes_cap, g->nprocesses + 1))
		return err_set(e, ERR_MEMORY, "out of memory");
	g->processes[g->nprocesses++] = (struct gateway_process){ host, pid };
	return 0;
}

/* "pid:1234" */
static int
add_pid(struct gateways *g, const char *item, struct err *e)
{
	const char *digits = item + 4;
	char *rest;
	unsigned long pid = strtoul(digits, &rest, 10);

	if (digits[0] < '0' || digits[0] > '9' || *rest != '\0' || pid == 0 || pid > INT32_MAX)
		return err_set(e, ERR_INPUT, "%s: no process, as pid:1234", item);
	return gateways_add_process(g, GATEWAY_ANY_HOST, (uint32_t)pid, e);
}

int
gateways_add(struct gateways *g, const char *list, struct err *e)
{
	char item[ITEM_MAX], copy[ITEM_MAX];
	int rc;

	for (const char *at = list, *end;; at = end + 1) {
		size_t len = strcspn(at, ",");
		struct gateway found;

		end = at + len;
		snprintf(
		    copy, sizeof copy, "%.*s", (int)(len < sizeof copy ? len : sizeof copy), at);
		memcpy(item, copy, sizeof item);
		if (len < sizeof item && strncmp(item, "pid:", 4) == 0) {
			if ((rc = add_pid(g, item, e)) != 0)
				return rc;
			if (*end == '\0')
				return 0;
			continue;
		}
		if (len >= sizeof item || !read_gateway(&found, item))
			return err_set(e, ERR_INPUT,
			    "%s: neither an address, as 10.0.0.1 or 10.0.0.1:80, nor a network, as 10.0.0.0/8, nor a process, as pid:1234",
			    copy);
		if (g->naddresses == GATEWAYS_MAX)
			return err_set(e, ERR_INPUT, "more than %d gateways", GATEWAYS_MAX);
		if (!array_reserve(g->addresses, g->addresses_cap, g->naddresses + 1))
			return err_set(e, ERR_MEMORY, "out of memory");
		g->addresses[g->naddresses++] = found;
		if (*end == '\0')
			return 0;
	}
}

void
gateways_forget_processes(struct gateways *g)
{
	g->nprocesses = 0;
}

static bool
same_bits(const uint8_t *a, const uint8_t *b, uint32_t bits)
{
	uint32_t whole = bits / 8, rest = bits % 8;

	if (memcmp(a, b, whole) != 0)
		return false;
	return rest == 0 || (a[whole] ^ b[whole]) >> (8 - rest) == 0;
}

bool
gateways_match(const struct gateways *g, const struct kernel_end *end)
{
	for (const struct gateway *w = g->addresses; w < g->addresses + g->naddresses; w++)
		if ((w->end.port == 0 || w->end.port == end->port) &&
		    same_bits(w->end.address, end->address, w->bits))
			return true;
	return false;
}

bool
gateways_match_process(const struct gateways *g, uint16_t host, uint32_t pid)
{
	for (const struct gateway_process *p = g->processes; p < g->processes + g->nprocesses; p++)
		if ((p->host == host || p->host == GATEWAY_ANY_HOST) && p->pid == pid)
			return true;
	return false;
}
