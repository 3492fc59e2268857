/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The learned space: for each request type ONE merged graph of labels in their context, never a
 * list of paths. A place is a label in the unit in which it occurs (the label that began the
 * unit) and the span around it (the label that opened the span). Steps lead from place to place
 * in program order, with their number and mean time. docs/space.md.
 */
#ifndef SEARCHSPACE_SPACE_H
#define SEARCHSPACE_SPACE_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/moments.h"
#include "analysis/trace.h"
#include "searchspace/space_content.h"

struct space;

struct space *space_new(const struct labels *labels); /* NULL: out of memory */
void space_free(struct space *s);

/* Adds a whole trace (all its units) to the graph of its type. Units without their begin are
 * skipped. O(events). ERR_MEMORY: out of memory, or over the limit of one type (1,048,576
 * places). */
int space_learn(struct space *s, const struct trace *t, struct err *e);

struct space_stats {
	uint64_t traces;                /* whole traces */
	uint32_t places, steps, labels; /* labels: number of different points */
	uint32_t glimpsed;              /* places seen only by space_learn_more() */
	/* Places first seen in the newest tenth of the traces: how far from complete. */
	uint64_t new_in_last_tenth;
};
/* Of one type (label of request_begin), or of all (LABEL_NONE). false: nothing was learned of
 * it. O(types + places). */
bool space_stats(const struct space *s, uint32_t type, struct space_stats *ret);
uint64_t space_traces(
    const struct space *s, uint32_t type); /* whole traces learned of a type; O(types) */
/* The i-th learned type, or LABEL_NONE. */
uint32_t space_type(const struct space *s, uint32_t i);

/* Estimates of what is still missing, from the places that few whole traces showed. */
struct space_cover {
	/*
	 * Lower bound of the number of places not seen yet: Chao's estimate for presence data,
	 * bias-corrected for small numbers, (m-1)/m f1(f1-1)/(2(f2+1)) for m traces, f1 places
	 * seen in one trace and f2 in two (Chao, Biometrics 43, 1987; Chao et al., Ecology
	 * Letters 8, 2005).
	 */
	double unseen;
	/* Probability that the next trace shows a new place: the fraction of traces that showed
	 * a place which no other trace showed (Good, Biometrika 40, 1953, leaving out one
	 * trace); at most 1. */
	double next_new;
};
/* Of one type, or of all (LABEL_NONE). false: no whole trace was learned. O(places). */
bool space_cover(const struct space *s, uint32_t type, struct space_cover *ret);

/*
 * Learns from a trace with only some tracepoints enabled: adds places of labels that are new in
 * their unit, with the steps around them. Counts and times of known places stay, since those of
 * the few enabled tracepoints cannot be compared with the others; no step is added between
 * known places, since it may skip a disabled one. Added places count as seen in no more traces
 * than were learned whole, and their counts start again when a whole trace shows them. If
 * nothing was learned of the type, everything is added, `traces` stays 0, and the first whole
 * trace of the type starts again. O(events). ERR_MEMORY as above.
 */
int space_learn_more(struct space *s, const struct trace *t, struct err *e);

/* A gap between two neighbours of a critical path. */
struct gap {
	uint32_t from, to;           /* labels of the edge */
	uint32_t from_unit, to_unit; /* labels that began their units */
	/* A path may pass these ends several times, one after another and in loops: */
	/* Number of occurrences of `from` on the path before the one that begins this gap. */
	uint32_t nth;
	bool back; /* goes back in a loop, from its last label to its first */
	/* The path that it was found on passes each of its ends at one position. Then other paths
	 * pass it wherever they have these ends: iterations that differ are not folded. */
	bool only;
};

/* ---- further content ---- */

/* All of a type, in the order in which it was learned, as arrays of the space; valid until the
 * space learns more or is exported again. false: nothing learned of it, or out of memory.
 * O(size). */
struct space_export {
	const struct place *places;
	const struct space_step *steps;
	const struct concurrency *concurrency;
	const struct place_key *keys;
	uint32_t nplaces, nsteps, nconcurrency, nkeys;
	uint64_t traces; /* whole traces */
};
bool space_export(struct space *s, uint32_t type, struct space_export *ret);

/* ---- versions of an application ---- */

/* Name "": none was set. */
const struct space_version *space_version(const struct space *s);
/* name: at most 63 bytes. learned_ns 0: unchanged. ERR_INPUT. */
int space_version_set(
    struct space *s, uint64_t fingerprint, const char *name, int64_t learned_ns, struct err *e);
/* The versions in the file, newest first; the caller frees *ret. Errors as of space_load().
 * Reads the whole file, to check it. */
int space_versions(struct space_version **ret, uint32_t *n, const char *path, struct err *e);
/* Calls gone() for each label of a point that the space contains and for which has() (service
 * and "provider:event", terminated) returns false: stale labels. Labels are skipped when out of
 * memory. O(places). */
void space_stale(const struct space *s,
    bool (*has)(void *ctx, const char *service, const char *event), void *ctx,
    void (*gone)(void *ctx, uint32_t label));
/* Merges: afterwards s is as if it had also learned all traces of `from`; s keeps its version.
 * Both use the same labels. O(size of from). ERR_MEMORY: part of it may have been added. */
int space_merge(struct space *s, const struct space *from, struct err *e);

/*
 * The file of a space (docs/space.md).
 *
 * space_save() writes the whole file to path.new, then renames it: a crash leaves the old file.
 * It keeps the other versions in the file. It does not replace a file that is no space, of a
 * newer schema, or damaged.
 *
 * space_load() adds the version with that name (NULL: the newest) to *s, all or nothing;
 * `labels` are those of space_new(). A space without a version takes the file's version.
 *
 * ERR_STORE (not a database, of another application, damaged, inconsistent rows), ERR_FULL,
 * ERR_BUSY (another program is saving), ERR_VERSION, ERR_MISSING (no such file; no such
 * version, the text names the existing ones), ERR_MEMORY. O(size).
 */
int space_save(const struct space *s, const char *path, struct err *e);
int space_load(
    struct space *s, struct labels *labels, const char *path, const char *version, struct err *e);

#endif
