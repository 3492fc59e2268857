/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Inside of source_*.c. What lies where:
 *
 *	shm_dir/ust/pid/NAME/		as long as the program is known to the daemons
 *		metadata		text, appended to before a tracepoint is armed
 *		CHANNEL_CPU		a ring: produced, consumed, lost
 *	output_dir/ust/pid/NAME/	stays
 *		metadata		the same in packets, some seconds later
 *		CHANNEL_CPU		packets, one after the other
 *		index/CHANNEL_CPU.idx	one entry for each, written when the packet is whole
 *
 * When the first folder is gone, the daemons have written their last to the second.
 */
#ifndef AGENT_READER_SOURCE_INSIDE_H
#define AGENT_READER_SOURCE_INSIDE_H

#include "agent/ctf/ctf.h"
#include "agent/reader/ring.h"
#include "agent/reader/source.h"
#include "agent/reader/source_labels.h"
#include "agent/system/symbols.h"
#include "base/buf.h"

struct held { /* a packet in memory */
	struct held *next;
	struct ctf_index index;
	size_t len;
	uint8_t data[];
};

struct stream { /* what one processor wrote for one process */
	struct process *process;
	uint32_t cpu;
	struct ring ring;
	int data_fd, index_fd; /* -1: not opened yet */
	uint32_t entry_bytes;  /* 0: the head of the index was not read yet */
	uint64_t index_at, data_read, data_punched, index_punched; /* file offsets */
	uint64_t taken; /* bytes of the ring that read packets account for */
	uint64_t next_seq;
	uint64_t discarded;  /* of all that are lost: told already */
	int64_t complete_ns; /* all records up to here have been read */
	int64_t last_end_ns; /* of the last packet read */
	int64_t checked_ns;  /* when the ring was last asked for its losses */
	int64_t progress_ns; /* when it was last idle, or a packet came */
	bool drained, stalled;
	bool written;      /* there were records in it */
	uint32_t quiet_at; /* 1 more than its place among those that are idle; 0: it is not */
	struct held *first, *last;
	size_t held_bytes;
	struct ctf_packet cursor;
	bool open, ready; /* cursor is on first; ... and knows its next record */
};

struct root { /* .../ust/pid */
	char *path;
	int watch;
};

struct folder { /* of one session */
	uint32_t number;
	struct root shm, output;
	bool relist;    /* look for processes again */
	bool seen;      /* in the listing that is being made */
	bool withdrawn; /* its session is being ended */
};

struct process {
	struct folder *folder;
	char *name;    /* of its folders */
	int watch;     /* of the shm folder; -1: none */
	bool relist;   /* look for rings again */
	bool seen;     /* in the listing that is being made */
	bool live;     /* its shm folder is there */
	bool plain;    /* metadata is the text in the shm folder; else the packets on disk */
	bool broken;   /* its metadata can't be had */
	bool finished; /* all is read */
	bool mapped;   /* its records count, also those outside of requests */
	int64_t born_ns, died_ns;
	int metadata_fd;
	uint64_t metadata_at;
	struct buf text; /* metadata that is not parsed yet */
	struct ctf_trace trace;
	struct symbols *symbols; /* NULL: no address was asked for yet, or none can be named */
	bool symbols_asked;
	struct stream **streams;
	uint32_t nstreams, nquiet;
};

/* A ring that was read out and whose file was, until it is written to again: then *produced is
 * another. */
struct quiet {
	const uint64_t *produced;
	uint64_t was;
	struct stream *stream;
};

struct suspect { /* a program that may live without being traced, see source_untraced.c */
	struct folder *folder;
	char *name; /* of its folder */
	char comm[256];
	long pid;
	int64_t began_ns;         /* the program; 0: not known */
	int64_t since_ns;         /* it may have been untraced since then */
	int64_t seen_ns, told_ns; /* by us; up to when it was told, 0: not yet */
	bool again;               /* its folder went, and it lives */
};

struct lttng_source {
	struct source_options options;
	char *channel;
	struct root followed; /* path NULL: there is one folder for ever */
	bool relist;          /* that */
	struct folder **folders;
	uint32_t nfolders;
	int inotify;

	struct process **processes;
	uint32_t nprocesses, processes_cap;
	struct stream **heap; /* room for all streams */
	uint32_t nstreams, heap_cap;
	struct quiet *quiet; /* room for all streams, too */
	uint32_t nquiet, quiet_cap;
	int64_t polled_ns;    /* when the last poll began */
	int64_t unwatched_ns; /* so much of the time since then nobody can be blamed for */
	int64_t opened_ns;
	struct suspect *suspects;
	uint32_t nsuspects;
	uint32_t busy; /* streams with packets held, in the last poll */
	size_t held_bytes;
	struct held *spent; /* read out, but the last poll's texts point into them */

	struct source_labels labels;
	struct arena arena; /* values, of one poll */
	struct value *values;
	uint32_t values_left;
	struct record *records;
	uint32_t nrecords, records_cap, nlate;
	struct loss *losses;
	uint32_t nlosses, losses_cap;
	int64_t watermark_ns;
	bool more;

	bool changed;                 /* what is shown may be another */
	struct source_process *shown; /* texts are ours */
	uint32_t nshown;
	struct source_look look;
	char trouble[sizeof((struct err *)0)->text];
};

/* source_lttng.c: what all share */
void source_trouble(struct lttng_source *src, const struct err *e);
void source_loss(struct lttng_source *src, enum loss_reason reason, uint64_t count, int64_t from_ns,
    int64_t to_ns);

/* source_folders.c: what comes and goes. All that was there when this began is known then. */
void folders_poll(struct lttng_source *src, int64_t now_ns);
struct folder *folder_add(
    struct lttng_source *src, uint32_t number, const char *output_dir, const char *shm_dir);
void folders_release(struct lttng_source *src);

/* source_untraced.c: programs that live untraced, told as losses for as long as they do. A folder
 * came in shm_dir; one went; and after the folders were listed, whether that is so. A system call
 * or two for each program that is in doubt. */
void untraced_born(struct lttng_source *src, struct folder *f, const char *name, int64_t now_ns);
void untraced_died(struct lttng_source *src, const struct process *p, int64_t now_ns);
void untraced_look(struct lttng_source *src, int64_t now_ns);
void untraced_forget(struct lttng_source *src); /* those of folders that are withdrawn */
void untraced_release(struct lttng_source *src);

/* source_process.c: a process' folders */
struct process *process_new(
    struct lttng_source *src, struct folder *f, const char *name, bool live, int64_t now_ns);
void process_died(struct lttng_source *src, struct process *p, int64_t now_ns);
void process_free(struct lttng_source *src, struct process *p);
/* Maps rings that are new; after its death, finds what was missed. */
void process_list(struct lttng_source *src, struct process *p);
/* Reads what the metadata has grown by. */
void process_metadata(struct lttng_source *src, struct process *p, int64_t now_ns);
void process_remove_folder(struct lttng_source *src, const struct process *p);

/* source_stream.c: one ring and its file */
struct stream *stream_new(struct process *p, uint32_t cpu, int64_t complete_ns, int64_t now_ns);
void stream_free(struct lttng_source *src, struct stream *s);
/* Reads the packets that came, as far as there is metadata to understand them by. */
void stream_poll(struct lttng_source *src, struct stream *s, int64_t now_ns);
/* Takes it back from among the idle, as one that was idle up to the last poll. */
void stream_wake(struct lttng_source *src, struct stream *s);
/* Of the idle, those that are not any more. One load for each. */
void streams_wake(struct lttng_source *src);
uint32_t stream_head_bytes(const struct stream *s); /* of a packet without records */
/* What of it has left the ring and was not decoded. A system call where there is any in the file.
 */
uint64_t stream_waiting_bytes(const struct stream *s);
void stream_drop_first(
    struct lttng_source *src, struct stream *s); /* its first packet has been decoded */

/* source_merge.c: records of all streams up to until_ns, in time order. Gives the time up to which
 * that was possible. ERR_MEMORY. */
int source_merge(struct lttng_source *src, int64_t until_ns, int64_t *reached_ns, struct err *e);

#endif
