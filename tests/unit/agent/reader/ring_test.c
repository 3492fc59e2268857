/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rings whose program is hostile. What a ring of an honest program says is in source_lttng_test.c. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "agent/reader/ring.h"

enum { PACKET = 4096, PACKETS = 4, PRODUCED_AT = 128, CONSUMED_AT = 152 };

/* Of a child, whose exit status is the line of what failed. */
#define MUST(condition)                            \
	do {                                       \
		if (!(condition))                  \
			_exit(__LINE__ % 255 + 1); \
	} while (0)

/* The head of a ring in the layout of liblttng-ust 2.13, with 5000 bytes produced. */
static void
head_write(int fd)
{
	static const uint8_t magic[16] = { 0x17, 0x7b, 0xf1, 0x77, 0xbf, 0x17, 0x7b, 0xf1, 0x77,
		0xbf, 0x17, 0x7b, 0xf1, 0x77, 0xbf, 0x17 };
	const uint16_t abi = 0x1234;
	const uint32_t at[2] = { PRODUCED_AT, CONSUMED_AT }, mode = 1;
	const uint64_t sizes[3] = { PACKET * PACKETS, PACKET, PACKETS }, produced = 5000;
	uint8_t head[4096] = { 0 };

	memcpy(head, magic, sizeof magic);
	memcpy(head + 24, &abi, sizeof abi);
	head[30] = 8;
	memcpy(head + 32, at, sizeof at);
	head[76] = head[77] = 8;
	memcpy(head + 96, sizes, sizeof sizes);
	memcpy(head + 120, &mode, sizeof mode);
	memcpy(head + PRODUCED_AT, &produced, sizeof produced);
	MUST(pwrite(fd, head, sizeof head, 0) == sizeof head);
	MUST(ftruncate(fd, PACKET * (PACKETS + 1)) == 0);
}

static int
ring_make(struct ring *r)
{
	char dir[] = "/dev/shm/ring-test-XXXXXX";
	struct err e;
	int place, fd;

	MUST(mkdtemp(dir) != NULL);
	MUST((place = open(dir, O_RDONLY | O_DIRECTORY)) >= 0);
	MUST((fd = openat(place, "hone_0", O_RDWR | O_CREAT, 0600)) >= 0);
	head_write(fd);
	int rc = ring_map(r, place, "hone_0", &e);
	unlinkat(place, "hone_0", 0);
	close(place);
	rmdir(dir);
	MUST(rc == 0);
	return fd;
}

/* cmocka handles SIGBUS itself during a test, so what needs the handler of rings runs in a child. */
static int
status_of(void (*body)(void))
{
	int status;
	pid_t child = fork();

	if (child == 0) {
		signal(SIGBUS, SIG_DFL);
		body();
		_exit(0);
	}
	assert_true(child > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	return status;
}

static void
shorten(void)
{
	struct ring cut, other;
	int a = ring_make(&cut), b = ring_make(&other);

	MUST(ring_intact(&cut));
	MUST(ring_produced(&cut) == 5000);
	MUST(ftruncate(a, 0) == 0);
	MUST(ring_produced(&cut) == 0);
	MUST(*ring_produced_word(&cut) == 0);
	MUST(!ring_intact(&cut));
	MUST(ring_intact(&other));
	MUST(ring_produced(&other) == 5000);
	head_write(a);
	MUST(!ring_intact(&cut)); /* what the file holds later is not seen */
	ring_unmap(&cut);
	ring_unmap(&other);
	close(b);
}

static void
a_ring_whose_file_is_shortened_reads_as_zero_and_is_not_intact(void **state)
{
	(void)state;
	assert_int_equal(status_of(shorten), 0);
}

static void
use_again(void)
{
	struct ring r;
	int fd = ring_make(&r);
	const uint8_t *head = r.head;

	MUST(ftruncate(fd, 0) == 0);
	MUST(ring_consumed(&r) == 0);
	ring_unmap(&r);
	ring_make(&r);
	MUST(r.head == head);
	MUST(ring_intact(&r));
	MUST(ring_produced(&r) == 5000);
}

static void
the_place_of_a_shortened_ring_is_used_again(void **state)
{
	(void)state;
	assert_int_equal(status_of(use_again), 0);
}

static void
fault_elsewhere(void)
{
	struct ring r;
	int fd = ring_make(&r);
	volatile const uint8_t *map = mmap(NULL, PACKET, PROT_READ, MAP_SHARED, fd, 0);

	MUST(map != MAP_FAILED && map[0] == 0x17);
	MUST(ftruncate(fd, 0) == 0);
	MUST(map[0] == 1); /* not reached */
}

static void
a_bus_error_elsewhere_still_ends_the_process(void **state)
{
	int status;
	(void)state;

	status = status_of(fault_elsewhere);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGBUS);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_ring_whose_file_is_shortened_reads_as_zero_and_is_not_intact),
		cmocka_unit_test(the_place_of_a_shortened_ring_is_used_again),
		cmocka_unit_test(a_bus_error_elsewhere_still_ends_the_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
