/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What threads did below their tracepoints, as records: the messages of hone-below (wire/below.h). While none runs, the
 * source has no records and its watermark is the present, so it holds no other source back.
 *
 *	idle --source_below_attach()--> active --source_below_end()--> ending --it has reported all until then--> idle
 *	                                  |--- its socket ends, it is silent, or sends what it must not ---> idle
 *
 *	WAIT   --> RECORD_WAIT    SERVICE/below:STATE(STACK)    at its end
 *	SAMPLE --> RECORD_SAMPLE  SERVICE/below:running(STACK)
 *	HITS   --> RECORD_POINT   SERVICE/usdt.PROVIDER:NAME, with its arguments as arg0, arg1, ..., and wordN: see struct below_probe; of a program without libhone it is in
 *	                          no trace
 *
 * STACK is the folded stack, of which the innermost entries are kept if it is too long; "" where it is unknown. Fields of a
 * wait: off_ns (its length), ready_ns (the end of it, from being woken), lock, owner, owner_state, owner_place, waker, waker_trace, waker_type, owner_name, owner_trace and owner_type (no value: not known), waker_name; of a sample: weight_ns; of both before_ns (source_before.h).
 */
#ifndef AGENT_READER_SOURCE_BELOW_H
#define AGENT_READER_SOURCE_BELOW_H

#include "agent/reader/source.h"
#include "wire/below.h"

struct source_below;

/* It reads the symbols of a process that it begins to follow, and of the functions in the first stacks. */
#define BELOW_BEGINS_NS INT64_C(4000000000)
/* What it takes for those that come sooner after each other, as in a program that forks often, is a cost like any other. */
#define BELOW_BEGINS_EVERY_NS INT64_C(30000000000)

enum source_below_state {
	SOURCE_BELOW_IDLE, /* none runs */
	/* It has not said yet what it can do, or has sent no mark: the watermark does not wait for it, so what it reported of
	 * a process would be lost. */
	SOURCE_BELOW_STARTING,
	SOURCE_BELOW_ACTIVE,
	SOURCE_BELOW_ENDING, /* it was asked to end; the poll that has its last records makes the source idle */
};

struct source_below_status {
	enum source_below_state state;
	bool known;   /* a CAN was received, of this hone-below or of an earlier one */
	uint32_t can; /* flags of wire/below.h */
	char missing[BELOW_MISSING_MAX + 1];
	int64_t cpu_us; /* of all of them, since the source was opened; */
	int64_t
	    begin_cpu_us; /* of that, to begin: until BELOW_BEGINS_NS after it began to follow a process, or a probe was switched */
	uint64_t deaths;  /* that ended without being asked to */
	uint64_t outside; /* waits and samples of threads in no probed request */
};

/* What hone-below answers; called in polls. Texts are valid during the call. */
struct source_below_answers {
	void *of;
	void (*listed)(void *of, const struct below_listed *l);
	void (*probed)(void *of, const struct below_probed *p);
	/* Kernel events. False: malformed, and it is ended. NULL, all of them: they are not asked for. */
	void (*recording)(void *of, const struct below_recording *r, struct mono now);
	bool (*events)(void *of, const struct below_events *v);
	void (*events_mark)(void *of, int64_t mark_ns);
	/* A wait or sample of a thread in no request, with its label. True: it was taken, and is not among the source's records. NULL: it
	 * is among them. */
	bool (*seen)(void *of, const struct record *r, const struct batch_label *l);
	/* It is gone: asked to, or not. */
	void (*gone)(void *of, bool asked);
};

/* Opens the source, idle. *handle is valid until ret->close(). ERR_MEMORY. */
int source_below_open(struct source *ret, struct source_below **handle,
    const struct source_below_answers *answers, struct err *e);

/* Takes the non-blocking socket of a new hone-below, which the source closes. Only while it is idle. What it reports of the
 * time before `now` is counted as lost, since the watermark has passed it. */
void source_below_attach(struct source_below *s, int socket, struct mono now);

/* Sends a message. False: idle, or the socket is full or closed; the next poll notices that it has ended. */
bool source_below_send(struct source_below *s, const struct below_message *m);

/* Follows a process, whose records are those of this service. False as above, or 65536 were followed. */
bool source_below_follow(struct source_below *s, const struct below_follow *f, const char *service);
void source_below_unfollow(struct source_below *s, uint32_t pid);

/* Switches a probe, whose hits have this id: always the same for a name. Until it says what became of it, it may be without a mark for 10 s
 * instead of 2 s. False: as above, or out of memory. */
bool source_below_probe(struct source_below *s, const struct below_probe *p);
/* Asks for the names of a process's probes. False: as above. */
bool source_below_list(struct source_below *s, uint32_t pid);

/* Asks for kernel events, or for none any more: flags of enum below_record_flag. Of this process and its children, too. False: as above. */
bool source_below_record(struct source_below *s, uint8_t flags);
bool source_below_record_of(struct source_below *s, uint32_t pid);

/* Programs that have no LTTng tracepoints, and are known by their mapping alone: they appear among the processes of source_stats. Copied.
 * False: out of memory, and the list is as before. */
bool source_below_programs(struct source_below *s, const struct source_process *list, uint32_t n);

/* Asks it to end. If it followed a process, its records until `now` still arrive; what does not is lost. */
void source_below_end(struct source_below *s, struct mono now);

void source_below_look(const struct source_below *s, struct source_below_status *ret);

#endif
