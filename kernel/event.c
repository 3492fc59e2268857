/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernel/event.h"

#include <arpa/inet.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(struct kernel_event) == 48, "one cache line has most of it");

/* ---- words ------------------------------------------------------------------ */

const char *
kernel_event_word(enum kernel_event_kind k)
{
	static const char *const words[KERNEL_KINDS] = {
#define EVENT(name, number, word, text) [number] = word,
#include "kernel/events.tbl.h"
#undef EVENT
	};

	return (unsigned)k < KERNEL_KINDS ? words[k] : "";
}

const char *
kernel_event_text(enum kernel_event_kind k)
{
	static const char *const texts[KERNEL_KINDS] = {
#define EVENT(name, number, word, text) [number] = text,
#include "kernel/events.tbl.h"
#undef EVENT
	};

	return (unsigned)k < KERNEL_KINDS ? texts[k] : "";
}

static const char *const syscalls[] = {
#define SYSCALL(number, name) [number] = #name,
#include "kernel/syscalls.tbl.h"
#undef SYSCALL
};

enum { SYSCALLS = sizeof syscalls / sizeof *syscalls };

const char *
kernel_syscall_name(int number)
{
	return number >= 0 && number < SYSCALLS ? syscalls[number] : NULL;
}

int
kernel_syscall_number(const char *name)
{
	for (int i = 0; i < SYSCALLS; i++)
		if (syscalls[i] != NULL && strcmp(syscalls[i], name) == 0)
			return i;
	return SYSCALL_UNKNOWN;
}

bool
kernel_futex_locks(uint64_t operation, uint64_t value)
{
	enum { MUTEX_WITH_WAITERS = 2 };

	switch (operation & FUTEX_CMD_MASK) {
	case FUTEX_LOCK_PI:
	case 13: /* FUTEX_LOCK_PI2, of Linux 5.14 */
		return true;
	case FUTEX_WAIT:
		return value == MUTEX_WITH_WAITERS;
	}
	return false;
}

/* ---- names ------------------------------------------------------------------ */

int
kernel_names_new(struct kernel_names *ret, struct err *e)
{
	*ret = (struct kernel_names){ texts_new(), texts_new(), texts_new() };
	if (ret->texts == NULL || ret->hosts == NULL || ret->connections == NULL ||
	    texts_intern(ret->texts, "", 0) != 0) {
		kernel_names_release(ret);
		return err_set(e, ERR_MEMORY, "out of memory");
	}
	return 0;
}

void
kernel_names_release(struct kernel_names *n)
{
	texts_free(n->texts);
	texts_free(n->hosts);
	texts_free(n->connections);
	*n = (struct kernel_names){ 0 };
}

/* ---- connections ------------------------------------------------------------ */

/*	here.address 16 | here.port 2 | there.address 16 | there.port 2 | net 4 */
enum { END_BYTES = 18, NET_AT = 2 * END_BYTES, CONNECTION_BYTES = NET_AT + 4 };

static void
write_end(char to[END_BYTES], const struct kernel_end *from)
{
	memcpy(to, from->address, 16);
	memcpy(to + 16, &from->port, 2);
}

static struct kernel_end
read_end(const char *from)
{
	struct kernel_end ret;

	memcpy(ret.address, from, 16);
	memcpy(&ret.port, from + 16, 2);
	return ret;
}

uint32_t
kernel_connection_intern(struct kernel_names *n, const struct kernel_connection *c)
{
	char bytes[CONNECTION_BYTES];

	write_end(bytes, &c->here);
	write_end(bytes + END_BYTES, &c->there);
	memcpy(bytes + NET_AT, &c->net, sizeof c->net);
	return texts_intern(n->connections, bytes, sizeof bytes);
}

struct kernel_connection
kernel_connection(const struct kernel_names *n, uint32_t number)
{
	const char *bytes = texts_get(n->connections, number);
	struct kernel_connection c = { read_end(bytes), read_end(bytes + END_BYTES), 0 };

	memcpy(&c.net, bytes + NET_AT, sizeof c.net);
	return c;
}

uint32_t
kernel_connection_reverse(struct kernel_names *n, uint32_t number)
{
	struct kernel_connection c = kernel_connection(n, number);

	return kernel_connection_intern(n, &(struct kernel_connection){ c.there, c.here, c.net });
}

static const uint8_t mapped_prefix[12] = { [10] = 0xff, [11] = 0xff };

static bool
is_loopback(const uint8_t address[16])
{
	static const uint8_t loopback_6[16] = { [15] = 1 };

	return memcmp(address, loopback_6, sizeof loopback_6) == 0 ||
	       (memcmp(address, mapped_prefix, sizeof mapped_prefix) == 0 &&
		   address[sizeof mapped_prefix] == 127);
}

bool
kernel_connection_is_local(const struct kernel_connection *c)
{
	return is_loopback(c->here.address) || is_loopback(c->there.address) ||
	       memcmp(c->here.address, c->there.address, sizeof c->here.address) == 0;
}

uint64_t
kernel_connection_key(struct kernel_names *n, uint16_t host, uint32_t number, bool reverse)
{
	struct kernel_connection c = kernel_connection(n, number);
	bool local = kernel_connection_is_local(&c);

	if (reverse)
		c = (struct kernel_connection){ c.there, c.here, c.net };
	if (reverse || (!local && c.net != 0)) {
		c.net = local ? c.net : 0;
		if ((number = kernel_connection_intern(n, &c)) == UINT32_MAX)
			return UINT64_MAX;
	}
	return local ? kernel_connection_place(host, number) : number;
}

uint64_t
kernel_connection_place(uint16_t host, uint32_t number)
{
	return (uint64_t)host << 32 | number;
}

void
kernel_end_text(const struct kernel_end *of, char ret[KERNEL_END_TEXT_MAX])
{
	char address[INET6_ADDRSTRLEN] = "";

	if (memcmp(of->address, mapped_prefix, sizeof mapped_prefix) == 0) {
		inet_ntop(AF_INET, of->address + sizeof mapped_prefix, address, sizeof address);
		snprintf(ret, KERNEL_END_TEXT_MAX, "%s:%u", address, of->port);
	} else {
		inet_ntop(AF_INET6, of->address, address, sizeof address);
		snprintf(ret, KERNEL_END_TEXT_MAX, "[%s]:%u", address, of->port);
	}
}

/* The address without brackets, in text[0, len). */
static bool
read_address(struct kernel_end *ret, const char *text, size_t len)
{
	char copy[INET6_ADDRSTRLEN];

	if (len >= sizeof copy)
		return false;
	memcpy(copy, text, len);
	copy[len] = '\0';
	memcpy(ret->address, mapped_prefix, sizeof mapped_prefix);
	return inet_pton(AF_INET, copy, ret->address + sizeof mapped_prefix) == 1 ||
	       inet_pton(AF_INET6, copy, ret->address) == 1;
}

bool
kernel_end_read(struct kernel_end *ret, const char *text)
{
	const char *last = strrchr(text, ':'), *close = strchr(text, ']');
	unsigned long port;
	char *rest;

	*ret = (struct kernel_end){ 0 };
	if (text[0] == '[') {
		if (close == NULL || !read_address(ret, text + 1, (size_t)(close - text) - 1))
			return false;
		if (close[1] == '\0')
			return true;
		if (close[1] != ':')
			return false;
		last = close + 1;
	} else {
		if (last == NULL || strchr(text, ':') != last) /* no port, or IPv6 without one */
			return read_address(ret, text, strlen(text));
		if (!read_address(ret, text, (size_t)(last - text)))
			return false;
	}
	if (last[1] < '0' || last[1] > '9')
		return false;
	port = strtoul(last + 1, &rest, 10);
	if (*rest != '\0' || port > UINT16_MAX)
		return false;
	ret->port = (uint16_t)port;
	return true;
}
