/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE
#include "below/stacks/reader_filter.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

struct attempt {
	const char *what;
	long number, args[6];
};

static char text[64];
static struct iovec part = { text, sizeof text };
static long page; /* the address of one that can be read and written */

/* The attempts' results, of a child process under the filter: 0, or errno. No check of its own: the child makes no other
 * call than these, write and exit_group. False: there are no filters here, or the child did not report. */
static bool
tried(const struct attempt *list, size_t n, int32_t *results)
{
	int ends[2], status;
	bool told;
	pid_t child;

	assert_int_equal(pipe(ends), 0);
	assert_true((child = fork()) >= 0);
	if (child == 0) {
		if (!reader_filter_begin())
			_exit(1);
		for (size_t i = 0; i < n; i++) {
			const long *a = list[i].args;

			results[i] = syscall(list[i].number, a[0], a[1], a[2], a[3], a[4], a[5]) < 0
			                 ? errno
			                 : 0;
		}
		/* not _exit(): sanitizers make calls of their own there */
		syscall(SYS_exit_group,
		    write(ends[1], results, n * sizeof *results) != (ssize_t)(n * sizeof *results));
	}
	close(ends[1]);
	told = read(ends[0], results, n * sizeof *results) == (ssize_t)(n * sizeof *results);
	close(ends[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
	return told && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void
what_takes_the_reader_over_can_do_nothing_but_read(void **state)
{
	const long here = AT_FDCWD, self = getpid();
	const struct attempt list[] = {
		{ "a socket", SYS_socket, { AF_INET, SOCK_STREAM } },
		{ "a socket pair", SYS_socketpair, { AF_UNIX, SOCK_STREAM, 0, (long)text } },
		{ "connect", SYS_connect, { 0 } },
		{ "fork", SYS_fork, { 0 } },
		{ "clone", SYS_clone, { SIGCHLD } },
		{ "execve", SYS_execve, { (long)"/bin/true", 0, 0 } },
		{ "execveat", SYS_execveat, { here, (long)"/bin/true", 0, 0, 0 } },
		{ "a signal to another", SYS_kill, { self, 0 } },
		{ "ptrace", SYS_ptrace, { 0, self } },
		{ "another's memory", SYS_process_vm_readv,
		    { self, (long)&part, 1, (long)&part, 1 } },
		{ "writing another's memory", SYS_process_vm_writev,
		    { self, (long)&part, 1, (long)&part, 1 } },
		{ "BPF", SYS_bpf, { 0 } },
		{ "perf events", SYS_perf_event_open, { 0 } },
		{ "open for writing", SYS_openat, { here, (long)"/dev/null", O_WRONLY } },
		{ "open for both", SYS_openat, { here, (long)"/dev/null", O_RDWR } },
		{ "open to shorten", SYS_openat, { here, (long)"/dev/null", O_TRUNC } },
		{ "create", SYS_openat, { here, (long)"/tmp/x", O_CREAT | O_EXCL, 0600 } },
		{ "open, the old call", SYS_open, { (long)"/dev/null", O_WRONLY } },
		{ "open, the new call", SYS_openat2, { here, (long)"/dev/null", (long)text, 24 } },
		{ "unlink", SYS_unlinkat, { here, (long)"/tmp/none", 0 } },
		{ "rename", SYS_rename, { (long)"/tmp/none", (long)"/tmp/none2" } },
		{ "code in new memory", SYS_mmap,
		    { 0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0 } },
		{ "code in old memory", SYS_mprotect, { page, 4096, PROT_READ | PROT_EXEC } },
		{ "code by key", SYS_pkey_mprotect, { page, 4096, PROT_READ | PROT_EXEC, -1 } },
		{ "ioctl", SYS_ioctl, { 0, 0x5401 /* TCGETS */, (long)text } },
		{ "fcntl that sets", SYS_fcntl, { 0, F_SETFL, 0 } },
		{ "user id", SYS_setuid, { 0 } },
		{ "prctl", SYS_prctl, { 4 /* PR_SET_DUMPABLE */, 1 } },
		{ "limits", SYS_prlimit64, { 0, 0, 0, 0 } },
		{ "a mount", SYS_mount, { 0 } },
		{ "another namespace", SYS_unshare, { 0 } },
		{ "io_uring", SYS_io_uring_setup, { 1, (long)text } },
		{ "x32", 0x40000000 | SYS_read, { 0 } },
	};
	int32_t results[sizeof list / sizeof *list] = { 0 };
	(void)state;

	assert_true(tried(list, sizeof list / sizeof *list, results));
	for (size_t i = 0; i < sizeof list / sizeof *list; i++)
		if (results[i] != EPERM)
			fail_msg("%s: %s", list[i].what, strerror(results[i]));
}

static void
it_can_read_files_and_answer(void **state)
{
	const struct attempt list[] = {
		{ "open", SYS_openat, { AT_FDCWD, (long)"/proc/self/maps", O_RDONLY | O_CLOEXEC } },
		{ "open a path", SYS_openat,
		    { AT_FDCWD, (long)"/proc/self/exe", O_PATH | O_CLOEXEC } },
		{ "memory", SYS_mmap,
		    { 0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1 } },
		{ "duplicate", SYS_fcntl, { STDERR_FILENO, F_DUPFD_CLOEXEC, 0 } },
		{ "a file in memory", SYS_memfd_create, { (long)"vdso", 0 } },
		{ "a link", SYS_readlink, { (long)"/proc/self/exe", (long)text, sizeof text } },
	};
	int32_t results[sizeof list / sizeof *list] = { 0 };
	(void)state;

	assert_true(tried(list, sizeof list / sizeof *list, results));
	for (size_t i = 0; i < sizeof list / sizeof *list; i++)
		if (results[i] != 0)
			fail_msg("%s: %s", list[i].what, strerror(results[i]));
}

#ifdef __x86_64__
static void
a_call_of_32_bits_ends_the_process(void **state)
{
	int status;
	pid_t child;
	(void)state;

	assert_true((child = fork()) >= 0);
	if (child == 0) {
		long result = 20; /* getpid of i386 */

		if (!reader_filter_begin())
			_exit(1);
		__asm__ volatile("int $0x80" : "+a"(result) : : "memory", "r8", "r9", "r10", "r11");
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	/* SIGSEGV: of a kernel without 32-bit calls */
	assert_true(
	    WIFSIGNALED(status) && (WTERMSIG(status) == SIGSYS || WTERMSIG(status) == SIGSEGV));
}
#endif

static int
set_up(void **state)
{
	(void)state;
	page = (long)mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return (void *)page == MAP_FAILED;
}

static int
tear_down(void **state)
{
	(void)state;
	return munmap((void *)page, 4096);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_takes_the_reader_over_can_do_nothing_but_read),
		cmocka_unit_test(it_can_read_files_and_answer),
#ifdef __x86_64__
		cmocka_unit_test(a_call_of_32_bits_ends_the_process),
#endif
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
