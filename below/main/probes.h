/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The USDT probes of the programs that are followed, begins and ends of functions that were asked for, and which of them are on. A probe
 * is known by its name, in all files of all these programs, and may have several places in each.
 *
 *	probes_follow(pid) ---> its files, each read once --+
 *	probes_set(name, on) ------------------------------+--> probes_apply(): a link for each file, of all places that are on
 *
 * The links are of files, not of processes: whoever runs such a file passes the probe (0.9 us), and only processes that are followed
 * are recorded. They end with this process. So what probes may cost is limited here, whoever asks for them: where all of them together
 * take more than PROBES_SHARE_MAX of a core over a quarter of a second, those that are passed most go off, and stay off.
 */
#ifndef BELOW_MAIN_PROBES_H
#define BELOW_MAIN_PROBES_H

#include "base/clock.h"
#include "below/kernel/trace_bpf.h"
#include "below/main/places.h"
#include "below/stacks/stacks.h"

#define PROBES_SHARE_MAX 0.05

struct probe_rate {
	uint32_t id; /* the caller's */
	double per_second;
	double pass_ns; /* that a pass costs the thread (probe_price.h) */
};

/* Which of them have to go off: sorts the list, and returns how many of the first ones. Pure. O(n log n). */
uint32_t probes_over(struct probe_rate *list, uint32_t n);

struct probes;

struct probes *probes_new(
    struct trace_bpf *trace, struct stacks *stacks); /* both are borrowed. NULL: out of memory */
void probes_free(struct probes *p);                  /* NULL is fine. Switches all off */

/* Reads the files of a process that were not read yet. O(files), 0.1 ms each. */
void probes_follow(struct probes *p, pid_t pid);

/* Asks for a probe to be on or off. probes_apply() says what became of it. The first time of a function costs 0.1 to 20 ms for each file
 * of its process. */
void probes_set(struct probes *p, const struct below_probe *asked);

/* Switches, and hands on a PROBED for each that was asked for. A file in which a place was switched costs 1 to 90 ms, and 14 to 150
 * ms where one went off. */
void probes_apply(struct probes *p, below_take *take, void *of);

/* Four times a second: switches off what is passed too often, with a PROBED that says so. O(places that are on). */
void probes_limit(struct probes *p, struct mono now, below_take *take, void *of);

/* Hands on the names of all probes of the process's files: LISTED, the last one marked. */
void probes_list(struct probes *p, pid_t pid, below_take *take, void *of);

#endif
