/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Why the kernel does not take BPF programs, in words that say how to grant it. */
#ifndef BELOW_KERNEL_BPF_REFUSAL_H
#define BELOW_KERNEL_BPF_REFUSAL_H

#include "base/err.h"

/* From here on libbpf's complaints are kept, not printed: the last one is part of what bpf_refusal() says. One thread loads. */
void bpf_refusal_begin(void);

/* error: errno of the call that failed. ERR_DENIED: capabilities are missing, or a lockdown; ERR_MISSING: the kernel does not describe
 * its types; ERR_SYSTEM. */
int bpf_refusal(int error, struct err *e);

#endif
