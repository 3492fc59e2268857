/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE
#include "below/stacks/stacks.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/below/stacks/sampled.h"
#include "tests/usdt_note.h"

static char folder[400]; /* of this test, with `blocked` in it */

struct child {
	pid_t pid, tid;
	int in, out, line;
};

static void
start(struct child *c, const char *program, const char *how)
{
	char path[600], text[128], state = 0;
	int in[2], out[2];
	ssize_t n;

	snprintf(path, sizeof path, "%s%s", program[0] == '/' ? "" : folder, program);
	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	c->pid = fork();
	assert_true(c->pid >= 0);
	if (c->pid == 0) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		execl(path, "blocked", how, NULL);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	c->in = in[1];
	c->out = out[0];
	n = read(c->out, text, sizeof text - 1);
	assert_true(n > 0);
	text[n] = '\0';
	assert_int_equal(sscanf(text, "%d %d %d", &c->pid, &c->tid, &c->line), 3);
	snprintf(path, sizeof path, "/proc/%d/task/%d/stat", c->pid, c->tid);
	for (int tries = 0; tries < 10000 && state != 'S';
	     tries++) { /* it sleeps right after it has said so */
		FILE *f = fopen(path, "r");

		assert_non_null(f);
		assert_int_equal(fscanf(f, "%*d (%*[^)]) %c", &state), 1);
		fclose(f);
		if (state != 'S')
			usleep(1000);
	}
	assert_int_equal(state, 'S');
}

static void
end(struct child *c)
{
	kill(c->pid, SIGKILL);
	waitpid(c->pid, NULL, 0);
	close(c->in);
	close(c->out);
}

static struct stacks *
opened(void)
{
	struct stacks_limits limits = { .maps_every_ms = 1, .sample_ms = 10000 };
	struct stacks *s = NULL;
	struct err e;

	assert_int_equal(stacks_open(&s, &limits, &e), 0);
	return s;
}

static void
place_of(struct stacks *s, const struct child *c, size_t bytes, struct code_place *ret)
{
	static struct sampled taken;

	assert_true(sampled_take(&taken, c->pid, c->tid, bytes));
	stacks_place(s, &taken.sample, ret);
}

/* Blocks a new process, and places it with a new reader. */
static int
blocked(const char *how, size_t bytes, struct code_place *ret)
{
	struct stacks *s = opened();
	struct child c;

	start(&c, "blocked", how);
	place_of(s, &c, bytes, ret);
	end(&c);
	stacks_close(s);
	return c.line;
}

static void
a_blocked_thread_has_its_function_and_line(void **state)
{
	struct code_place p;
	int line = blocked("read", 16384, &p);
	(void)state;

	assert_int_equal(p.end, STACK_COMPLETE);
	assert_string_equal(p.function, "append");
	assert_string_equal(p.file, "blocked.c");
	assert_int_equal(p.line, line);
	assert_string_equal(p.call, "read");
	assert_non_null(strstr(p.folded, "main;work;serve() at blocked.c:"));
	assert_non_null(strstr(p.folded, ";append() at blocked.c:"));
}

static void
a_thread_ends_at_its_start_and_a_mutex_is_called_by_its_name(void **state)
{
	struct code_place p;
	int line = blocked("mutex", 16384, &p);
	(void)state;

	assert_int_equal(p.end, STACK_COMPLETE);
	assert_string_equal(p.function, "append");
	assert_int_equal(p.line, line);
	assert_non_null(strstr(p.call, "pthread_mutex_lock"));
	assert_null(strstr(p.folded, "main"));
	assert_non_null(strstr(p.folded, ";work;serve() at blocked.c:"));
	assert_non_null(strstr(p.folded, ";append() at"));
}

static void
a_function_that_is_compiled_into_another_is_named(void **state)
{
	struct code_place p;
	int line = blocked("inlined", 16384, &p);
	(void)state;

	assert_int_equal(p.end, STACK_COMPLETE);
	assert_string_equal(p.function, "flush_log");
	assert_int_equal(p.line, line);
	assert_non_null(strstr(p.folded, "serve;append() at blocked.c:"));
	assert_non_null(strstr(p.folded, ";flush_log() at blocked.c:"));
}

static void
what_a_signal_interrupted_is_on_the_stack_of_its_handler(void **state)
{
	struct code_place p;
	(void)state;

	blocked("signal", 16384, &p);
	assert_int_equal(p.end, STACK_COMPLETE);
	assert_string_equal(p.function, "append");
	assert_non_null(strstr(p.folded, ";main;"));
	assert_non_null(strstr(p.folded, ";raise;"));
	assert_non_null(strstr(p.folded, ";handler;serve() at blocked.c:"));
	assert_non_null(strstr(p.folded, ";append() at"));
}

static void
a_stack_of_too_few_bytes_says_so_and_keeps_its_inner_end(void **state)
{
	struct code_place p;
	(void)state;

	blocked("read", 1024, &p); /* append() has 3000 bytes of its own */
	assert_int_equal(p.end, STACK_BYTES_MISSED);
	assert_string_equal(p.function, "append");
	assert_memory_equal(p.folded, "...;", 4);
}

static void
code_that_is_made_at_run_time_has_no_name_and_ends_the_stack(void **state)
{
	struct code_place p;
	(void)state;

	blocked("made", 16384, &p);
	assert_int_equal(p.end, STACK_NO_RULES);
	assert_string_equal(p.function, "[code made at run time]");
}

static void
a_stripped_program_has_offsets_from_where_its_functions_begin(void **state)
{
	struct stacks *s = opened();
	char command[1000], line[200], expected[64] = "";
	struct code_place p;
	struct child c;
	FILE *f;
	(void)state;

	snprintf(command, sizeof command, "strip -s -o %sstripped %sblocked", folder, folder);
	assert_int_equal(system(command), 0);
	start(&c, "stripped", "read");
	place_of(s, &c, 16384, &p);
	end(&c);
	stacks_close(s);
	snprintf(command, sizeof command, "nm %sblocked", folder);
	assert_non_null(f = popen(command, "r"));
	while (fgets(line, sizeof line, f) != NULL) {
		unsigned long address;
		char type, name[100];

		if (sscanf(line, "%lx %c %99s", &address, &type, name) == 3 &&
		    strcmp(name, "append") == 0)
			snprintf(expected, sizeof expected, "stripped+0x%lx", address);
	}
	pclose(f);
	snprintf(command, sizeof command, "%sstripped", folder);
	unlink(command);
	assert_int_equal(p.end, STACK_COMPLETE);
	assert_string_equal(p.function, expected);
	assert_string_equal(p.file, "");
}

static void
copy(const char *from, const char *to)
{
	char command[2500];

	snprintf(command, sizeof command, "cd %s && cp %s %s.new && mv %s.new %s", folder, from, to,
	    to, to);
	assert_int_equal(system(command), 0);
}

/* As an ordinary user the mapped file itself cannot be opened, only its name. */
static void
as_ordinary_user(void (*check)(void))
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		if (getuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0))
			_exit(2);
		check();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

#define EXPECT(condition)                                                                         \
	do {                                                                                      \
		if (!(condition)) {                                                               \
			fprintf(                                                                  \
			    stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #condition, p.folded); \
			_exit(1);                                                                 \
		}                                                                                 \
	} while (0)

static struct child upgraded;

static void
check_upgraded(void)
{
	struct stacks *s = opened();
	struct code_place p;

	place_of(s, &upgraded, 16384, &p);
	stacks_close(s);
	EXPECT(strstr(p.folded, "other_") == NULL);
	if (strcmp(p.function, "append") != 0) {
		EXPECT(strcmp(p.function, "running (replaced)") == 0);
		EXPECT(p.end == STACK_REPLACED);
	}
}

static void
a_program_that_was_upgraded_is_never_named_by_the_new_file(void **state)
{
	char path[600];
	(void)state;

	copy("blocked", "running");
	start(&upgraded, "running", "read");
	copy("blocked_other", "running");
	check_upgraded();
	end(&upgraded);
	snprintf(path, sizeof path, "%srunning", folder);
	unlink(path);
}

static void
upgraded_alone(void)
{
	struct child c;
	struct code_place p;
	struct stacks *s = opened();
	char path[] = "/tmp/hone-stacks-XXXXXX", command[2000];

	/* In a folder that this user may write. */
	if (mkdtemp(path) == NULL)
		_exit(2);
	snprintf(command, sizeof command, "cp %sblocked %s/running", folder, path);
	if (system(command) != 0)
		_exit(3);
	snprintf(command, sizeof command, "%s/running", path);
	start(&c, command, "read");
	place_of(s, &c, 16384, &p);
	EXPECT(strcmp(p.function, "append") == 0 && p.end == STACK_COMPLETE);
	snprintf(command, sizeof command, "cp %sblocked_other %s/new && mv %s/new %s/running",
	    folder, path, path, path);
	if (system(command) != 0)
		_exit(4);
	usleep(2000);               /* longer than maps_every_ms */
	place_of(s, &c, 16384, &p); /* the file that was opened before is the one that is mapped */
	EXPECT(strcmp(p.function, "append") == 0 || strcmp(p.function, "running (replaced)") == 0);
	stacks_close(s);
	s = opened();
	place_of(s, &c, 16384, &p);
	EXPECT(strcmp(p.function, getuid() == 0 ? "append" : "running (replaced)") == 0);
	EXPECT(strstr(p.folded, "other_") == NULL);
	EXPECT(strstr(p.folded, "read") != NULL); /* of the C library, which was not replaced */
	stacks_close(s);
	s = opened();
	snprintf(command, sizeof command, "rm %s/running", path);
	if (system(command) != 0)
		_exit(5);
	place_of(s, &c, 16384, &p);
	EXPECT(strcmp(p.function, getuid() == 0 ? "append" : "running (replaced)") == 0);
	stacks_close(s);
	end(&c);
	rmdir(path);
}

static void
a_program_that_was_replaced_or_deleted_is_said_to_be(void **state)
{
	(void)state;
	as_ordinary_user(upgraded_alone);
}

static pid_t
reader_of(void)
{
	char path[64];
	int pid = 0;
	FILE *f;

	snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
	assert_non_null(f = fopen(path, "r"));
	while (fscanf(f, "%d", &pid) == 1) {
		char name[32] = "";
		FILE *g;

		snprintf(path, sizeof path, "/proc/%d/comm", pid);
		if ((g = fopen(path, "r")) != NULL) {
			if (fscanf(g, "%31s", name) == 1 && strcmp(name, "hone-stacks") == 0) {
				fclose(g);
				break;
			}
			fclose(g);
		}
		pid = 0;
	}
	fclose(f);
	return pid;
}

/* As said in below/stacks/reader_filter.h. */
static void
the_reader_may_make_few_system_calls_and_gain_no_privilege(void **state)
{
	static struct code_place place;
	bool filtered = false, no_new = false;
	struct stacks *s = opened();
	char path[64], line[256];
	struct child c;
	FILE *f;
	(void)state;

	start(&c, "blocked", "read");
	place_of(s, &c, 16384, &place); /* so that it has begun */
	snprintf(path, sizeof path, "/proc/%d/status", (int)reader_of());
	assert_non_null(f = fopen(path, "r"));
	while (fgets(line, sizeof line, f) != NULL) {
		filtered |= strcmp(line, "Seccomp:\t2\n") == 0;
		no_new |= strcmp(line, "NoNewPrivs:\t1\n") == 0;
	}
	fclose(f);
	end(&c);
	stacks_close(s);
	assert_int_equal(place.end, STACK_COMPLETE);
	assert_true(no_new);
#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
	assert_true(filtered);
#else
	(void)filtered;
#endif
}

static void
a_reader_that_dies_or_hangs_costs_one_sample(void **state)
{
	struct stacks_limits limits = { .sample_ms = 1000 };
	struct stacks_counts counts;
	struct stacks *s = NULL;
	struct code_place p;
	struct child c;
	struct err e;
	pid_t reader;
	(void)state;

	start(&c, "blocked", "read");
	assert_int_equal(stacks_open(&s, &limits, &e), 0);
	for (int i = 0; i < 100 && (reader = reader_of()) == 0; i++) /* it sets its name */
		usleep(10000);
	assert_true(reader > 0);
	place_of(s, &c, 16384, &p);
	assert_string_equal(p.function, "append");
	for (int i = 0; i < 2; i++) {
		reader = reader_of();
		assert_true(reader > 0);
		kill(reader, i == 0 ? SIGKILL : SIGSTOP);
		place_of(s, &c, 16384, &p);
		assert_int_equal(p.end, STACK_GIVEN_UP);
		for (int k = 0; k < 100 && p.end == STACK_GIVEN_UP;
		     k++) /* under a sanitizer a start is slow */
			place_of(s, &c, 16384, &p);
		assert_string_equal(p.function, "append");
		assert_int_not_equal(reader_of(), reader);
	}
	stacks_counts(s, &counts);
	assert_int_equal(counts.ends[STACK_GIVEN_UP], 2);
	assert_int_equal(counts.given_up_files, 0); /* it was not reading any */
	end(&c);
	stacks_close(s);
	assert_int_equal(reader_of(), 0);
}

static void
samples_from_before_an_exec_are_not_unwound_with_the_new_maps(void **state)
{
	static struct sampled taken;
	struct stacks *s = opened();
	struct code_place p;
	struct child c;
	(void)state;

	start(&c, "blocked", "read");
	assert_true(sampled_take(&taken, c.pid, c.tid, 16384));
	stacks_follow(s, c.pid);
	stacks_forget(s, c.pid, taken.sample.time_ns + 1);
	stacks_place(s, &taken.sample, &p);
	assert_int_equal(p.end, STACK_NO_PROCESS);
	assert_string_equal(p.folded, "");
	taken.sample.time_ns += 2;
	stacks_place(s, &taken.sample, &p);
	assert_string_equal(p.function, "append");
	end(&c);
	taken.sample.time_ns += 2;
	stacks_place(s, &taken.sample, &p); /* it has ended, but its maps are still known */
	assert_string_equal(p.function, "append");
	stacks_forget(s, c.pid, UINT64_MAX);
	stacks_place(s, &taken.sample, &p);
	assert_int_equal(p.end, STACK_NO_PROCESS);
	stacks_close(s);
}

static void
the_cost_of_the_reader_is_known_while_it_lives(void **state)
{
	struct stacks *s = opened();
	struct code_place p;
	struct child c;
	uint64_t before_ns = stacks_cpu_ns(s);
	(void)state;

	start(&c, "blocked", "read");
	place_of(s, &c, 16384, &p);
	assert_true(stacks_cpu_ns(s) > before_ns);
	end(&c);
	stacks_close(s);
}

static void
any_registers_and_bytes_end_in_a_place(void **state)
{
	static struct sampled taken;
	struct stacks *s = opened();
	struct code_place p;
	struct child c;
	uint64_t x = 1;
	(void)state;

	start(&c, "blocked", "read");
	assert_true(sampled_take(&taken, c.pid, c.tid, 16384));
	for (int i = 0; i < 3000; i++) {
		struct sampled *t = &taken;

		x = x * UINT64_C(6364136223846793005) + 1442695040888963407;
		t->bytes[(x >> 33) % t->sample.nbytes] = (uint8_t)(x >> 20);
		if (i % 3 == 0)
			t->sample.registers[(x >> 40) % STACK_REGISTERS] += (x >> 50) - 4096;
		stacks_place(s, &t->sample, &p);
		assert_true(p.end != STACK_GIVEN_UP && p.frames <= PLACE_FRAMES_MAX);
		assert_true(strlen(p.folded) <= PLACE_FOLDED_MAX);
		if (i % 100 == 0)
			assert_true(sampled_take(&taken, c.pid, c.tid, 16384));
	}
	end(&c);
	stacks_close(s);
}

/* Changes some bytes of a file, mostly in what libdw reads of it: unwinding rules, debug information, symbols, headers. */
static void
spoil(uint8_t *file, size_t size, uint64_t *x)
{
	int n;

	*x = *x * UINT64_C(6364136223846793005) + 1442695040888963407;
	n = 1 + (int)(*x >> 59);
	for (int i = 0; i < n; i++) {
		size_t at;

		*x = *x * UINT64_C(6364136223846793005) + 1442695040888963407;
		at = (*x >> 33) % (i % 4 == 0 ? 1024 : size);
		file[at] = (uint8_t)(*x >> 25);
	}
}

static void
a_hostile_file_ends_or_delays_only_the_process_that_reads_it(void **state)
{
	enum { FILES = 150, SAMPLES = 8 };
	struct stacks_limits limits = { .maps_every_ms = 1, .sample_ms = 1000 };
	struct stack_sample sample = { .pid = getpid() };
	static uint8_t whole[1 << 20], spoilt[1 << 20], bytes[4096];
	struct stacks_counts counts;
	struct code_place p;
	struct stacks *s = NULL;
	char path[600];
	struct err e;
	uint64_t x = 7;
	size_t size;
	FILE *f;
	(void)state;

	snprintf(path, sizeof path, "%sblocked", folder);
	assert_non_null(f = fopen(path, "r"));
	size = fread(whole, 1, sizeof whole, f);
	fclose(f);
	assert_true(size > 10000 && size < sizeof whole);
	assert_int_equal(stacks_open(&s, &limits, &e), 0);
	for (int i = 0; i < FILES; i++) {
		void *code;
		int fd;

		memcpy(spoilt, whole, size);
		spoil(spoilt, size, &x);
		snprintf(path, sizeof path, "%sspoilt-%d", folder, i);
		fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
		assert_true(fd >= 0);
		assert_int_equal(write(fd, spoilt, size), (ssize_t)size);
		code = mmap(NULL, size, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
		assert_true(code != MAP_FAILED);
		close(fd);
		usleep(1100); /* longer than maps_every_ms */
		for (int k = 0; k < SAMPLES; k++) {
			x = x * UINT64_C(6364136223846793005) + 1442695040888963407;
			sample.registers[STACK_RIP] = (uintptr_t)code + 0x1000 + (x >> 40) % 0x800;
			sample.registers[STACK_RSP] = 0x7f0000000000;
			for (size_t j = 0; j + 8 <= sizeof bytes; j += 8) {
				uint64_t address = (uintptr_t)code + 0x1000 + j % 0x800;

				memcpy(bytes + j, &address, sizeof address);
			}
			sample.bytes = bytes;
			sample.nbytes = sizeof bytes;
			stacks_place(s, &sample, &p);
			assert_true(
			    p.end <= STACK_GIVEN_UP && strlen(p.folded) <= PLACE_FOLDED_MAX);
		}
		munmap(code, size);
		unlink(path);
	}
	stacks_counts(s, &counts);
	stacks_close(s);
	assert_true(counts.ends[STACK_GIVEN_UP] * 4 < counts.samples);
	assert_true(counts.names > FILES);
}

static void
the_probes_of_a_process_come_with_their_open_file(void **state)
{
	static struct file_probes found;
	struct file_identity identity;
	struct stat st, own;
	struct stacks *s;
	struct err e;
	uint32_t i = 0;
	int fd = -1;
	(void)state;

	USDT_PROBE("stacks_test", "here", 1);
	assert_int_equal(stacks_open(&s, &(struct stacks_limits){ 0 }, &e), 0);
	while (stacks_probes(s, getpid(), i++, 0, &identity, &found, &fd) && found.total == 0)
		assert_int_equal(fd, -1);
	assert_true(found.count == 1 && strcmp(found.list[0].name, "stacks_test:here") == 0);
	assert_true(fstat(fd, &st) == 0 && stat("/proc/self/exe", &own) == 0);
	assert_true(st.st_ino == own.st_ino && identity.inode == own.st_ino);
	assert_true(lseek(fd, 0, SEEK_SET) == 0 && write(fd, "", 1) < 0); /* to read only */
	close(fd);
	while (stacks_probes(s, getpid(), i++, 0, &identity, &found, &fd))
		if (fd >= 0)
			close(fd);
	assert_true(i > 2);
	assert_false(stacks_probes(s, 1 << 29, 0, 0, &identity, &found, &fd));
	stacks_close(s);
}

volatile int by_hand;
int probed_by_its_name(int n);

__attribute__((noinline)) int
probed_by_its_name(int n)
{
	while (n-- > 0)
		by_hand += n;
	return by_hand;
}

static void
a_function_is_found_by_its_name_in_the_files_of_a_process(void **state)
{
	static struct file_functions found;
	struct file_identity identity;
	struct stat own;
	struct stacks *s;
	struct err e;
	int fd = -1;
	(void)state;

	assert_int_equal(probed_by_its_name(3), 3);
	assert_int_equal(stacks_open(&s, &(struct stacks_limits){ 0 }, &e), 0);
	for (uint32_t i = 0; fd < 0; i++)
		assert_true(
		    stacks_functions(s, getpid(), i, "probed_by_its_name", &identity, &found, &fd));
	assert_true(stat("/proc/self/exe", &own) == 0 && identity.inode == own.st_ino);
	assert_true(found.count == 1 && found.lack == FUNCTION_IS_PROBED);
	assert_true(found.list[0].nexits >= 1);
	close(fd);
	/* not those of the C library, and none that is not there */
	for (uint32_t i = 0; stacks_functions(s, getpid(), i, "strfry", &identity, &found, &fd);
	     i++)
		assert_true(fd < 0 && found.count == 0);
	assert_true(stacks_functions(s, getpid(), 0, "", &identity, &found, &fd) && fd < 0);
	assert_false(stacks_functions(s, 1 << 29, 0, "main", &identity, &found, &fd));
	stacks_close(s);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_blocked_thread_has_its_function_and_line),
		cmocka_unit_test(a_thread_ends_at_its_start_and_a_mutex_is_called_by_its_name),
		cmocka_unit_test(a_function_that_is_compiled_into_another_is_named),
		cmocka_unit_test(what_a_signal_interrupted_is_on_the_stack_of_its_handler),
		cmocka_unit_test(a_stack_of_too_few_bytes_says_so_and_keeps_its_inner_end),
		cmocka_unit_test(code_that_is_made_at_run_time_has_no_name_and_ends_the_stack),
		cmocka_unit_test(a_stripped_program_has_offsets_from_where_its_functions_begin),
		cmocka_unit_test(a_program_that_was_upgraded_is_never_named_by_the_new_file),
		cmocka_unit_test(a_program_that_was_replaced_or_deleted_is_said_to_be),
		cmocka_unit_test(the_reader_may_make_few_system_calls_and_gain_no_privilege),
		cmocka_unit_test(a_reader_that_dies_or_hangs_costs_one_sample),
		cmocka_unit_test(the_cost_of_the_reader_is_known_while_it_lives),
		cmocka_unit_test(samples_from_before_an_exec_are_not_unwound_with_the_new_maps),
		cmocka_unit_test(the_probes_of_a_process_come_with_their_open_file),
		cmocka_unit_test(a_function_is_found_by_its_name_in_the_files_of_a_process),
		cmocka_unit_test(any_registers_and_bytes_end_in_a_place),
		cmocka_unit_test(a_hostile_file_ends_or_delays_only_the_process_that_reads_it),
	};
	char *slash;

	(void)argc;
	if (realpath(argv[0], folder) != NULL && (slash = strrchr(folder, '/')) != NULL)
		slash[1] = '\0';
	return cmocka_run_group_tests(tests, NULL, NULL);
}
