/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The state of a source of LTTng-UST records, which the files behind source_lttng.c share. */
#ifndef AGENT_READER_LTTNG_SOURCE_H
#define AGENT_READER_LTTNG_SOURCE_H

#include "agent/ctf/ctf_trace.h"
#include "agent/reader/overrun.h"
#include "agent/reader/quarantine.h"
#include "agent/reader/source.h"
#include "agent/reader/source_labels.h"
#include "agent/reader/source_losses.h"
#include "agent/system/symbols.h"
#include "base/buf.h"

struct cpu_stream;
struct held_packet;
struct idle_ring;
struct untraced_process;

struct watched_folder {
	char *path;
	int watch; /* inotify watch; -1: none */
};

struct session_folder {
	uint32_t number;
	struct watched_folder shm, output; /* .../ust/pid */
	bool relist;                       /* its processes have to be listed again */
	bool seen;                         /* mark of the listing in progress */
	bool withdrawn;                    /* its session is being ended */
};

/* One process in one session (traced_process.h). */
struct traced_process {
	struct session_folder *folder;
	char *name;    /* of its folders: "comm-PID-DATE-TIME" */
	int watch;     /* inotify watch of the shm folder; -1: none */
	bool relist;   /* its rings have to be listed again */
	bool seen;     /* mark of the listing in progress */
	bool live;     /* its shm folder exists */
	bool plain;    /* metadata is the text in the shm folder; else the packets in the other */
	bool broken;   /* its metadata cannot be read */
	bool finished; /* everything has been read */
	enum quarantine quarantine; /* not NONE: nothing of it is read any more */
	struct suspicion suspicion;
	uint64_t records, looked_records; /* decoded; and at the last traced_processes_weigh() */
	bool outside;                     /* its records outside of requests are delivered */
	int64_t born_ns, died_ns;
	int metadata_fd;
	uint64_t metadata_at; /* file offset */
	struct buf text;      /* metadata that has not been parsed */
	struct ctf_trace trace;
	struct symbols *symbols; /* NULL: not asked for yet, or the process cannot be read */
	bool symbols_asked;
	struct cpu_stream **streams;
	uint32_t nstreams, streams_cap, nidle;
};

struct lttng_source {
	struct source_options options;
	char *channel;
	struct watched_folder followed; /* path NULL: the one folder never changes */
	bool relist;                    /* `followed` has to be listed again */
	struct session_folder **folders;
	uint32_t nfolders, folders_cap;
	int inotify;

	struct traced_process **processes;
	uint32_t nprocesses, processes_cap;
	struct cpu_stream **heap; /* room for all streams */
	struct idle_ring *idle;   /* room for all streams */
	uint32_t nstreams, heap_cap, nidle, idle_cap;
	int64_t polled_ns;    /* start of the last poll */
	int64_t unwatched_ns; /* part of the time since then that does not count as a stall */
	int64_t packet_ns;    /* the last poll that read a packet */
	int64_t opened_ns;
	struct untraced_process *suspects;
	uint32_t nsuspects, suspects_cap;
	uint32_t busy; /* streams with held packets, in the last poll */
	size_t held_bytes;
	struct held_packet *spent; /* decoded; texts of the last poll's records point into them */

	struct source_labels labels;
	struct arena arena; /* values of one poll */
	struct value *values;
	uint32_t values_left;
	struct record *records;
	uint32_t nrecords, records_cap, nlate;
	struct source_losses losses;
	int64_t watermark_ns;
	bool more;

	char quarantined[256]; /* text of stats.quarantined */
	struct overrun overrun;
	bool changed;                  /* the list of processes may have changed */
	struct source_process *listed; /* owns its texts */
	uint32_t nlisted;
	struct source_stats stats;
};

#endif
