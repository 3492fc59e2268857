/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The filter is a program for the kernel's classic BPF machine (linux/filter.h), which runs at each system call:
 *
 *	another architecture                     end the process
 *	openat with a flag that writes           EPERM
 *	mmap, mprotect with PROT_EXEC            EPERM
 *	ioctl but PROCMAP_QUERY, fcntl that does more than duplicate and look    EPERM
 *	a call of ALLOWED                        allow
 *	any other                                EPERM
 *
 * An argument has 64 bits; the kernel ignores the upper half of those that are looked at here, which are of type int, but
 * for mmap's and mprotect's protection, an unsigned long of which it uses the lower bits only.
 */
#define _GNU_SOURCE
#include "below/stacks/reader_filter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "below/stacks/mapped_file.h"

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define RETURN(action) BPF_STMT(BPF_RET | BPF_K, (action))
#define REFUSE RETURN(SECCOMP_RET_ERRNO | EPERM)
#define ALLOW RETURN(SECCOMP_RET_ALLOW)
/* The lower half of an argument (little endian). */
#define LOAD_ARGUMENT(n) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[n]))
/* Skips the next `steps` steps unless the value loaded is this. */
#define UNLESS_SKIP(value, steps) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), 0, (steps))

/* The call `number` is allowed if its argument n has none of these bits. Leaves the call's number loaded. */
#define WITHOUT_BITS(number, n, bits)             \
	UNLESS_SKIP(number, 4), LOAD_ARGUMENT(n), \
	    BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (uint32_t)(bits), 0, 1), REFUSE, ALLOW
/* The call `number` is allowed if its argument n is one of these three. */
#define ONE_OF(number, n, one, two, three)                              \
	UNLESS_SKIP(number, 6), LOAD_ARGUMENT(n),                       \
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(one), 2, 0), \
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(two), 1, 0), \
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(three), 0, 1), ALLOW, REFUSE
#define ALWAYS(number) UNLESS_SKIP(number, 1), ALLOW

/* O_RDONLY is 0. O_TMPFILE's own bit is not needed: it requires one that writes. */
#define WRITES (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | O_APPEND)

bool
reader_filter_begin(void)
{
	static struct sock_filter steps[] = {
		LOAD(arch),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0),
		RETURN(SECCOMP_RET_KILL_PROCESS),
		LOAD(nr),
		/* files */
		WITHOUT_BITS(__NR_openat, 2, WRITES),
		ALWAYS(__NR_read),
		ALWAYS(__NR_readv),
		ALWAYS(__NR_pread64),
		ALWAYS(__NR_lseek),
		ALWAYS(__NR_close),
		ALWAYS(__NR_fstat),
		ALWAYS(__NR_newfstatat),
		ALWAYS(__NR_stat),
		ALWAYS(__NR_lstat),
		ALWAYS(__NR_statx),
		ALWAYS(__NR_readlink),
		ALWAYS(__NR_readlinkat),
		ALWAYS(__NR_access),
		ALWAYS(__NR_getcwd),
		ONE_OF(__NR_fcntl, 1, F_DUPFD_CLOEXEC, F_GETFD, F_GETFL),
		ONE_OF(__NR_ioctl, 1, MAPPED_QUERY, MAPPED_QUERY, MAPPED_QUERY),
		/* answers, also with a file that is open here, and the image of the vdso */
		ALWAYS(__NR_write),
		ALWAYS(__NR_sendmsg),
		ALWAYS(__NR_memfd_create),
		/* memory */
		WITHOUT_BITS(__NR_mmap, 2, PROT_EXEC),
		WITHOUT_BITS(__NR_mprotect, 2, PROT_EXEC),
		ALWAYS(__NR_munmap),
		ALWAYS(__NR_mremap),
		ALWAYS(__NR_madvise),
		ALWAYS(__NR_brk),
		/* the C library's own */
		ALWAYS(__NR_clock_gettime),
		ALWAYS(__NR_futex),
		ALWAYS(__NR_getrandom),
		ALWAYS(__NR_getpid),
		ALWAYS(__NR_sysinfo), /* qsort() asks for the size of the memory */
		ALWAYS(__NR_rt_sigreturn),
		ALWAYS(__NR_restart_syscall),
		ALWAYS(__NR_exit),
		ALWAYS(__NR_exit_group),
		REFUSE,
	};
	const struct sock_fprog program = { sizeof steps / sizeof *steps, steps };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}
