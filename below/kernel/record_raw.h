/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What record.bpf.c writes to the ring buffers, and what it is told. The same in both worlds: uses only types of fixed
 * width, which the includer defines (u8 to u64, s32, s64). Each record begins with a struct record_head; its CPU is that of
 * the ring in which it lies.
 */
#ifndef BELOW_KERNEL_RECORD_RAW_H
#define BELOW_KERNEL_RECORD_RAW_H

enum record_kind { /* those of enum kernel_event_kind */
#define EVENT(name, number, word, text) RECORD_##name = number,
#include "kernel/events.tbl.h"
#undef EVENT
};

/* Groups of events, as a person chooses them. RECORD_OF_SCHED, forks, ends and names are always recorded. */
enum record_group {
	RECORD_OF_IRQ = 1,         /* contexts of interrupts */
	RECORD_OF_SYSCALLS = 2,    /* system calls */
	RECORD_OF_NET = 4,         /* what threads send and receive by TCP */
	RECORD_OF_PACKETS = 8,     /* packets of TCP */
	RECORD_OF_BLOCK = 16,      /* answers of storage */
	RECORD_OF_FAULTS = 32,     /* page faults of programs, counted */
	RECORD_OF_MIGRATIONS = 64, /* threads that change the CPU, counted */
	RECORD_OF_UNITS =
	    128, /* the unit of a request that a thread works for, by libhone's context */
	RECORD_GROUPS = 255
};

/* What a CPU was doing when it woke a thread: the innermost of its interrupts. */
enum record_by {
	RECORD_BY_TASK,
	RECORD_BY_KERNEL_TASK,
	RECORD_BY_IRQ,
	RECORD_BY_SOFTIRQ,
	RECORD_BY_HRTIMER,
	RECORD_BY_IPI,
	RECORD_BY_STORAGE /* an interrupt of which storage has said that it has answered */
};

enum record_flag { /* of RECORD_SWITCH: those of enum kernel_switch_flag */
	RECORD_ASLEEP = 1,
	RECORD_UNINTERRUPTIBLE = 2,
	RECORD_IOWAIT = 4,
	RECORD_LOCK = 8,
	RECORD_ENDED = 16,
	RECORD_FOLLOWING =
	    1 /* of RECORD_LOST: what came before of a process that is followed from now on; count is 0 */
};

enum {
	RECORD_COMM = 16,
	RECORD_TEXT = 64,
	RECORD_COUNTED_MAX =
	    8, /* tracepoints that are counted at a time, beside those of the groups */
	RECORD_COUNTED_FAULT = 100,
	RECORD_COUNTED_MIGRATION,
	RECORD_NO_VECTOR = 0xffff,
	RECORD_SYSCALL_NONE = -1,
	RECORD_SYSCALL_UNKNOWN = -2
};

struct record_head {
	u64 time_ns;  /* bpf_ktime_get_ns() */
	u32 tid, pid; /* the thread that the CPU ran; 0: the idle task */
	u8 kind;      /* enum record_kind */
	u8 flags;     /* RECORD_SWITCH: enum record_flag; RECORD_SYSCALL_IN: RECORD_LOCK or 0 */
	u16 vector;   /* of the interrupt: WAKING, CONTEXT_*; RECORD_NO_VECTOR */
	u32 a; /* SWITCH: next tid. WAKING, FORK: tid of the other. SYSCALL_*: number. COUNTED: which. SEND, RECEIVE: network namespace */
};

struct record_switch {
	struct record_head head;
	u32 next_pid;
	s32 syscall;
	u32 owner, pad;
	u64 lock;
};

struct record_other { /* WAKING, FORK, EXIT, NAME, CONTEXT_*, BLOCK_DONE, COUNTED */
	struct record_head head;
	u32 pid; /* of the other thread. EXIT after exec: 0 */
	u8 by;   /* WAKING: enum record_by. CONTEXT_*: the kind of it */
	u8 is_new; /* WAKING: for the first time. NAME: the thread waits. CONTEXT_IN: a name follows */
	u8 pad[2];
};

struct
    record_name { /* NAME; FORK: with the name of the new thread. CONTEXT_IN of an irq: its handler */
	struct record_other other;
	char name[RECORD_COMM];
};

struct record_value { /* SYSCALL_*: first argument, result; PACKET_*, UNIT: id */
	struct record_head head;
	s64 value;
};

struct
    record_ends { /* of a connection; IPv4 is mapped into IPv6; ports of the machine's byte order */
	u8 here[16], there[16];
	u16 here_port, there_port;
};

struct record_message { /* SEND, RECEIVE */
	struct record_head head;
	struct record_ends ends;
	u32 bytes; /* 0: not known */
};

struct record_text { /* SEND, RECEIVE; head.flags is the number of bytes in text */
	struct record_message message;
	u8 text[RECORD_TEXT]; /* as it was sent, whatever it is */
};

struct record_lost { /* LOST: at head.time_ns there was room again */
	struct record_head head;
	u64 count, from_ns;
};

struct record_gap { /* what a CPU has lost and not told yet; count 0: nothing */
	u64 count, from_ns;
};

struct record_thread { /* of the list of all threads */
	u64 time_ns;
	u32 tid, pid, parent_pid, asleep;
	char name[RECORD_COMM];
};

struct record_place { /* where a process' threads have their context (instrument/context_place.h) */
	s64 context;  /* from the thread pointer; 0: not known yet */
	u64 address;  /* of what the process publishes, which says it */
	u64 unit_id;  /* offset in the context */
};

struct record_options {
	u32 groups;      /* of enum record_group */
	u32 filter;      /* 1: only processes in the map `followed` */
	u32 texts;       /* 1: the begin of what is sent and received, too */
	u32 excluded[2]; /* processes; 0: none */
};

#endif
