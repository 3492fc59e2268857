/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The state of an agent, in parts that each belong to one file of this room. All of it is used by
 * the thread of the main loop alone.
 *
 *	agent_loop ---> agent_tracing ---> agent_records
 *	     |--------> agent_control, agent_queues, status_report
 */
#ifndef AGENT_MAIN_AGENT_STATE_H
#define AGENT_MAIN_AGENT_STATE_H

#include "agent/guard/below_start.h"
#include "agent/guard/guard.h"
#include "agent/main/agent_config.h"
#include "agent/main/cost.h"
#include "agent/link/link.h"
#include "agent/link/outbox.h"
#include "agent/link/pack.h"
#include "agent/reader/snapshot.h"
#include "agent/reader/source.h"
#include "agent/reader/source_below.h"
#include "agent/reader/source_requests.h"
#include "agent/system/process.h"
#include "agent/tracer/inventory.h"
#include "agent/tracer/rates.h"
#include "agent/tracer/reconcile.h"
#include "agent/tracer/tracer_thread.h"
#include "base/arena.h"
#include "base/hash_map.h"
#include "base/log.h"
#include "base/rng.h"
#include "base/texts.h"
#include "mapping/map.h"
#include "wire/agent_messages.h"

#define SECOND INT64_C(1000000000)

enum session_state {
	SESSION_NOT_YET, /* there was none since the agent started */
	SESSION_LOST,    /* there was one; what programs write meanwhile is a loss */
	SESSION_OPEN,    /* and its source is read */
};

/* agent_records.c: the source of records, and what it delivered. */
struct agent_records {
	struct source source; /* while the session is open */
	struct source
	    mapped; /* the stage of it that maps programs without libhone; zeroes: there is none */
	struct source_stats stats;
	struct listed_users users; /* of agent.users, and the agent's own if there are some */
	uint64_t process_changes;  /* stats.changes as the inventory has them */
	bool more;                 /* the source has more records at this moment */
	uint32_t last_count;       /* records of the last turn */
	struct mono last_at;       /* the last turn with records */
	/* Of earlier sources. */
	uint64_t lost_before[LOSS_REASONS], records_before, mapped_before, dropped_before;
	uint64_t blind_losses;   /* times of which it is unknown what was written */
	uint64_t open_ends;      /* requests of mapped programs without an end, as logged last */
	uint64_t endless;        /* those that others overtook, as logged last */
	struct mono ends_logged; /* when that was */
	struct mono unwritten_logged, trouble_logged, stranger_logged, full_logged;
	char untraced[64]; /* a live program that is not traced, and its pid; 0: there is none */
	uint32_t untraced_pid;
	struct node_trouble
	    culprit; /* the program that was put into quarantine last; kind NONE: none */
	char culprit_name[64];
	uint64_t quarantines; /* stats.quarantines as they were logged */
	uint32_t unlisted;    /* stats.unlisted as it was logged */
	struct mono unlisted_logged;
	struct mono culprit_at, culprit_logged;
	char trouble[400], logged_trouble[400]; /* the source's error; "": none */
};

/* agent_tracing.c: the tracer's session. */
struct agent_tracing {
	enum session_state session;
	struct mono open_after, checked_at, listed_at, lost_at;
	bool tend_due;
	struct node_trouble trouble; /* text: in trouble_text */
	char trouble_text[400];
};

/* agent_control.c: the controller's wants. */
struct agent_control {
	bool connected, has_want, sampling;
	bool watched;           /* requests of some type are probed */
	bool overrun;           /* as the last want of this connection has it */
	bool programs_due;      /* the list of programs has to be sent */
	uint64_t connection;    /* number of the last one */
	struct mono heard;      /* the last message */
	struct mono renewed_at; /* sampling was renewed last; 0: it is not the time to compare */
	uint64_t renewed_bytes; /* records.stats.bytes then */
	char link_trouble[400], rates_trouble[400];
};

/* agent_queues.c: how full they are. */
struct agent_queues {
	double peak[QUEUES];   /* since the last status */
	char peak_program[64]; /* whose ring buffer that was; "": not known */
	uint32_t peak_pid;
	double ring_fill;            /* of the fullest ring, at the last look */
	double ring_fill_per_second; /* since the look before */
	struct mono looked_at;
	bool over_half;
	enum queue fullest, shed_by;
	bool files_full; /* no request is sampled until they are under half full */
	struct mono files_full_at;
	uint32_t files_full_times;
	int64_t files_full_ns; /* sum of earlier times */
	struct node_trouble files_trouble;
};

/* status_report.c: what the agent reports of itself. */
struct agent_report {
	bool due; /* do not wait for status.every */
	bool hanging;
	struct mono reported_at;
	struct mono trimmed; /* when free memory was returned to the system */
	pid_t tracer_pid;
	struct family tracer;
	int64_t tracer_base_us, tracer_cpu_us;
	/* Of it, what was for records that are read, and the sums at the last status. */
	int64_t tracer_counted_us, tracer_seen_us;
	uint64_t tracer_read, tracer_left;
	/* The session daemon's alone, when the task that runs began to switch tracepoints (0: none does), and what earlier ones took. */
	int64_t switch_began_us, switched_us;
	struct family_demand demand; /* at the begin of the seconds that are looked at */
	bool spins;                  /* in those before, one of its threads did not rest */
};

/* agent_below.c: hone-below. */
struct agent_below {
	struct below_start *start; /* NULL: none */
	struct source_below
	    *source;       /* a member of records.source while the session is open; NULL: none */
	char why_not[400]; /* why there is no starter; "": there is one */
	const char *wanted[WANT_BELOW_MAX];
	uint32_t nwanted;
	bool services;    /* they are wanted now */
	bool kernel;      /* kernel events are */
	uint64_t before;  /* bit i: of wanted[i] also what threads do before they begin a unit */
	bool before_now;  /* a process is followed so */
	uint64_t outside; /* records of threads in no probed request, and when they were counted */
	struct mono outside_at, before_off; /* before_off: until then no process is followed so */
	struct arena names;                 /* of wanted */
	struct mono until;                  /* end of their lease */
	struct map
	    reported; /* pid, as the tracer reports it, of those that are wanted and were looked for */
	struct map processes; /* pid here -> followed_of() */
	bool processes_due;
	uint64_t process_changes;
	struct mono looked_at, leased_at, began, retry_at;
	int64_t retry_ns;
	uint64_t deaths;
	int64_t cpu_before_us, begin_before_us; /* of earlier sources; and of that, to begin */
	bool known;                             /* what it can do, also of earlier sources */
	uint32_t can;
	char missing[BELOW_MISSING_MAX + 1], trouble[400];
	char said[BELOW_MISSING_MAX + 1]; /* what is missing, as logged last */
};

enum { PROBED_PROGRAMS_MAX = 512 };

/* agent_probes.c: USDT probes, by hone-below. */
struct agent_probes {
	struct tracer_change *changes; /* that are under way; NULL: none */
	uint32_t n, open;              /* open: answers that are still to come */
	struct probe_pattern {         /* what is on: a name, or with a wildcard */
		uint32_t point;        /* of reconcile */
		char name[TOGGLE_NAME_MAX + 1];
	} * patterns;
	uint32_t npatterns, cap_patterns;
	struct texts
	    *names; /* of probes that were switched; the number plus 1 is the id for hone-below */
	struct probe_state {
		bool on, asked; /* asked: its answer is still to come */
		struct mono
		    dear; /* it was switched off since it is passed too often; 0: it was not */
	} * states;
	uint32_t cap_states;
	bool wanted; /* some are, as of the last turn */
	uint32_t listing,
	    listing_here; /* pid, as the tracer reports it and as it is here; 0: none */
	char listing_service[64];
	struct mono list_asked, list_after; /* list_after: after no answer, none is asked before */
	bool
	    list_fileless; /* hone-below is, or was, needed for programs whose file is unknown, and no others */
	bool list_gave;             /* it has listed a program with a known file, or with probes */
	struct mono fileless_after; /* hone-below is not started before for such programs */
	int64_t unanswered_ns, fileless_ns; /* how long the last such pauses were; 0: none yet */
	struct process_found found[PROBED_PROGRAMS_MAX]; /* that the tracer does not know */
	uint32_t nfound;
	struct mono found_at;
};

enum { KERNEL_SERVICES_MAX = 64, KERNEL_CGROUPS_MAX = 64, KERNEL_PROCESSES_MAX = 512 };

enum kernel_state {
	KERNEL_OFF,
	KERNEL_ASKED, /* hone-below has not said yet whether it records */
	KERNEL_FOLLOWED
};

/* agent_kernel.c: programs that are followed by kernel events. */
struct agent_kernel {
	const char *services[KERNEL_SERVICES_MAX]; /* patterns of names */
	uint32_t nservices;
	const char *cgroups[KERNEL_CGROUPS_MAX];
	uint32_t ncgroups;
	struct arena texts;
	struct gateways *gateways; /* NULL: none are configured */
	struct source_requests
	    *source; /* a member of records.source while the session is open; NULL: none */
	enum kernel_state state;
	struct kernel_process {
		uint32_t pid;
		int64_t began_ns; /* a pid that is used again is another process */
		char comm[16];
		bool gateway; /* of a control group of gateways */
		bool told;    /* hone-below was */
	} * found;            /* as of looked_at */
	uint32_t nfound;
	struct mono looked_at, again; /* again: it is not tried before */
	char missing[BELOW_MISSING_MAX + 1];
	uint64_t counted; /* kernel events, at counted_at */
	struct mono counted_at;
	double per_second;
	uint64_t losses; /* as logged last */
	struct mono losses_logged;
	uint64_t requests_before; /* of earlier sources */
};

/* agent_recorder.c: the flight recorder. */
struct agent_recorder {
	struct recorder_rules wanted; /* until the lease ends */
	struct mono until;
	struct recorder_state state; /* as the tracer has it */
	bool due;                    /* the tracer has to be told what is wanted */
	bool undone;                 /* it failed when it was told last */
	struct mono since;           /* its rules are the same since then */
	struct mono set_at;
	char missing[BELOW_MISSING_MAX + 1]; /* why it is not on; "": it is, or is not wanted */
	/* Keeps that wait for a snapshot; the first `taken` of them are those of the snapshot that is under way. */
	struct keep waiting[KEEPS_MAX];
	uint32_t nwaiting, taken;
	struct snapshot *snapshot; /* that is read; NULL: none */
	char folder[PATH_MAX];     /* of it */
	struct mono snapshot_at;
	uint64_t snapshots, refused;
	uint64_t sized_records, sized_bytes; /* of all snapshots: the mean size of a record */
	struct map produced; /* of each ring: its file's hash -> position at measured_at */
	struct mono measured_at;
	double written, written_bytes; /* since the agent started: records, bytes / mean size */
	double bytes_per_s;            /* in the last period that was measured */
	bool flushing;                 /* a snapshot is being made */
	int64_t ring_bytes;
};

struct agent {
	const struct agent_config *config;
	struct guard *guard;
	void (*log)(enum log_level level, const char *text);
	int wake; /* an eventfd that ends the wait of agent_turn() */

	struct outbox *out;
	struct pack *pack;
	struct link *link;
	struct tls *tls; /* the link's; NULL unless its URL is tls:// */
	struct tracer_thread *tracer_thread;
	struct reconcile *reconcile;
	struct inventory *inventory;
	struct rates *rates;
	struct maps maps;
	struct rng random; /* decides which requests of mapped programs are sampled */
	struct cost cost;  /* of a record */

	struct agent_records records;
	struct agent_tracing tracing;
	struct agent_control control;
	struct agent_queues queues;
	struct agent_report report;
	struct agent_below below;
	struct agent_probes probes;
	struct agent_kernel kernel;
	struct agent_recorder recorder;
};

void agent_log(struct agent *a, enum log_level level, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#endif
