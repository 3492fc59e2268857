/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What was learned of each request type: ONE merged graph of labels in their
 * context, never a list of paths. A place is a label in the unit it occurs in
 * (the label that began the unit) and the span it lies in (the label that opened
 * it). Steps lead from place to place in program order, with how often each was
 * taken and how long it took on average.
 */
#ifndef SEARCHSPACE_SPACE_H
#define SEARCHSPACE_SPACE_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/moments.h"
#include "analysis/trace.h"

struct place {
	uint32_t label, unit, span; /* labels; span LABEL_NONE: directly in the unit */
	uint64_t traces;            /* in which it occurred */
	uint64_t count;             /* occurrences in all */
	double offset_ns; /* mean time since its unit's begin: its place in happens-before order */
};

struct space;

struct space *space_new(const struct labels *labels); /* NULL: out of memory */
void space_free(struct space *s);

/* Adds a whole trace (all its units) to the graph of its type. Units without their begin are left
 * out. O(events). ERR_MEMORY: out of memory, or of what one type may take (1,048,576 places). */
int space_learn(struct space *s, const struct trace *t, struct err *e);

struct space_stats {
	uint64_t traces;                /* whole ones */
	uint32_t places, steps, labels; /* labels: distinct ones that can be switched (points) */
	uint32_t glimpsed;          /* places that no whole trace has shown (space_learn_more()) */
	uint64_t new_in_last_tenth; /* places first seen in the newest tenth of the traces: how far
	                               from complete */
};
/* type: label of request_begin, LABEL_NONE: all types together. false: nothing learned of it. */
bool space_stats(const struct space *s, uint32_t type, struct space_stats *ret);
uint64_t space_traces(
    const struct space *s, uint32_t type); /* whole ones that it was learned from. O(types) */
/* The i-th type that was learned, or LABEL_NONE. */
uint32_t space_type(const struct space *s, uint32_t i);

/* How much is not yet covered, told from the places that were seen in few whole traces only. */
struct space_cover {
	double unseen;   /* places that were not seen yet, at least: Chao's estimate for samples of
	                    presence, in its   form without bias for small numbers, (m-1)/m
	                    f1(f1-1)/(2(f2+1)) of m traces, f1 places seen in   one and f2 in two
	                    (Chao,   Biometrics 43, 1987; Chao et al., Ecology Letters 8, 2005) */
	double next_new; /* chance that the next trace shows a place that is new: the share of
	                    traces that did so for places that no other trace has shown (Good,
	                    Biometrika 40, 1953, leaving out one trace); at most 1 */
};
/* type: LABEL_NONE: all together. false: no whole trace of it was learned. O(places). */
bool space_cover(const struct space *s, uint32_t type, struct space_cover *ret);

/*
 * Adds what a trace taught of which only some tracepoints were on: places of labels that are new in
 * their unit, with the steps around them. Counts and times of what is known stay as they are, since
 * those of the few places that were on cannot be compared with the others; and there is no new step
 * between places that are known, since it may lead past what was off. What is so added counts as
 * seen in no more traces than were learned whole, and its counts begin anew when a whole trace
 * shows it. Of a type that nothing was learned of it adds all, and `traces` stays 0; the first
 * whole trace of that type begins anew. O(events). ERR_MEMORY.
 */
int space_learn_more(struct space *s, const struct trace *t, struct err *e);

/* What may lie between two neighbours of a critical path. */
struct gap {
	uint32_t from, to;           /* labels of the edge */
	uint32_t from_unit, to_unit; /* labels that began their units */
	/* A path may pass these ends at several places, after one another and round a loop: */
	uint32_t nth; /* so many times `from` stands on the path before where this one begins */
	bool back;    /* it goes round a loop, from its last label to its first */
};

/* ---- what else a place knows ---- */

/* Where a place hands work on or gets it back: the label of the unit that it begins, or began. */
struct concurrency {
	uint32_t place,
	    unit; /* place: index, in the order learned; unit: label of the unit_begin */
	uint64_t count;
};
/* What a field of a place's tracepoint held: numbers by their range, texts by how many different
 * ones. */
struct place_key {
	uint32_t place;
	const char *field;
	uint8_t type; /* enum value_type */
	uint64_t count;
	double low, high; /* of numbers */
	uint32_t texts;   /* different ones, at most 256 */
};
/* All of a type, in the order it was learned, as read-only arrays until the space is taught more or
 * looked at again. false: nothing learned of it, or out of memory. O(size). */
struct space_export {
	const struct place *places;
	const struct space_step {
		uint32_t from, to;
		uint64_t count;
		double mean_ns;
	} * steps; /* from, to: places;
count 0: taken only while other tracepoints were off */
	const struct concurrency *concurrency;
	const struct place_key *keys;
	uint32_t nplaces, nsteps, nconcurrency, nkeys;
	uint64_t traces; /* that were learned whole */
};
bool space_export(struct space *s, uint32_t type, struct space_export *ret);

/* ---- versions of an application ---- */

/* A space is of one version of the application. fingerprint: of which tracepoints its programs
 * have, 0: not known. */
struct space_version {
	uint64_t fingerprint;
	char name[64];
	int64_t learned_ns; /* wall clock, last taught */
	uint64_t traces;
};
const struct space_version *space_version(const struct space *s); /* name "": none was set */
/* name: not longer than fits. learned_ns 0: as it was. ERR_INPUT. */
int space_version_set(
    struct space *s, uint64_t fingerprint, const char *name, int64_t learned_ns, struct err *e);
/* The versions that the file has, newest first; *ret is the caller's, free(). Errors as of
 * space_load(). Reads all of the file, to see that it is whole. */
int space_versions(struct space_version **ret, uint32_t *n, const char *path, struct err *e);
/* Labels of points that the space knows and `has` (by its words "service", "provider:event") does
 * not: they are gone; calls gone() for each. O(labels). */
void space_stale(const struct space *s,
    bool (*has)(void *ctx, const char *service, const char *event), void *ctx,
    void (*gone)(void *ctx, uint32_t label));
/* As if all that `from` was taught had been taught to s as well; s keeps its version. Same labels.
 * O(size of from). ERR_MEMORY: part of it may have been added. */
int space_merge(struct space *s, const struct space *from, struct err *e);

/*
 * The space is a file of its own (docs/space.md). Writes whole, to path.new, then renames: a crash
 * leaves the old one. Does not write over what is no space, a newer one, or one that is damaged,
 * and keeps the other versions that the file has. load: adds what the file has of that version (by
 * its name; NULL: the newest) to *s, all or nothing; `labels` are those of space_new(); a space
 * without a version takes the file's. ERR_STORE (no database, another application's, damaged, rows
 * that contradict each other), ERR_FULL, ERR_VERSION, ERR_MISSING (no such file, no such version:
 * words say which there are), ERR_MEMORY. O(size).
 */
int space_save(const struct space *s, const char *path, struct err *e);
int space_load(
    struct space *s, struct labels *labels, const char *path, const char *version, struct err *e);

#endif
