/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef BELOW_KERNEL_TRAP_COST_H
#define BELOW_KERNEL_TRAP_COST_H

#include "below/kernel/trace_bpf.h"

/* What a pass of a probe at an emulated instruction costs a thread on this machine, in ns: 400 to 750 in virtual machines with Linux 6.18. Measured by a probe on an instruction of this program itself: the least of some batches of passes. 0: it cannot be
 * measured. Takes 15 to 200 ms, most of it to take the probe off. */
double trap_cost_ns(struct trace_bpf *t);

#endif
