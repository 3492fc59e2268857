/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The kernel event: the one record that all analyses of this room see, whether it comes live or from a file, and whoever
 * recorded it. Sources make it of what they have; analyses take what is there, in the order of time:
 *
 *	live, LTTng, perf, ftrace, text ----> struct kernel_event, one by one ----> kernel_take(): graph, requests, spans
 *
 * A source that records lean (kernel/off_cpu.h) gives no contexts and no system calls, but says at each waking what the CPU
 * was doing, and at each switch in which system call the thread is; one that records all gives contexts and system calls,
 * and may leave that open. Both give the same answers.
 */
#ifndef KERNEL_EVENT_H
#define KERNEL_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/texts.h"
#include "kernel/off_cpu.h"

enum kernel_event_kind {
#define EVENT(name, number, word, text) KERNEL_##name = number,
#include "kernel/events.tbl.h"
#undef EVENT
	KERNEL_KINDS
};

const char *kernel_event_word(enum kernel_event_kind k); /* "switch"; "" for an unknown number */
const char *kernel_event_text(
    enum kernel_event_kind k); /* what it says; "" for an unknown number */

enum kernel_context {     /* what a CPU does instead of running its thread */
	CONTEXT_IRQ,      /* vector: its number */
	CONTEXT_SOFTIRQ,  /* vector: enum softirq_vector (kernel/off_cpu.h) */
	CONTEXT_HRTIMER,  /* a timer of high resolution has run out */
	CONTEXT_IPI,      /* another CPU asks for something */
	CONTEXT_RECEPTION /* a packet is handed to the network stack */
};

/* Of a thread that leaves a CPU. Without ASLEEP it could have gone on. */
enum kernel_switch_flag {
	SWITCH_ASLEEP = 1,
	SWITCH_UNINTERRUPTIBLE = 2,
	SWITCH_IOWAIT = 4, /* the kernel marks it as waiting for storage */
	SWITCH_LOCK =
	    8, /* it is in futex(2), for a lock: kernel_futex_locks(), or the owner is known */
	SWITCH_ENDED = 16 /* it has exited */
};

enum { KERNEL_VECTOR_NONE = UINT16_MAX };

/*
 * 48 bytes. tid is the thread that the CPU ran when it happened, pid its process; 0: the idle task, or not known. Texts are numbers
 * in struct kernel_names; 0 is "".
 */
struct kernel_event {
	int64_t time_ns;
	uint32_t tid, pid;
	uint16_t cpu;
	uint16_t
	    host; /* number in kernel_names.hosts: threads of several hosts may have the same tid */
	uint8_t kind;  /* enum kernel_event_kind */
	uint8_t flags; /* SWITCH: enum kernel_switch_flag; SYSCALL_IN: SWITCH_LOCK or 0; else 0 */
	uint16_t reserved;
	union {
		struct {
			uint32_t next_tid, next_pid; /* 0: the idle task */
			int32_t
			    syscall; /* that tid is in, by number for x86-64; SYSCALL_NONE, SYSCALL_UNKNOWN */
			uint32_t owner; /* SWITCH_LOCK: thread that holds it; 0: not known */
			uint64_t lock;  /* its address; 0: not known */
		} change;               /* SWITCH; tid leaves */
		struct {
			uint32_t tid, pid; /* the thread that is woken */
			uint8_t by;      /* enum wake_context; WAKE_UNKNOWN: as the contexts say */
			bool is_new;     /* for the first time, after its FORK */
			uint16_t vector; /* of the irq or softirq; KERNEL_VECTOR_NONE */
		} waking;
		struct {
			uint32_t tid, pid; /* the new thread, and its process */
		} child;                   /* FORK */
		struct {
			uint32_t name;
			bool
			    asleep; /* at this time it is not on a CPU, and waits: what a state dump says */
		} thread;           /* NAME; of tid and pid, which need not be the CPU's */
		struct {
			uint8_t kind;    /* enum kernel_context */
			uint16_t vector; /* KERNEL_VECTOR_NONE */
			uint32_t name;   /* of the irq's handler, or of the function; 0 */
		} context;
		struct {
			int32_t number; /* for x86-64; SYSCALL_UNKNOWN: only the name is known */
			uint32_t name;  /* without sys_; 0: kernel_syscall_name(number) */
			int64_t value; /* SYSCALL_IN: the first argument; SYSCALL_OUT: the result */
			uint64_t lock; /* SYSCALL_IN with SWITCH_LOCK: address of the lock; 0 */
		} call;
		struct {
			uint32_t connection; /* in kernel_names.connections: from the side of tid */
			uint32_t bytes;      /* 0: not known */
			uint32_t text;       /* how it begins, if that is text: "GET /cart"; 0 */
		} message;                   /* SEND, RECEIVE */
		struct {
			uint64_t
			    id; /* the packet that leaves and the one that arrives have the same id */
		} packet;       /* PACKET_OUT, PACKET_IN */
		struct {
			uint64_t
			    id; /* of libhone's context; 0: none. It has been so since the thread was last seen, or less long */
		} unit;
		struct {
			uint32_t name;
			uint32_t value; /* how often; 1 usually */
		} counted;
		struct {
			uint32_t folded; /* the outermost function first, with ; between */
		} stack;
		struct {
			uint64_t count;  /* 0: not known how many */
			int64_t from_ns; /* they were lost between this and time_ns */
		} lost; /* of this cpu; of all CPUs of the host with KERNEL_CPU_ALL */
	};
};

enum { KERNEL_CPU_ALL = UINT16_MAX };

/* The two ends of a TCP connection. IPv4 addresses are mapped into IPv6 (RFC 4291, 2.5.5.2). */
struct kernel_end {
	uint8_t address[16];
	uint16_t port; /* of the machine's byte order */
};

struct kernel_connection {
	struct kernel_end here, there; /* as the thread sees it that sends or receives */
	uint32_t
	    net; /* the network namespace of the socket: number of its inode in nsfs; 0: not known */
};

/* Names that events refer to by number. One for each set of sources that are analysed together. */
struct kernel_names {
	struct texts *texts; /* 0 is "" */
	struct texts *hosts; /* at most KERNEL_HOSTS_MAX */
	struct texts *
	    connections; /* each is a struct kernel_connection without padding; kernel_connection() */
};

enum { KERNEL_HOSTS_MAX = 4096 };

int kernel_names_new(struct kernel_names *ret, struct err *e); /* ERR_MEMORY; then it is released */
void kernel_names_release(struct kernel_names *n);
/* The number of a connection, which is added if it is new. UINT32_MAX: out of memory. O(1) expected. */
uint32_t kernel_connection_intern(struct kernel_names *n, const struct kernel_connection *c);
/* The connection of a number that kernel_connection_intern() gave. O(1). */
struct kernel_connection kernel_connection(const struct kernel_names *n, uint32_t number);
/* The same connection as the other side sees it, in the same network namespace. UINT32_MAX: out of memory. */
uint32_t kernel_connection_reverse(struct kernel_names *n, uint32_t number);
/* Neither end leaves the network namespace of the other one: one is a loopback address (RFC 1122, 3.2.1.3 (g); RFC 4291, 2.5.3), or both have
 * the same address, which is one of the namespace itself. */
bool kernel_connection_is_local(const struct kernel_connection *c);
/*
 * What two sockets have to have in common to be the same side of one connection; with `reverse`, what the other side's socket
 * has to have. Of a connection that is local it is host, namespace, and both ends; of others both ends alone, since they may lead to another
 * namespace or host. The low 32 bits are the number of a connection with these ends. Sockets of other connections may have the same key, if
 * several namespaces have the same addresses: kernel_connection_place() tells them apart. UINT64_MAX: out of memory. O(1) expected.
 */
uint64_t kernel_connection_key(
    struct kernel_names *n, uint16_t host, uint32_t number, bool reverse);
/* Where the socket is, and its ends: another number for each. */
uint64_t kernel_connection_place(uint16_t host, uint32_t number);
/* "10.1.2.3:80" or "[fe80::1]:80", terminated. */
enum { KERNEL_END_TEXT_MAX = 64 };
void kernel_end_text(const struct kernel_end *of, char ret[KERNEL_END_TEXT_MAX]);
/* Reads what kernel_end_text() writes, and an address without a port (port 0). False: it is none. */
bool kernel_end_read(struct kernel_end *ret, const char *text);

/* Takes one event, in the order of time; of equal times in the order in which they were recorded. It is valid during the call. A
 * negative result ends the source with that code. */
typedef int kernel_take(void *of, const struct kernel_event *ev, struct err *e);

/* Names and numbers of Linux' system calls for x86-64, without sys_: "futex". NULL, SYSCALL_UNKNOWN: unknown. O(1), O(number of
 * system calls): keep what it gave. */
const char *kernel_syscall_name(int number);
int kernel_syscall_number(const char *name);

/* Whether futex(2) with this operation and value waits for a lock: FUTEX_LOCK_PI, or FUTEX_WAIT for the value with which glibc marks a mutex
 * that others wait for (2). A wait for a condition, a semaphore, or the end of a thread has other values or FUTEX_WAIT_BITSET
 * (glibc 2.36: nptl/lowlevellock.c, futex-internal.c). */
bool kernel_futex_locks(uint64_t operation, uint64_t value);

#endif
