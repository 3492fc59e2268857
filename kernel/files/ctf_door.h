/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The interface between recording_ctf.c and the shared object that reads CTF through babeltrace2 (formats/format_ctf.c says where
 * it is). The object knows babeltrace2 and no events; what it calls knows events and no babeltrace2.
 */
#ifndef KERNEL_FILES_CTF_DOOR_H
#define KERNEL_FILES_CTF_DOOR_H

#include "kernel/files/raw_event.h"

struct ctf_environment { /* of a trace; "": missing. Valid during the call. */
	const char *hostname;
	bool is_own; /* Hone's recording */
};

struct ctf_calls {
	/* Of each stream of the trace, before its events. */
	int (*begin)(void *of, const struct ctf_environment *env, struct err *e);
	/* Of an event's name, once for each class: what its events mean; NULL: they are only counted. Lives as long as the
	 * reading. An err code in *rc: it fails. */
	const struct event_name *(*name)(void *of, const char *name, int *rc);
	/* An event. Its texts are valid during the call. */
	int (*event)(void *of, const struct raw_event *r, struct err *e);
	/* An event whose name means nothing: `name` as it was given to name(). */
	void (*unused)(void *of, const char *name);
	/* Events were lost on a CPU, between these times; count 0: not known. */
	int (*lost)(
	    void *of, uint16_t cpu, uint64_t count, int64_t from_ns, int64_t to_ns, struct err *e);
	/* An event cannot be used: it has no clock, or its time is out of range. */
	void (*no_clock)(void *of);
};

struct ctf_reading;

/* Opens one trace. ERR_INPUT: babeltrace2 rejects it; ERR_SYSTEM: its plugins are missing. */
typedef int ctf_door_open(struct ctf_reading **ret, const char *folder, bool raw_times,
    const struct ctf_calls *calls, void *of, struct err *e);
/* Reads some events. 1: there may be more; 0: the end. ERR_INPUT: babeltrace2 cannot read on, *e says why; or an error of the calls. */
typedef int ctf_door_more(struct ctf_reading *r, struct err *e);
/* The offset of the first event's clock; 0: none, or not read yet. */
typedef int64_t ctf_door_wall(const struct ctf_reading *r);
typedef void ctf_door_close(struct ctf_reading *r);

struct ctf_door {
	ctf_door_open *open;
	ctf_door_more *more;
	ctf_door_wall *wall;
	ctf_door_close *close;
};

/* What the shared object exports. A program that is linked with it needs no shared object. */
extern const struct ctf_door ctf_door_babeltrace;
#define CTF_DOOR "ctf_door_babeltrace"

#endif
