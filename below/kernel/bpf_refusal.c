/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "below/kernel/bpf_refusal.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LOG_MAX = 300 };

/* libbpf's last complaint: the most precise one that there is. */
static char complaint[LOG_MAX];

static int
keep_complaint(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	char *end;

	if (level != LIBBPF_WARN)
		return 0;
	vsnprintf(complaint, sizeof complaint, fmt, ap);
	if ((end = strchr(complaint, '\n')) != NULL)
		*end = '\0';
	return 0;
}

void
bpf_refusal_begin(void)
{
	complaint[0] = '\0';
	libbpf_set_print(keep_complaint);
}

int
bpf_refusal(int error, struct err *e)
{
	if (access("/sys/kernel/btf/vmlinux", R_OK) != 0)
		return err_set(e, ERR_MISSING,
		    "this kernel does not describe its types (/sys/kernel/btf/vmlinux): it needs CONFIG_DEBUG_INFO_BTF");
	if (error == EPERM || error == EACCES)
		return err_set(e, ERR_DENIED,
		    "the kernel does not permit BPF programs: CAP_BPF and CAP_PERFMON are needed (setcap "
		    "cap_bpf,cap_perfmon+ep on hone-below, or AmbientCapabilities of its unit), and no lockdown");
	return err_set(e, ERR_SYSTEM, "the kernel does not take the BPF programs: %s%s%s",
	    strerror(error), complaint[0] != '\0' ? ": " : "", complaint);
}
