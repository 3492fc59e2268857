/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE
#include "controlplane/honed/answer_process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FILE_FD = 3 };
#define LONGEST_NS (ANSWER_PROCESS_S * INT64_C(1000000000))

/* Out of memory, the kernel is to kill the child and not honed; and the engine goes first on a processor. Either may be refused. */
static void
step_back(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? write(fd, "1000", 4) : -1;

	(void)n;
	if (fd >= 0)
		close(fd);
	if (nice(5) < 0)
		errno = 0;
}

/* Connections must end when honed closes them, not when the child has ended, too. */
static bool
keep_only(int file)
{
	if (file != FILE_FD && dup2(file, FILE_FD) < 0)
		return false;
	return close_range(FILE_FD + 1, ~0U, 0) == 0;
}

static bool
write_all(int fd, const char *text, size_t len)
{
	for (ssize_t n; len > 0; text += n, len -= (size_t)n) {
		n = write(fd, text, len);
		if (n < 0 && errno == EINTR)
			n = 0;
		if (n < 0)
			return false;
	}
	return true;
}

static _Noreturn void
child(struct questions *q, const struct who *who, const char *question, size_t len, int file,
    pid_t parent)
{
	char *text;

	signal(SIGTERM, SIG_DFL);
	signal(SIGINT, SIG_DFL);
	/* 1. it ends with honed, also if that is killed */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent || !keep_only(file))
		_exit(1);
	step_back();
	/* 2. the answer */
	q->part = ANSWER_READ;
	text = questions_answer(q, who, question, len);
	_exit(text != NULL && write_all(FILE_FD, text, strlen(text)) ? 0 : 1);
}

int
answer_process_start(struct answer_process *p, struct questions *q, const struct who *who,
    const char *question, size_t len, struct mono now, struct err *e)
{
	pid_t parent = getpid();
	int rc;

	if ((p->file = memfd_create("hone-answer", MFD_CLOEXEC)) < 0)
		return err_errno(e, "a file for the answer");
	p->pid = fork();
	if (p->pid == 0)
		child(q, who, question, len, p->file, parent);
	if (p->pid < 0) {
		rc = err_errno(e, "a process for the answer");
		close(p->file);
		*p = (struct answer_process){ 0 };
		return rc;
	}
	p->begun = now;
	return 0;
}

enum answer_process_state
answer_process_step(struct answer_process *p, struct mono now, int *file)
{
	int status = -1;
	pid_t ended = waitpid(p->pid, &status, WNOHANG);

	if (ended == 0 || (ended < 0 && errno == EINTR)) {
		if (mono_since_ns(now, p->begun) > LONGEST_NS)
			kill(p->pid, SIGKILL);
		return ANSWER_RUNS;
	}
	*file = p->file;
	*p = (struct answer_process){ 0 };
	if (ended > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return ANSWER_DONE;
	close(*file);
	*file = -1;
	return ANSWER_FAILED;
}

void
answer_process_stop(struct answer_process *p)
{
	if (p->pid <= 0)
		return;
	kill(p->pid, SIGKILL);
	while (waitpid(p->pid, NULL, 0) < 0 && errno == EINTR)
		;
	close(p->file);
	*p = (struct answer_process){ 0 };
}
