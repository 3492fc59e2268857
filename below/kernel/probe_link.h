/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Attaches a BPF program to places of a file. Many at once need Linux 6.6 (BPF_TRACE_UPROBE_MULTI, which libbpf 1.1 has no call for). Before
 * that each place is a perf event of its own (perf_event_open(2), the kernel's source "uprobe", Linux 4.17) with a link that has a cookie
 * (5.15): detaching then takes 0.11 s for each, so they are few.
 */
#ifndef BELOW_KERNEL_PROBE_LINK_H
#define BELOW_KERNEL_PROBE_LINK_H

#include <stdbool.h>
#include <stdint.h>

/* The attach type for the program that is to have many places: bpf_program__set_expected_attach_type(). One that has few has none. */
enum { PROBE_LINK_TYPE = 48, PROBE_LINK_FEW = 8 };

struct probe_link_places {       /* n of each */
	const uint64_t *offsets; /* in the file, of instructions */
	const uint64_t
	    *semaphores; /* in the file, of counters that the kernel increases meanwhile; 0: none */
	const uint64_t *cookies;
	uint32_t n;
};

struct probe_link { /* n 0: nothing is attached */
	int fds[PROBE_LINK_FEW];
	uint32_t n;
};

/* Attaches in all processes that run the file, also in later ones: all of the places or none, -1 with errno. path: "/proc/self/fd/N" is
 * fine. 0.05 to 21 ms for 1,000 places; closing takes 14 to 150 ms. */
int probe_link_open(
    struct probe_link *ret, int program, const char *path, const struct probe_link_places *p);
/* The same for PROBE_LINK_FEW places at most (E2BIG). 0.1 ms each. */
int probe_link_open_few(
    struct probe_link *ret, int program, const char *path, const struct probe_link_places *p);
void probe_link_close(struct probe_link *l); /* detaches */

/* Whether the kernel has links to many. program: of this attach type. */
bool probe_link_is_possible(int program);
/* Whether it has events of places, and permits them (CAP_PERFMON). */
bool probe_link_few_are_possible(void);

#endif
