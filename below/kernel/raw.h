/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the BPF programs write to the ring buffer, and what they are told. The same in both worlds: uses only types of
 * fixed width, which the includer defines (u8 to u64, s32, s64).
 *
 *	out                                    in
 *	 |-- RAW_STACK (OUT, its stack)         |-- RAW_WAIT
 *	 |-- RAW_STACK (HOLDER, of the owner)
 */
#ifndef BELOW_KERNEL_RAW_H
#define BELOW_KERNEL_RAW_H

enum raw_context_of { /* enum below_context of wire/below.h */
	RAW_OF_HONE,
	RAW_OF_OTEL_FIXED,
	RAW_OF_OTEL_OFFSET,
	RAW_OF_OTEL_DESCRIPTOR,
	RAW_OF_OTEL_MODULE
};

enum raw_kind { RAW_WAIT = 1, RAW_STACK, RAW_HIT, RAW_BEGUN };
/* When a stack was copied. A sample is one at RAW_CLOCK. */
enum raw_when { RAW_OUT, RAW_HOLDER, RAW_CLOCK, RAW_WHENS };

/* What the CPU was doing: the top of its interrupts. RAW_UNSEEN: the kernel did not report it. */
enum raw_context { RAW_TASK, RAW_KERNEL_TASK, RAW_IRQ, RAW_SOFTIRQ, RAW_HRTIMER, RAW_UNSEEN };

enum {
	RAW_STACK_PIECE = 1024,
	RAW_STACK_PIECES = 16, /* PostgreSQL and nginx need more than 8 KiB for some stacks */
	RAW_REGISTERS = 21,    /* struct pt_regs */
	RAW_FUTEX = 202,
	RAW_PROBES_MAX = 4096, /* places that are probed at a time */
	RAW_TEXT_MAX = 32,
	RAW_NAME_BYTES = 16, /* TASK_COMM_LEN */
	RAW_VALUES_MAX = 6   /* arguments of a probe that are read */
};

struct raw_process { /* that is followed */
	s64 context; /* offset of its threads' contexts from the thread pointer; 0: not known yet */
	u64 address; /* of struct hone_context_place in its memory, which has that offset; 0: not needed */
	u16 trace_id, unit_id, request_type,
	    probed; /* offsets in a context; not used while `context` is 0 */
	u32 all;    /* 1: all threads, in requests or not; no context is read */
	u32 waits;  /* 1: waits and samples, too, not only what is probed */
	u32 before; /* 1: waits and samples also of threads that are in no probed request, without ids */
	u64 since_ns; /* when it was followed, as it is now */
	u32 of; /* enum raw_context_of. Of an OpenTelemetry SDK `context` and `address` are those of its pointer */
};

struct raw_otel {                    /* OTEP 4947 */
	u8 trace_id[16], span_id[8]; /* most significant byte first */
	u8 valid;
};

struct raw_place { /* the first members of struct hone_context_place (instrument/context_place.h) */
	u64 magic;
	u32 size, context_bytes;
	s64 offset;
	u16 trace_id_high, trace_id, unit_id, request_type, sampled,
	    probed; /* offsets in a context */
};

struct raw_request {
	u64 trace_id, unit_id;
	u32 type;
	u32 probed;
};

/* Each record begins with it. The numbers of a CPU's records, 1, 2, 3..., also of those that did not fit into its ring, show whether one is
 * missing. They are almost in order: an interrupt's record may lie before the one that was being written. */
struct raw_head {
	u32 kind; /* enum raw_kind */
	u32 cpu;
	u64 number;
};

struct raw_wait {
	struct raw_head head;
	u32 tid, pid;
	u32 woken_by, vector; /* enum raw_context; of a softirq or irq */
	u32 preempted, in_iowait, state;
	s32 syscall;
	u32 owner; /* that the futex' word names, checked to be a thread of the process; 0 */
	u32 waker_tid, waker_type; /* 0: none */
	u32 owner_is_read,
	    owner_type; /* 1: what request the owner serves is known, 0 for none; its type */
	u32 holder_of;  /* not 0: it owns a lock for which this thread waits */
	u32 followed;   /* it is in a probed request itself */
	u64 out_ns, woken_ns, in_ns; /* woken 0: was not seen */
	u64 trace_id, unit_id, waker_trace_id, owner_trace_id;
	u64 arguments[3];
	u8 waker_name[RAW_NAME_BYTES]; /* its thread's (comm) */
	u64 turns; /* how often it had left a CPU when it was seen to leave one last: the kernel's count */
	u64 seen_ns; /* when that was, or it came back from a wait that was recorded */
	u64 arrivals, ready_ns,
	    ran_ns; /* the kernel's counts when it left: how often it had got a CPU, how long it had been ready and had run */
};

struct raw_stack {
	struct raw_head head;
	u32 tid, pid, when;
	u32 for_tid;  /* RAW_HOLDER, RAW_CLOCK: it owns a lock for which this thread waits; 0 */
	u32 followed; /* RAW_CLOCK: it is in a probed request itself */
	u32 nbytes;
	u64 time_ns; /* RAW_OUT, RAW_HOLDER: out_ns of the wait */
	u64 trace_id, unit_id;
	u64 registers[RAW_REGISTERS]; /* in the order of struct pt_regs */
	u8 bytes[RAW_STACK_PIECE *
		 RAW_STACK_PIECES]; /* from the stack pointer upwards; nbytes are written */
};

enum raw_from { RAW_CONSTANT, RAW_REGISTER, RAW_MEMORY };

struct raw_value { /* where the argument of a probe lies */
	u8 from;   /* enum raw_from */
	u8 size;   /* 1, 2, 4, 8 bytes */
	u8 at;     /* the register's number in struct pt_regs */
	u8 is_signed;
	u32 pad;
	s64 constant; /* the value, or what is added to the register */
};

struct raw_probe {      /* a place that is probed */
	u32 generation; /* of the link that counts; 0: none does */
	u32 id;         /* the caller's for the probe, of which this is one place */
	u32 nvalues;
	u32 text; /* the argument text - 1 points to one, of which the begin is read; 0: none */
	struct raw_value values[RAW_VALUES_MAX];
};

struct raw_hit {
	struct raw_head head;
	u32 tid, pid, id, nvalues;
	u64 time_ns, trace_id, unit_id; /* ids 0: all threads are followed */
	s64 values[RAW_VALUES_MAX];
	u8 text[RAW_TEXT_MAX]; /* terminated; empty: none was asked for */
};

struct
    raw_lost { /* records that did not fit into the ring, and the time span in which they were lost */
	u64 count, from_ns, to_ns;
	u64 unfollowed; /* children for which there was no room */
};

struct raw_begun { /* a process that is followed is new, or executes another program since then */
	struct raw_head head;
	u32 pid, pad;
	u64 time_ns;
};

struct raw_without { /* not 0: what is switched off */
	u32 stacks, holders;
	u32 task_from_pid; /* as if the kernel did not have it */
};

#endif
