/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A packet, whose numbers are little endian and begin at whole bytes:
 *
 *	magic 4 | uuid 16 | stream 4 | begin 8 | end 8 | content 8 | packet 8 | number 8 | discarded 8 | cpu 4 | events
 *	event: class 2 | time 8 | order 4 | tid 4 | pid 4 | fields
 *
 * `order` tells events of equal times apart, also of several CPUs and hosts.
 */
#define _GNU_SOURCE
#include "kernel/files/ctf_writer.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/hash_map.h"

enum {
	PACKET_BYTES = 32 << 10, /* past this a packet is written */
	HEADER_BYTES = 76,
	UUID_BYTES = 16,
	FIRST_CALL = 64,       /* class of the first system call; each has two */
	CALLS_MAX = 8192,      /* of a host; further ones have their names in their events */
	THREADS_MAX = 1 << 22, /* with names, of all hosts */
	COMM_BYTES = 16,
};

enum status { /* of LTTng's state dump */
	STATUS_UNKNOWN = 0,
	STATUS_NEW = 1, /* made, and not woken yet */
	STATUS_READY = 2,
	STATUS_WAITS = 5,
	STATUS_RUNS = 6,
	STATUS_ENDED = 7,
};

/* What the map of threads has of one, in the 64 bits of a value: its name's number + 1 in 33 of them, its status in 3, and in 28 after how many losses the
 * status was noted. After another loss nothing is known of it. */
enum { STATUS_SHIFT = 33, LOSSES_SHIFT = 36 };

enum own_class {
	OWN_SWITCH,
	OWN_WAKING,
	OWN_WAKEUP_NEW,
	OWN_FORK,
	OWN_EXIT,
	OWN_NAME,
	OWN_IRQ_IN,
	OWN_IRQ_OUT,
	OWN_SOFTIRQ_IN,
	OWN_SOFTIRQ_OUT,
	OWN_HRTIMER_IN,
	OWN_HRTIMER_OUT,
	OWN_IPI_IN,
	OWN_IPI_OUT,
	OWN_RECEPTION_IN,
	OWN_RECEPTION_OUT,
	OWN_NAMED_CALL_IN,
	OWN_NAMED_CALL_OUT,
	OWN_SEND,
	OWN_RECEIVE,
	OWN_PACKET_OUT,
	OWN_PACKET_IN,
	OWN_UNIT,
	OWN_BLOCK_DONE,
	OWN_COUNTED,
	OWN_STACK,
	OWN_LOST,
	OWN_CLASSES
};

#define WAKING_FIELDS                                                                             \
	"comm _comm[16]; uint32_t _tid; int32_t _prio; int32_t _target_cpu; uint32_t _hone_pid; " \
	"uint8_t _hone_by; uint16_t _hone_vector;"
#define CONTEXT_FIELDS "uint16_t _hone_vector; string _hone_name;"
#define SOFTIRQ_FIELDS "uint32_t _vec; " CONTEXT_FIELDS
#define HRTIMER_FIELDS "uint64_t _hrtimer; " CONTEXT_FIELDS
#define IPI_FIELDS "int32_t _vector; " CONTEXT_FIELDS
#define MESSAGE_FIELDS "string _here; string _there; uint32_t _bytes; string _text; uint32_t _net;"
#define CALL_IN_FIELDS \
	"int32_t _hone_number; uint8_t _hone_named; int64_t _hone_value; uint8_t _hone_flags; uint64_t _hone_lock;"
#define CALL_OUT_FIELDS "int64_t _ret; int32_t _hone_number; uint8_t _hone_named;"

static const struct {
	const char *name, *fields;
} own_classes[OWN_CLASSES] = {
	[OWN_SWITCH] = { "sched_switch",
	    "comm _prev_comm[16]; uint32_t _prev_tid; int32_t _prev_prio; int64_t _prev_state; "
	    "comm _next_comm[16]; uint32_t _next_tid; int32_t _next_prio; uint32_t _hone_next_pid; "
	    "uint8_t _hone_flags; int32_t _hone_syscall; uint32_t _hone_owner; uint64_t _hone_lock;" },
	[OWN_WAKING] = { "sched_waking", WAKING_FIELDS },
	[OWN_WAKEUP_NEW] = { "sched_wakeup_new", WAKING_FIELDS },
	[OWN_FORK] = { "sched_process_fork",
	    "comm _parent_comm[16]; uint32_t _parent_tid; uint32_t _parent_pid; "
	    "comm _child_comm[16]; uint32_t _child_tid; uint32_t _child_pid;" },
	[OWN_EXIT] = { "sched_process_exit", "comm _comm[16]; uint32_t _tid; int32_t _prio;" },
	[OWN_NAME] = { "lttng_statedump_process_state",
	    "uint32_t _tid; uint32_t _vtid; uint32_t _pid; uint32_t _vpid; int32_t _ppid; "
	    "int32_t _vppid; string _name; int32_t _type; int32_t _mode; int32_t _submode; "
	    "int32_t _status; int32_t _ns_level; uint8_t _hone_asleep;" },
	[OWN_IRQ_IN] = { "irq_handler_entry",
	    "int32_t _irq; string _name; uint16_t _hone_vector;" },
	[OWN_IRQ_OUT] = { "irq_handler_exit", "int32_t _irq; int32_t _ret; " CONTEXT_FIELDS },
	[OWN_SOFTIRQ_IN] = { "irq_softirq_entry", SOFTIRQ_FIELDS },
	[OWN_SOFTIRQ_OUT] = { "irq_softirq_exit", SOFTIRQ_FIELDS },
	[OWN_HRTIMER_IN] = { "timer_hrtimer_expire_entry", HRTIMER_FIELDS },
	[OWN_HRTIMER_OUT] = { "timer_hrtimer_expire_exit", HRTIMER_FIELDS },
	[OWN_IPI_IN] = { "x86_irq_vectors_call_function_entry", IPI_FIELDS },
	[OWN_IPI_OUT] = { "x86_irq_vectors_call_function_exit", IPI_FIELDS },
	[OWN_RECEPTION_IN] = { "net_if_receive_skb_entry", CONTEXT_FIELDS },
	[OWN_RECEPTION_OUT] = { "net_if_receive_skb_exit", CONTEXT_FIELDS },
	[OWN_NAMED_CALL_IN] = { "hone_syscall_entry",
	    "int32_t _number; string _name; int64_t _value; uint8_t _flags; uint64_t _lock;" },
	[OWN_NAMED_CALL_OUT] = { "hone_syscall_exit",
	    "int32_t _number; string _name; int64_t _value;" },
	[OWN_SEND] = { "hone_send", MESSAGE_FIELDS },
	[OWN_RECEIVE] = { "hone_receive", MESSAGE_FIELDS },
	[OWN_PACKET_OUT] = { "hone_packet_out", "uint64_t _packet;" },
	[OWN_PACKET_IN] = { "hone_packet_in", "uint64_t _packet;" },
	[OWN_UNIT] = { "hone_unit", "uint64_t _unit;" },
	[OWN_BLOCK_DONE] = { "block_rq_complete",
	    "uint32_t _dev; uint64_t _sector; uint32_t _nr_sector; int32_t _error; uint32_t _rwbs;" },
	[OWN_COUNTED] = { "hone_counted", "string _name; uint32_t _value;" },
	[OWN_STACK] = { "hone_stack", "string _folded;" },
	[OWN_LOST] = { "hone_lost", "uint16_t _cpu; uint64_t _count; int64_t _from_ns;" },
};

struct own_stream {
	struct buf packet; /* empty: none is open */
	int64_t begin_ns, end_ns;
	uint64_t packets, discarded;
};

struct own_host {
	bool open;
	int folder;
	char name[64];
	uint8_t uuid[UUID_BYTES];
	struct own_stream **streams; /* by CPU; NULL: no event yet */
	uint32_t nstreams, streams_cap;
	struct map calls; /* system call -> its class */
	uint32_t ncalls;
};

struct kernel_ctf_writer {
	const struct kernel_names *names;
	int64_t wall_offset_ns;
	char kernel_release[128];
	int folder;
	struct own_host *hosts; /* by number */
	uint32_t nhosts, hosts_cap;
	struct map threads; /* host and thread -> name and status, see STATUS_SHIFT */
	uint32_t losses;
	int64_t last_ns;
	uint32_t order;
	uint64_t events, bytes;
	int rc; /* of the first error of the disk */
};

/* ---- files ------------------------------------------------------------------ */

/* Appends to a file of a host. What cannot be written whole is taken back. */
static int
append(struct kernel_ctf_writer *w, const struct own_host *h, const char *file, const void *data,
    size_t len, struct err *e)
{
	int fd = openat(
	    h->folder, file, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0644);
	off_t before = fd >= 0 ? lseek(fd, 0, SEEK_END) : -1;
	const char *at = data;
	size_t left = len;
	int saved = errno;

	while (before >= 0 && left > 0) {
		ssize_t n = write(fd, at, left);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		at += n;
		left -= (size_t)n;
	}
	if (before >= 0)
		saved = errno;
	if (left > 0 && before >= 0 && ftruncate(fd, before) != 0)
		saved = errno;
	if (fd >= 0 && close(fd) != 0 && left == 0) {
		saved = errno;
		left = 1;
	}
	if (left == 0) {
		w->bytes += len;
		return 0;
	}
	errno = saved;
	err_errno(e, "%s/%s", h->name, file);
	if (saved == ENOSPC || saved == EDQUOT || saved == EFBIG)
		err_set(e, ERR_FULL, "%s", e->text);
	return w->rc = e->code;
}

/* ---- metadata --------------------------------------------------------------- */

static void
write_class(struct buf *b, uint32_t id, const char *prefix, const char *name, const char *fields)
{
	buf_printf(b, "event {\n\tname = \"%s%s\";\n\tid = %" PRIu32 ";\n\tstream_id = 0;\n",
	    prefix, name, id);
	buf_printf(b, "\tfields := struct { %s };\n};\n\n", fields);
}

/* A text of the environment. */
static void
write_quoted(struct buf *b, const char *s)
{
	buf_u8(b, '"');
	for (; *s != '\0'; s++)
		if (*s == '"' || *s == '\\')
			buf_printf(b, "\\%c", *s);
		else if ((unsigned char)*s >= ' ')
			buf_u8(b, (uint8_t)*s);
		else
			buf_u8(b, '?');
	buf_u8(b, '"');
}

static void
write_environment(struct buf *b, const struct kernel_ctf_writer *w, const char *host)
{
	buf_printf(b, "env {\n\thostname = ");
	write_quoted(b, host);
	buf_printf(b, ";\n\tdomain = \"kernel\";\n\tsysname = \"Linux\";\n\tkernel_release = ");
	write_quoted(b, w->kernel_release);
	/* Trace Compass knows the names of events by the tracer and its version */
	buf_printf(b,
	    ";\n\ttracer_name = \"lttng-modules\";\n\ttracer_major = 2;\n\ttracer_minor = 13;\n"
	    "\ttracer_patchlevel = 0;\n\thone_recording = 1;\n\thone_version = \"%s\";\n};\n\n",
	    HONE_VERSION);
}

static void
write_types(struct buf *b)
{
	static const struct {
		const char *name;
		int size;
		bool is_signed;
	} types[] = { { "uint8_t", 8, false }, { "uint16_t", 16, false }, { "uint32_t", 32, false },
		{ "uint64_t", 64, false }, { "int32_t", 32, true }, { "int64_t", 64, true } };

	buf_printf(b, "/* CTF 1.8 */\n\n");
	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		buf_printf(b,
		    "typealias integer { size = %d; align = 8; signed = %s; byte_order = le; } := %s;\n",
		    types[i].size, types[i].is_signed ? "true" : "false", types[i].name);
	buf_printf(b,
	    "typealias integer { size = 8; align = 8; signed = false; encoding = UTF8; base = 10; } := comm;\n\n");
}

static void
write_uuid(struct buf *b, const uint8_t uuid[UUID_BYTES])
{
	for (int i = 0; i < UUID_BYTES; i++)
		buf_printf(b, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid[i]);
}

static void
write_metadata(
    struct buf *b, const struct kernel_ctf_writer *w, const struct own_host *h, const char *host)
{
	write_types(b);
	buf_printf(b, "trace {\n\tmajor = 1;\n\tminor = 8;\n\tuuid = \"");
	write_uuid(b, h->uuid);
	buf_printf(b, "\";\n\tbyte_order = le;\n\tpacket.header := struct {\n\t\tuint32_t magic;\n"
		      "\t\tuint8_t uuid[16];\n\t\tuint32_t stream_id;\n\t};\n};\n\n");
	write_environment(b, w, host);
	buf_printf(b,
	    "clock {\n\tname = \"monotonic\";\n\tdescription = \"Monotonic Clock\";\n"
	    "\tfreq = 1000000000;\n\toffset = %" PRId64 ";\n};\n\n",
	    w->wall_offset_ns);
	buf_printf(b, "typealias integer { size = 64; align = 8; signed = false; byte_order = le; "
		      "map = clock.monotonic.value; } := hone_time;\n\n");
	buf_printf(b,
	    "stream {\n\tid = 0;\n\tevent.header := struct { uint16_t id; hone_time timestamp; };\n"
	    "\tevent.context := struct { uint32_t _hone_order; uint32_t _tid; uint32_t _pid; };\n"
	    "\tpacket.context := struct {\n\t\thone_time timestamp_begin;\n\t\thone_time timestamp_end;\n"
	    "\t\tuint64_t content_size;\n\t\tuint64_t packet_size;\n\t\tuint64_t packet_seq_num;\n"
	    "\t\tuint64_t events_discarded;\n\t\tuint32_t cpu_id;\n\t};\n};\n\n");
	for (uint32_t i = 0; i < OWN_CLASSES; i++)
		write_class(b, i, "", own_classes[i].name, own_classes[i].fields);
}

/* ---- hosts ------------------------------------------------------------------ */

/* A folder of its own, named after the host as far as a file's name can be. */
static int
make_folder(struct kernel_ctf_writer *w, struct own_host *h, const char *host, struct err *e)
{
	size_t len = 0;

	for (; host[len] != '\0' && len < 48; len++) {
		char c = host[len];
		bool fits = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
		            (c >= '0' && c <= '9') || c == '-' || c == '_' || (c == '.' && len > 0);

		h->name[len] = fits ? c : '_';
	}
	if (len == 0)
		len = (size_t)snprintf(h->name, sizeof h->name, "host");
	h->name[len] = '\0';
	for (int i = 2; mkdirat(w->folder, h->name, 0755) != 0; i++) {
		if (errno != EEXIST || i > KERNEL_HOSTS_MAX)
			return w->rc = err_errno(e, "%s", h->name);
		snprintf(h->name + len, sizeof h->name - len, "-%d", i);
	}
	if ((h->folder = openat(w->folder, h->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
		return w->rc = err_errno(e, "%s", h->name);
	return 0;
}

static int
open_host(struct kernel_ctf_writer *w, struct own_host *h, uint16_t number, struct err *e)
{
	bool is_named = number < texts_count(w->names->hosts);
	const char *host = is_named ? texts_get(w->names->hosts, number) : "";
	struct buf b = { 0 };
	int rc = make_folder(w, h, host, e);

	if (rc != 0)
		return rc;
	h->open = true;
	if (getrandom(h->uuid, sizeof h->uuid, 0) != (ssize_t)sizeof h->uuid)
		rc = w->rc = err_errno(e, "no random bytes");
	h->uuid[6] = (h->uuid[6] & 0x0f) | 0x40; /* RFC 4122, 4.4 */
	h->uuid[8] = (h->uuid[8] & 0x3f) | 0x80;
	if (rc == 0) {
		write_metadata(&b, w, h, host);
		rc = b.failed ? err_set(e, ERR_MEMORY, "out of memory")
		              : append(w, h, "metadata", b.data, b.len, e);
	}
	buf_release(&b);
	return rc;
}

static struct own_host *
host_of(struct kernel_ctf_writer *w, uint16_t number, struct err *e)
{
	if (number >= w->nhosts) {
		if (!array_reserve(w->hosts, w->hosts_cap, (uint32_t)number + 1)) {
			err_set(e, ERR_MEMORY, "out of memory");
			return NULL;
		}
		memset(&w->hosts[w->nhosts], 0, (number + 1 - w->nhosts) * sizeof *w->hosts);
		w->nhosts = (uint32_t)number + 1;
	}
	if (!w->hosts[number].open && open_host(w, &w->hosts[number], number, e) != 0)
		return NULL;
	return &w->hosts[number];
}

/* ---- packets ---------------------------------------------------------------- */

static void
put_u16(struct buf *b, uint16_t v)
{
	buf_u8(b, (uint8_t)v);
	buf_u8(b, (uint8_t)(v >> 8));
}

static int
write_packet(struct kernel_ctf_writer *w, const struct own_host *h, uint32_t cpu,
    struct own_stream *s, struct err *e)
{
	size_t len = s->packet.len;
	char file[32];
	int rc;

	if (s->packet.failed)
		return err_set(e, ERR_MEMORY, "out of memory");
	if (len == 0)
		return 0;
	s->packet.len = 0; /* the header, whose place is kept */
	buf_u32(&s->packet, UINT32_C(0xc1fc1fc1));
	buf_bytes(&s->packet, h->uuid, sizeof h->uuid);
	buf_u32(&s->packet, 0);
	buf_u64(&s->packet, (uint64_t)s->begin_ns);
	buf_u64(&s->packet, (uint64_t)s->end_ns);
	buf_u64(&s->packet, len * 8);
	buf_u64(&s->packet, len * 8);
	buf_u64(&s->packet, s->packets);
	buf_u64(&s->packet, s->discarded);
	buf_u32(&s->packet, cpu);
	snprintf(file, sizeof file, "kernel_%" PRIu32, cpu);
	rc = append(w, h, file, s->packet.data, len, e);
	s->packets++;
	buf_reset(&s->packet);
	return rc;
}

static struct own_stream *
stream_of(struct own_host *h, uint16_t cpu)
{
	if (cpu >= h->nstreams) {
		if (!array_reserve(h->streams, h->streams_cap, (uint32_t)cpu + 1))
			return NULL;
		memset(&h->streams[h->nstreams], 0, (cpu + 1u - h->nstreams) * sizeof *h->streams);
		h->nstreams = cpu + 1u;
	}
	if (h->streams[cpu] == NULL)
		h->streams[cpu] = calloc(1, sizeof **h->streams);
	return h->streams[cpu];
}

/* ---- events ----------------------------------------------------------------- */

struct event_writing { /* that is being written */
	struct kernel_ctf_writer *w;
	struct own_host *host;
	struct own_stream *stream;
	const struct kernel_event *ev;
	struct buf *to;
};

static void
put_head(struct event_writing *x, uint32_t class)
{
	put_u16(x->to, (uint16_t) class);
	buf_u64(x->to, (uint64_t)x->ev->time_ns);
	buf_u32(x->to, x->w->order);
	buf_u32(x->to, x->ev->tid);
	buf_u32(x->to, x->ev->pid);
}

static uint64_t
thread_key(const struct event_writing *x, uint32_t tid)
{
	return (uint64_t)x->ev->host << 32 | tid;
}

static uint64_t
thread_get(const struct event_writing *x, uint32_t tid)
{
	return (uintptr_t)map_get(&x->w->threads, thread_key(x, tid));
}

/* name: its number + 1. A thread over the bound has no name and no status. */
static void
thread_put(struct event_writing *x, uint32_t tid, uint64_t name, enum status status)
{
	uint64_t losses = x->w->losses & ((UINT32_C(1) << 28) - 1),
		 value = name | (uint64_t)status << STATUS_SHIFT | losses << LOSSES_SHIFT;

	if (tid != 0 && (x->w->threads.count < THREADS_MAX || thread_get(x, tid) != 0))
		map_put(&x->w->threads, thread_key(x, tid), (void *)(uintptr_t)value);
}

static uint64_t
thread_name(const struct event_writing *x, uint32_t tid)
{
	return thread_get(x, tid) & ((UINT64_C(1) << STATUS_SHIFT) - 1);
}

static enum status
thread_status(const struct event_writing *x, uint32_t tid)
{
	uint64_t value = thread_get(x, tid);

	return value >> LOSSES_SHIFT == (x->w->losses & ((UINT32_C(1) << 28) - 1))
	           ? (enum status)(value >> STATUS_SHIFT & 7)
	           : STATUS_UNKNOWN;
}

static void
note_status(struct event_writing *x, uint32_t tid, enum status status)
{
	thread_put(x, tid, thread_name(x, tid), status);
}

static void
put_comm(struct event_writing *x, uint32_t tid)
{
	uint64_t name = thread_name(x, tid);
	char comm[COMM_BYTES] = { 0 };

	if (tid == 0)
		snprintf(comm, sizeof comm, "swapper/%u", x->ev->cpu);
	else if (name != 0)
		snprintf(
		    comm, sizeof comm, "%s", texts_get(x->w->names->texts, (uint32_t)(name - 1)));
	buf_bytes(x->to, comm, sizeof comm);
}

static void
put_string(struct event_writing *x, const char *s)
{
	buf_bytes(x->to, s, strlen(s) + 1);
}

static void
put_text(struct event_writing *x, uint32_t number)
{
	put_string(x, texts_get(x->w->names->texts, number));
}

static void
put_switch(struct event_writing *x)
{
	const struct kernel_event *ev = x->ev;
	int64_t state = ev->flags & SWITCH_ENDED             ? 32
	                : ev->flags & SWITCH_UNINTERRUPTIBLE ? 2
	                : ev->flags & SWITCH_ASLEEP          ? 1
	                                                     : 0;

	put_head(x, OWN_SWITCH);
	put_comm(x, ev->tid);
	buf_u32(x->to, ev->tid);
	buf_u32(x->to, 20); /* the priority of LTTng for nice 0 */
	buf_u64(x->to, (uint64_t)state);
	put_comm(x, ev->change.next_tid);
	buf_u32(x->to, ev->change.next_tid);
	buf_u32(x->to, 20);
	buf_u32(x->to, ev->change.next_pid);
	buf_u8(x->to, ev->flags);
	buf_u32(x->to, (uint32_t)ev->change.syscall);
	buf_u32(x->to, ev->change.owner);
	buf_u64(x->to, ev->change.lock);
	note_status(x, ev->tid,
	    ev->flags & SWITCH_ENDED    ? STATUS_ENDED
	    : ev->flags & SWITCH_ASLEEP ? STATUS_WAITS
					: STATUS_READY);
	note_status(x, ev->change.next_tid, STATUS_RUNS);
}

static void
put_waking(struct event_writing *x)
{
	const struct kernel_event *ev = x->ev;

	put_head(x, ev->waking.is_new ? OWN_WAKEUP_NEW : OWN_WAKING);
	put_comm(x, ev->waking.tid);
	buf_u32(x->to, ev->waking.tid);
	buf_u32(x->to, 20);
	buf_u32(x->to, ev->cpu);
	buf_u32(x->to, ev->waking.pid);
	buf_u8(x->to, ev->waking.by);
	put_u16(x->to, ev->waking.vector);
	if (thread_status(x, ev->waking.tid) != STATUS_RUNS)
		note_status(x, ev->waking.tid, STATUS_READY);
}

static void
put_fork(struct event_writing *x)
{
	put_head(x, OWN_FORK);
	put_comm(x, x->ev->tid);
	buf_u32(x->to, x->ev->tid);
	buf_u32(x->to, x->ev->pid);
	put_comm(x, x->ev->child.tid);
	buf_u32(x->to, x->ev->child.tid);
	buf_u32(x->to, x->ev->child.pid);
	note_status(x, x->ev->child.tid, STATUS_NEW);
}

static void
put_exit(struct event_writing *x)
{
	put_head(x, OWN_EXIT);
	put_comm(x, x->ev->tid);
	buf_u32(x->to, x->ev->tid);
	buf_u32(x->to, 20);
}

/* Trace Compass takes the status of a state dump for that of the thread from now on, also in the middle of a trace. */
static void
put_name(struct event_writing *x)
{
	const struct kernel_event *ev = x->ev;
	enum status status = ev->thread.asleep ? STATUS_WAITS : thread_status(x, ev->tid);

	thread_put(x, ev->tid, (uint64_t)ev->thread.name + 1, status);
	put_head(x, OWN_NAME);
	buf_u32(x->to, ev->tid);
	buf_u32(x->to, ev->tid);
	buf_u32(x->to, ev->pid);
	buf_u32(x->to, ev->pid);
	buf_u32(x->to, 0);
	buf_u32(x->to, 0);
	put_text(x, ev->thread.name);
	buf_u32(x->to, 0);
	buf_u32(x->to, 0);
	buf_u32(x->to, 0);
	buf_u32(x->to, status);
	buf_u32(x->to, 0);
	buf_u8(x->to, ev->thread.asleep);
}

static int
put_context(struct event_writing *x, struct err *e)
{
	static const enum own_class classes[] = { [CONTEXT_IRQ] = OWN_IRQ_IN,
		[CONTEXT_SOFTIRQ] = OWN_SOFTIRQ_IN,
		[CONTEXT_HRTIMER] = OWN_HRTIMER_IN,
		[CONTEXT_IPI] = OWN_IPI_IN,
		[CONTEXT_RECEPTION] = OWN_RECEPTION_IN };
	const struct kernel_event *ev = x->ev;
	bool ends = ev->kind == KERNEL_CONTEXT_OUT;

	if (ev->context.kind > CONTEXT_RECEPTION)
		return err_set(e, ERR_INPUT, "no such context: %u", ev->context.kind);
	put_head(x, classes[ev->context.kind] + ends);
	switch (ev->context.kind) {
	case CONTEXT_IRQ:
	case CONTEXT_IPI:
	case CONTEXT_SOFTIRQ:
		buf_u32(x->to, ev->context.vector);
		break;
	case CONTEXT_HRTIMER:
		buf_u64(x->to, 0);
		break;
	}
	if (ev->context.kind == CONTEXT_IRQ && !ends) {
		put_text(x, ev->context.name);
		put_u16(x->to, ev->context.vector);
		return 0;
	}
	if (ev->context.kind == CONTEXT_IRQ)
		buf_u32(x->to, 1); /* handled */
	put_u16(x->to, ev->context.vector);
	put_text(x, ev->context.name);
	return 0;
}

/* Whether a name can be a part of the name of an event. */
static bool
is_plain(const char *name)
{
	size_t len = strspn(
	    name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");

	return len > 0 && len < 64 && name[len] == '\0';
}

/* The class of a system call's begin, which that of its end follows. 0: none, its name is a field. -1: an error. */
static int
call_class(struct event_writing *x, const char *name, struct err *e)
{
	const struct kernel_event *ev = x->ev;
	uint64_t key = ev->call.name != 0 ? (uint64_t)1 << 32 | ev->call.name
	                                  : (uint32_t)ev->call.number;
	uintptr_t class = (uintptr_t)map_get(&x->host->calls, key);
	struct buf b = { 0 };
	int rc;

	if (class != 0 || name == NULL || !is_plain(name) || x->host->ncalls == CALLS_MAX)
		return (int)class;
	class = FIRST_CALL + 2 * x->host->ncalls;
	write_class(&b, (uint32_t) class, "syscall_entry_", name, CALL_IN_FIELDS);
	write_class(&b, (uint32_t) class + 1, "syscall_exit_", name, CALL_OUT_FIELDS);
	rc = b.failed || !map_put(&x->host->calls, key, (void *)class)
	         ? err_set(e, ERR_MEMORY, "out of memory")
	         : append(x->w, x->host, "metadata", b.data, b.len, e);
	buf_release(&b);
	x->host->ncalls++;
	return rc == 0 ? (int)class : -1;
}

static int
put_call(struct event_writing *x, struct err *e)
{
	const struct kernel_event *ev = x->ev;
	bool begins = ev->kind == KERNEL_SYSCALL_IN;
	const char *name = ev->call.name != 0 ? texts_get(x->w->names->texts, ev->call.name)
	                                      : kernel_syscall_name(ev->call.number);
	int class = call_class(x, name, e);

	if (class < 0)
		return e->code;
	if (class == 0) {
		put_head(x, begins ? OWN_NAMED_CALL_IN : OWN_NAMED_CALL_OUT);
		buf_u32(x->to, (uint32_t)ev->call.number);
		put_text(x, ev->call.name);
	} else {
		put_head(x, (uint32_t) class + !begins);
		if (!begins)
			buf_u64(x->to, (uint64_t)ev->call.value);
		buf_u32(x->to, (uint32_t)ev->call.number);
		buf_u8(x->to, ev->call.name != 0);
	}
	if (begins || class == 0)
		buf_u64(x->to, (uint64_t)ev->call.value);
	if (begins) {
		buf_u8(x->to, ev->flags);
		buf_u64(x->to, ev->call.lock);
	}
	return 0;
}

static void
put_message(struct event_writing *x)
{
	struct kernel_connection c = kernel_connection(x->w->names, x->ev->message.connection);
	char text[KERNEL_END_TEXT_MAX];

	put_head(x, x->ev->kind == KERNEL_SEND ? OWN_SEND : OWN_RECEIVE);
	kernel_end_text(&c.here, text);
	put_string(x, text);
	kernel_end_text(&c.there, text);
	put_string(x, text);
	buf_u32(x->to, x->ev->message.bytes);
	put_text(x, x->ev->message.text);
	buf_u32(x->to, c.net);
}

static void
put_lost(struct event_writing *x)
{
	const struct kernel_event *ev = x->ev;

	x->stream->discarded += ev->lost.count != 0 ? ev->lost.count : 1;
	put_head(x, OWN_LOST);
	put_u16(x->to, ev->cpu);
	buf_u64(x->to, ev->lost.count);
	buf_u64(x->to, (uint64_t)ev->lost.from_ns);
	x->w->losses++;
}

static int
put_event(struct event_writing *x, struct err *e)
{
	const struct kernel_event *ev = x->ev;

	switch ((enum kernel_event_kind)ev->kind) {
	case KERNEL_SWITCH:
		put_switch(x);
		return 0;
	case KERNEL_WAKING:
		put_waking(x);
		return 0;
	case KERNEL_FORK:
		put_fork(x);
		return 0;
	case KERNEL_EXIT:
		put_exit(x);
		return 0;
	case KERNEL_NAME:
		put_name(x);
		return 0;
	case KERNEL_CONTEXT_IN:
	case KERNEL_CONTEXT_OUT:
		return put_context(x, e);
	case KERNEL_SYSCALL_IN:
	case KERNEL_SYSCALL_OUT:
		return put_call(x, e);
	case KERNEL_SEND:
	case KERNEL_RECEIVE:
		put_message(x);
		return 0;
	case KERNEL_PACKET_OUT:
	case KERNEL_PACKET_IN:
		put_head(x, ev->kind == KERNEL_PACKET_OUT ? OWN_PACKET_OUT : OWN_PACKET_IN);
		buf_u64(x->to, ev->packet.id);
		return 0;
	case KERNEL_UNIT:
		put_head(x, OWN_UNIT);
		buf_u64(x->to, ev->unit.id);
		return 0;
	case KERNEL_BLOCK_DONE:
		put_head(x, OWN_BLOCK_DONE);
		for (int i = 0; i < 6; i++)
			buf_u32(x->to, 0);
		return 0;
	case KERNEL_COUNTED:
		put_head(x, OWN_COUNTED);
		put_text(x, ev->counted.name);
		buf_u32(x->to, ev->counted.value);
		return 0;
	case KERNEL_STACK:
		put_head(x, OWN_STACK);
		put_text(x, ev->stack.folded);
		return 0;
	case KERNEL_LOST:
		put_lost(x);
		return 0;
	case KERNEL_KINDS:
		break;
	}
	return err_set(e, ERR_INPUT, "no such kind of kernel event: %u", ev->kind);
}

int
kernel_ctf_take(void *of, const struct kernel_event *ev, struct err *e)
{
	struct kernel_ctf_writer *w = of;
	struct event_writing x = { .w = w, .ev = ev };
	uint16_t cpu = ev->cpu != KERNEL_CPU_ALL ? ev->cpu : 0;
	size_t before;
	int rc;

	if (w->rc != 0)
		return err_set(e, w->rc, "the recording has failed before");
	if (ev->time_ns < w->last_ns)
		return err_set(e, ERR_INPUT,
		    "a kernel event of %" PRId64 " ns comes after one of %" PRId64 " ns",
		    ev->time_ns, w->last_ns);
	if (ev->kind >= KERNEL_KINDS || ev->host >= KERNEL_HOSTS_MAX)
		return err_set(e, ERR_INPUT, "no such kind of kernel event: %u, or host: %u",
		    ev->kind, ev->host);
	if ((x.host = host_of(w, ev->host, e)) == NULL)
		return e->code;
	if ((x.stream = stream_of(x.host, cpu)) == NULL)
		return err_set(e, ERR_MEMORY, "out of memory");
	w->order = ev->time_ns == w->last_ns && w->events > 0 ? w->order + 1 : 0;
	x.to = &x.stream->packet;
	if (x.to->len == 0) {
		if (buf_reserve(x.to, HEADER_BYTES) != NULL)
			x.to->len = HEADER_BYTES;
		x.stream->begin_ns = ev->time_ns;
	}
	before = x.to->len;
	if ((rc = put_event(&x, e)) != 0) {
		x.to->len = before;
		return rc;
	}
	w->last_ns = x.stream->end_ns = ev->time_ns;
	w->events++;
	if (x.to->failed)
		return w->rc = err_set(e, ERR_MEMORY, "out of memory");
	return x.to->len < PACKET_BYTES ? 0 : write_packet(w, x.host, cpu, x.stream, e);
}

/* ---- the writer ------------------------------------------------------------- */

static bool
is_empty(const char *folder)
{
	DIR *d = opendir(folder);
	const struct dirent *entry;
	int n = 0;

	while (d != NULL && (entry = readdir(d)) != NULL)
		n += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
	if (d != NULL)
		closedir(d);
	return d != NULL && n == 0;
}

int
kernel_ctf_open(struct kernel_ctf_writer **ret, const char *folder,
    const struct kernel_names *names, const struct kernel_ctf_options *o, struct err *e)
{
	struct kernel_ctf_writer *w = calloc(1, sizeof *w);
	int rc;

	*ret = NULL;
	if (w == NULL)
		return err_set(e, ERR_MEMORY, "out of memory");
	w->names = names;
	w->folder = -1;
	w->wall_offset_ns = o != NULL ? o->wall_offset_ns : 0;
	if (o != NULL && o->kernel_release != NULL)
		snprintf(w->kernel_release, sizeof w->kernel_release, "%s", o->kernel_release);
	if (mkdir(folder, 0755) != 0 && errno != EEXIST)
		rc = err_errno(e, "%s", folder);
	else if (!is_empty(folder))
		rc = err_set(e, ERR_BUSY, "%s: exists, and is not an empty folder", folder);
	else if ((w->folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
		rc = err_errno(e, "%s", folder);
	else {
		*ret = w;
		return 0;
	}
	free(w);
	return rc;
}

int
kernel_ctf_flush(struct kernel_ctf_writer *w, struct err *e)
{
	if (w->rc != 0)
		return err_set(e, w->rc, "the recording has failed before");
	for (uint32_t i = 0; i < w->nhosts; i++) {
		const struct own_host *h = &w->hosts[i];

		for (uint32_t cpu = 0; cpu < h->nstreams; cpu++) {
			int rc = h->streams[cpu] != NULL
			             ? write_packet(w, h, cpu, h->streams[cpu], e)
			             : 0;

			if (rc != 0)
				return rc;
		}
	}
	return 0;
}

int
kernel_ctf_close(struct kernel_ctf_writer *w, struct err *e)
{
	int rc;

	if (w == NULL)
		return 0;
	rc = kernel_ctf_flush(w, e);
	for (uint32_t i = 0; i < w->nhosts; i++) {
		struct own_host *h = &w->hosts[i];

		for (uint32_t cpu = 0; cpu < h->nstreams; cpu++) {
			if (h->streams[cpu] != NULL)
				buf_release(&h->streams[cpu]->packet);
			free(h->streams[cpu]);
		}
		free(h->streams);
		map_release(&h->calls);
		if (h->open)
			close(h->folder);
	}
	free(w->hosts);
	map_release(&w->threads);
	close(w->folder);
	free(w);
	return rc;
}

void
kernel_ctf_written(const struct kernel_ctf_writer *w, uint64_t *events, uint64_t *bytes)
{
	*events = w->events;
	*bytes = w->bytes;
}
