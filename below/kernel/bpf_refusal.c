/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "below/kernel/bpf_refusal.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/capability.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
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

/* Set by the command line of the kernel, or by who had the right to; false also where securityfs is not mounted. */
static bool
is_locked_down(void)
{
	char text[128] = "";
	FILE *f = fopen("/sys/kernel/security/lockdown", "re");

	if (f != NULL) {
		if (fgets(text, sizeof text, f) == NULL)
			text[0] = '\0';
		fclose(f);
	}
	return strstr(text, "[confidentiality]") != NULL;
}

static bool
has_capability(int number)
{
	struct __user_cap_header_struct h = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct d[_LINUX_CAPABILITY_U32S_3] = { 0 };

	return syscall(SYS_capget, &h, d) == 0 &&
	       (d[number / 32].effective >> (number % 32) & 1) != 0;
}

/* Which privilege is missing, and how to grant it. */
static int
why_denied(struct err *e)
{
	bool may_load = has_capability(CAP_BPF), may_trace = has_capability(CAP_PERFMON);

	if (may_load && may_trace)
		return err_set(e, ERR_DENIED,
		    "the kernel does not permit BPF programs, though this process has CAP_BPF and CAP_PERFMON: a seccomp "
		    "filter (of a container) or a security module forbids bpf(2)");
	return err_set(e, ERR_DENIED,
	    "the kernel does not permit BPF programs: %s missing (setcap cap_bpf,cap_perfmon+ep on hone-below, or "
	    "AmbientCapabilities of its unit)",
	    may_load    ? "CAP_PERFMON is"
	    : may_trace ? "CAP_BPF is"
			: "CAP_BPF and CAP_PERFMON are");
}

int
bpf_refusal(int error, struct err *e)
{
	if (access("/sys/kernel/btf/vmlinux", R_OK) != 0)
		return err_set(e, ERR_MISSING,
		    "this kernel does not describe its types (/sys/kernel/btf/vmlinux): it needs CONFIG_DEBUG_INFO_BTF");
	if (is_locked_down())
		return err_set(e, ERR_DENIED,
		    "the kernel is locked down (confidentiality, in /sys/kernel/security/lockdown), which forbids BPF "
		    "programs to read memory: it has to be booted with lockdown=integrity or none");
	/* without CAP_PERFMON Linux 6.1 says that it does not know a function of the programs */
	if (error == EPERM || error == EACCES || !has_capability(CAP_BPF) ||
	    !has_capability(CAP_PERFMON))
		return why_denied(e);
	return err_set(e, ERR_SYSTEM, "the kernel does not take the BPF programs: %s%s%s",
	    strerror(error), complaint[0] != '\0' ? ": " : "", complaint);
}
