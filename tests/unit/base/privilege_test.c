/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Each drop of privileges is tested in a process of its own, because it cannot be reversed. Without
 * root, only a part can be tested.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/privilege.h"

/* Returns 0, or the line of the check that failed. */
static int
in_child(int (*what)(void))
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(what());
	assert_true(pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status));
	return WEXITSTATUS(status);
}

#define HOLDS(x)                                   \
	do {                                       \
		if (!(x))                          \
			return __LINE__ % 250 + 1; \
	} while (0)

/* Reads /proc, independently of the calls in privilege.c. */
static int
no_privilege_is_left(void)
{
	char line[256];
	int seen = 0;
	FILE *f = fopen("/proc/self/status", "r");
	struct rlimit core;

	HOLDS(f != NULL);
	while (fgets(line, sizeof line, f) != NULL) {
		if (strncmp(line, "Cap", 3) == 0 && strncmp(line, "CapBnd", 6) != 0) {
			HOLDS(strtoull(line + 7, NULL, 16) == 0);
			seen++;
		}
		if (strncmp(line, "NoNewPrivs:", 11) == 0) {
			HOLDS(atoi(line + 11) == 1);
			seen++;
		}
	}
	fclose(f);
	HOLDS(seen == 5);
	HOLDS(getrlimit(RLIMIT_CORE, &core) == 0 && core.rlim_max == 0);
	HOLDS(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0);
	return 0;
}

static int
become_nobody(void)
{
	struct privilege p;
	struct err e;
	int rc;

	HOLDS(privilege_find(&p, "nobody", "root", NULL, &e) == 0 && p.become);
	HOLDS(privilege_drop(&p, &e) == 0);
	HOLDS((rc = no_privilege_is_left()) == 0);
	HOLDS(prctl(PR_CAPBSET_READ, CAP_CHOWN, 0, 0, 0) == 0 &&
	      prctl(PR_CAPBSET_READ, CAP_SYS_ADMIN, 0, 0, 0) == 0);
	HOLDS(getuid() == p.uid && geteuid() == p.uid && getgid() == p.gid && getegid() == p.gid);
	HOLDS(setuid(0) != 0 && setgid(0) != 0 && open("/etc/shadow", O_RDONLY) < 0);
	HOLDS(strcmp(getenv("HOME"), p.home) == 0 && strcmp(getenv("USER"), "nobody") == 0);
	return 0;
}

static int
stay_root(void)
{
	struct privilege p;
	struct err e;
	int rc, fd;

	HOLDS(privilege_find(&p, "", "no-such-user", NULL, &e) == 0 && !p.become);
	HOLDS(privilege_drop(&p, &e) == 0);
	HOLDS((rc = no_privilege_is_left()) == 0);
	/*
	 * For this thread only: glibc's setuid() changes all threads, and ThreadSanitizer has one
	 * from before the drop.
	 */
	HOLDS(geteuid() == 0 && chown("/", 0, 0) == 0 && chown("/", 1, 1) != 0 &&
	      syscall(SYS_setuid, 65534) != 0);
	/* An exec as root would restore capabilities if the drop did not prevent it. */
	HOLDS((fd = system("grep -q '^CapEff:.0000000000000000' /proc/self/status")) == 0);
	return 0;
}

static int
an_ordinary_user(void)
{
	struct privilege p;
	struct err e;

	HOLDS(setgid(65534) == 0 && setuid(65534) == 0);
	HOLDS(privilege_find(&p, "", "root", NULL, &e) == 0 && !p.become);
	HOLDS(privilege_find(&p, "root", "root", NULL, &e) == ERR_MISSING);
	HOLDS(privilege_find(&p, "nobody", "root", NULL, &e) == 0 && !p.become);
	HOLDS(privilege_drop(&p, &e) == 0);
	return no_privilege_is_left();
}

static void
dropped_privileges_cannot_be_regained(void **state)
{
	(void)state;

	if (geteuid() != 0)
		return; /* not skip(): cmocka prints it as "not ok" in TAP */
	assert_int_equal(in_child(become_nobody), 0);
	assert_int_equal(in_child(stay_root), 0);
	assert_int_equal(in_child(an_ordinary_user), 0);
}

static void
the_user_to_become_is_found_or_refused(void **state)
{
	struct privilege p;
	struct err e;
	(void)state;

	assert_int_equal(privilege_find(&p, "", "no-such-user", NULL, &e), 0);
	assert_false(p.become);
	assert_int_equal(privilege_find(&p, "no-such-user", "nobody", NULL, &e), ERR_MISSING);
	assert_non_null(strstr(e.text, "no-such-user"));
	if (geteuid() != 0)
		return; /* not skip(): cmocka prints it as "not ok" in TAP */
	assert_int_equal(privilege_find(&p, "", "nobody", "no-such-group", &e), 0);
	/* the default user applies only where the process may change its user */
	assert_false(p.become);
	assert_int_equal(privilege_find(&p, "", "nobody", "daemon", &e), 0);
	assert_true(p.become && p.ngroups >= 2);
	assert_int_equal(privilege_find(&p, "root", "nobody", NULL, &e), 0);
	assert_false(p.become);
}

static void
only_new_folders_change_their_owner(void **state)
{
	char top[] = "/tmp/privilege-XXXXXX", path[64];
	struct privilege p;
	struct stat st;
	struct err e;
	(void)state;

	assert_non_null(mkdtemp(top));
	snprintf(path, sizeof path, "%s/a/b", top);
	assert_int_equal(privilege_find(&p, geteuid() == 0 ? "nobody" : "", "nobody", NULL, &e), 0);
	assert_int_equal(privilege_folder(&p, path, 0700, &e), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_int_equal(st.st_uid, p.become ? p.uid : geteuid());
	assert_int_equal(stat(top, &st), 0);
	assert_int_equal(st.st_uid, geteuid());
	assert_int_equal(privilege_folder(&p, path, 0755, &e), 0); /* repeated: unchanged */
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	rmdir(path);
	*strrchr(path, '/') = '\0';
	rmdir(path);
	rmdir(top);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(dropped_privileges_cannot_be_regained),
		cmocka_unit_test(the_user_to_become_is_found_or_refused),
		cmocka_unit_test(only_new_folders_change_their_owner),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
