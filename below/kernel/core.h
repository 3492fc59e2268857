/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For BPF programs: the kernel's types of which they read something. Where a member lies is taken from the kernel's BTF
 * when the program is loaded, so only the names have to be those of the kernel. */
#ifndef BELOW_KERNEL_CORE_H
#define BELOW_KERNEL_CORE_H

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int s32;
typedef long long s64;
#define bool _Bool
#define true 1
#define false 0
typedef u8 __u8;
typedef u16 __u16;
typedef u32 __u32;
typedef u64 __u64;
typedef s32 __s32;
typedef s64 __s64;
typedef u16 __be16;
typedef u32 __be32;
typedef u64 __be64;
typedef u16 __sum16;
typedef u32 __wsum;

#define BY_BTF __attribute__((preserve_access_index))

struct thread_struct {
	unsigned long fsbase;
} BY_BTF;

struct upid {
	int nr;
} BY_BTF;

struct pid {
	unsigned int level;
	struct upid numbers[1];
} BY_BTF;

struct file___kernel;
struct sock;

struct inode {
	unsigned short i_mode;
} BY_BTF;

struct file___kernel {
	void *private_data;
	struct inode *f_inode;
	unsigned int f_flags;
} BY_BTF;

struct fdtable {
	unsigned int max_fds;
	struct file___kernel **fd;
} BY_BTF;

struct files_struct {
	struct fdtable *fdt;
} BY_BTF;

struct socket {
	struct sock *sk;
} BY_BTF;

struct in6_addr {
	union {
		u8 u6_addr8[16];
	} in6_u;
} BY_BTF;

struct ns_common {
	unsigned int inum;
} BY_BTF;

struct net {
	struct ns_common ns;
} BY_BTF;

struct possible_net { /* possible_net_t */
	struct net *net;
} BY_BTF;

struct sock_common {
	struct possible_net skc_net;
	u32 skc_daddr, skc_rcv_saddr;
	u16 skc_dport, skc_num;
	unsigned short skc_family;
	volatile unsigned char skc_state;
	struct in6_addr skc_v6_daddr, skc_v6_rcv_saddr;
} BY_BTF;

struct sock {
	struct sock_common __sk_common;
	int sk_err, sk_wmem_queued, sk_sndbuf;
	u16 sk_protocol;
	u8 sk_shutdown;
} BY_BTF;

struct sk_buff {
	u16 protocol, transport_header, network_header;
	unsigned char *head;
} BY_BTF;

struct irqaction {
	const char *name;
} BY_BTF;

struct
    sched_info { /* pcount: how often it got a CPU; run_delay: how long it was ready, until it got one last */
	unsigned long pcount;
	unsigned long long run_delay;
} BY_BTF;

struct sched_entity {
	unsigned long long sum_exec_runtime;
} BY_BTF;

struct task_struct {
	unsigned long nvcsw, nivcsw;
	struct sched_entity se;
	struct sched_info sched_info;
	struct pid *thread_pid;
	int pid, tgid, on_cpu;
	unsigned int __state, flags;
	struct thread_struct thread;
	struct files_struct *files;
	struct task_struct *real_parent;
	char comm[16];
	unsigned in_iowait : 1;
} BY_BTF;

/* As the kernel saves them: part of its interface to user space. */
struct pt_regs {
	unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax, ip,
	    cs, flags, sp, ss;
};

enum {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_ARRAY_OF_MAPS = 12,
	BPF_MAP_TYPE_RINGBUF = 27,
	BPF_MAP_TYPE_TASK_STORAGE = 29,
	BPF_F_NO_PREALLOC = 1,
	BPF_LOCAL_STORAGE_GET_F_CREATE = 1,
	BPF_ANY = 0,
	BPF_RB_NO_WAKEUP = 1
};

/* clang-format off: this order */
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>
/* clang-format on */

#endif
