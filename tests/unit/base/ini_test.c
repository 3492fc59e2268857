/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/ini.h"
#include "base/rng.h"

struct config {
	char *path, *name;
	int64_t count, lease_ns, ring_bytes, free_ns;
	double share;
	int on;
};

#define AT(field) offsetof(struct config, field)
static const struct ini_key keys[] = {
	{ "store", "path", INI_TEXT, AT(path), "/var/lib/hone", 0, 0, "Where the forest is kept." },
	{ "store", "name", INI_TEXT, AT(name), "", 0, 0, "What it is called." },
	{ "store", "count", INI_COUNT, AT(count), "30", 1, 1000, "Traces before a group counts." },
	{ "link", "lease", INI_TIME, AT(lease_ns), "1500ms", 1e6, 3600e9,
	    "How long a toggle lasts." },
	{ "link", "ring", INI_BYTES, AT(ring_bytes), "64MiB", 4096, INFINITY,
	    "Memory for batches." },
	{ "link", "free", INI_TIME, AT(free_ns), "0s", 0, 0, "Any time." },
	{ "limits", "share", INI_SHARE, AT(share), "10%", 0, 1, "Of one core." },
	{ "limits", "on", INI_BOOL, AT(on), "yes", 0, 0, "Whether at all." },
};
enum { NKEYS = sizeof keys / sizeof *keys };

static char path[] = "/tmp/ini_test.XXXXXX";

static int
make_file(void **state)
{
	int fd = mkstemp(path);

	(void)state;
	return fd < 0 ? -1 : close(fd);
}

static int
remove_file(void **state)
{
	(void)state;
	return unlink(path);
}

static int
read_this(struct config *c, const char *text, size_t len, struct err *e)
{
	FILE *f = fopen(path, "w");

	assert_int_equal(fwrite(text, 1, len, f), len);
	fclose(f);
	return ini_read(keys, NKEYS, c, path, e);
}

static void
defaults_are_read_as_in_a_file(void **state)
{
	struct config c;
	(void)state;

	memset(&c, 0xaa, sizeof c); /* previous content must be overwritten */
	assert_int_equal(ini_defaults(keys, NKEYS, &c, NULL), 0);
	assert_string_equal(c.path, "/var/lib/hone");
	assert_string_equal(c.name, "");
	assert_int_equal(c.count, 30);
	assert_int_equal(c.lease_ns, 1500000000);
	assert_int_equal(c.ring_bytes, 64 << 20);
	assert_true(c.share == 0.1);
	assert_int_equal(c.on, 1);
	ini_release(keys, NKEYS, &c);
	assert_null(c.path);
}

static void
a_file_overwrites_the_previous_settings(void **state)
{
	static const char text[] = "# Hone\n\n"
				   "[store]\r\n"
				   "  path=/srv/a b#c \t # the fast disk\n"
				   "count = 7\n"
				   "[limits]  # and here\n"
				   "share = 0.25\n"
				   "on\t=\tno\n"
				   "[store]\n"
				   "name = \" # \\\"x\\\" \\\\ \\n\\t\\x7f\" # quoted\n"
				   "[link]\n"
				   "lease = 2.5 s\n"
				   "ring = 1.5KiB\n"
				   "free = -3us";
	struct config c;
	struct err e = { 0 };
	(void)state;

	ini_defaults(keys, NKEYS, &c, NULL);
	/* 1.5 KiB is below the minimum */
	assert_int_equal(read_this(&c, text, sizeof text - 1, &e), ERR_INPUT);
	assert_non_null(strstr(e.text, ":13: ring: 1.5KiB is out of range, want at least 4KiB"));
	assert_string_equal(c.path, "/srv/a b#c");
	assert_string_equal(c.name, " # \"x\" \\ \n\t\x7f");
	assert_int_equal(c.count, 7);
	assert_int_equal(c.lease_ns, 2500000000);
	assert_int_equal(c.ring_bytes, 64 << 20);
	assert_true(c.share == 0.25);
	assert_int_equal(c.on, 0);
	ini_release(keys, NKEYS, &c);
}

static void
errors_name_the_line_and_the_permitted_values(void **state)
{
	static const struct {
		const char *text, *words;
	} bad[] = {
		{ "[stor]\n", ":1: no section [stor]; there are: store, link, limits" },
		{ "[store\n", ":1: a section is written [name]" },
		{ "\n[store]\ncolor = 1\n",
		    ":3: no key \"color\"; [store] has: path, name, count" },
		{ "path = x\n", ":1: a key before the first [section]" },
		{ "[store]\nnonsense\n", ":2: want [section], key = value, or # comment" },
		{ "[store]\ncount = 1\n\ncount = 2\n", ":4: count was given in line 2 already" },
		{ "[store]\ncount = 1\n[store]\ncount = 1\n",
		    ":4: count was given in line 2 already" },
		{ "[store]\ncount = 0\n", ":2: count: 0 is out of range, want 1 to 1000" },
		{ "[store]\ncount =\n", ":2: count: \"\" is not a whole number" },
		{ "[store]\ncount = 1.5\n", "\"1.5\" is not a whole number" },
		{ "[store]\ncount = 0x10\n", "\"0x10\" is not a whole number" },
		{ "[store]\ncount = 99999999999999999999\n", "is not a whole number" },
		{ "[link]\nlease = 5\n",
		    ":2: lease: \"5\" is not a time with its unit (ns, us, ms, s, min, h)" },
		{ "[link]\nlease = 5 days\n", "is not a time with its unit" },
		{ "[link]\nlease = .5s\n", "is not a time with its unit" },
		{ "[link]\nlease = 5.s\n", "is not a time with its unit" },
		{ "[link]\nlease = 0.5ns\n", "is not a time with its unit" },
		{ "[link]\nlease = 9999999999999999h\n", "is not a time with its unit" },
		{ "[link]\nlease = 9999999999999999999999999999999h\n",
		    "is not a time with its unit" },
		{ "[link]\nlease = 2h\n", ":2: lease: 2h is out of range, want 1ms to 1h" },
		{ "[link]\nring = 64MB\n",
		    "\"64MB\" is not a size with its unit (B, KiB, MiB, GiB)" },
		{ "[limits]\nshare = much\n", "\"much\" is not a share, as 10% or 0.1" },
		{ "[limits]\nshare = nan\n", "is not a share" },
		{ "[limits]\nshare = 1e999\n", "is not a share" },
		{ "[limits]\nshare = 10%%\n", "is not a share" },
		{ "[limits]\nshare = %\n", "is not a share" },
		{ "[limits]\nshare = 101%\n", "101% is out of range, want 0% to 100%" },
		{ "[limits]\non = true\n", ":2: on: \"true\" is not yes or no" },
		{ "[store]\nname = \"x\n", ":2: name: a quoted text ends with \"" },
		{ "[store]\nname = \"x\" y\n", "a quoted text ends with \"" },
		{ "[store]\nname = \"\\q\"\n", "a quoted text ends with \"" },
		{ "[store]\nname = \"\\x00\"\n", "a quoted text ends with \"" },
		{ "[store]\nname = \"\\\"\n", "a quoted text ends with \"" },
		{ "[store]\nname = \x7f"
		  "ELF\n",
		    ":2: byte 0x7f: not a text file" },
	};
	struct config c;
	struct err e;
	(void)state;

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		ini_defaults(keys, NKEYS, &c, NULL);
		assert_int_equal(read_this(&c, bad[i].text, strlen(bad[i].text), &e), ERR_INPUT);
		if (strncmp(e.text, path, strlen(path)) != 0 ||
		    strstr(e.text, bad[i].words) == NULL)
			fail_msg("want %s, got %s", bad[i].words, e.text);
		ini_release(keys, NKEYS, &c);
	}
}

static void
limits_of_lines_and_files_are_enforced(void **state)
{
	size_t len = 2 << 20;
	char *big = malloc(len);
	struct config c;
	struct err e;
	(void)state;

	ini_defaults(keys, NKEYS, &c, NULL);
	memset(big, '#', len);
	assert_int_equal(read_this(&c, big, 4096, &e), 0);
	assert_int_equal(read_this(&c, big, 4097, &e), ERR_INPUT);
	assert_non_null(strstr(e.text, ":1: line too long"));
	assert_int_equal(read_this(&c, big, len, &e), ERR_INPUT);
	assert_non_null(strstr(e.text, "not a configuration file"));
	assert_int_equal(read_this(&c, "[store]\nname = a\0b\n", 19, &e), ERR_INPUT);
	assert_int_equal(ini_read(keys, NKEYS, &c, "/no/such/file", &e), ERR_MISSING);
	assert_int_equal(ini_read(keys, NKEYS, &c, "/", &e), ERR_SYSTEM);
	/* a text whose line would be too long to read back */
	memcpy(big, "store.name=\" ", 13);
	memset(big + 13, '\\', 4200);
	strcpy(big + 4213, "\"");
	assert_int_equal(ini_set(keys, NKEYS, &c, big, &e), ERR_INPUT);
	assert_string_equal(c.name, "");
	ini_release(keys, NKEYS, &c);
	free(big);
}

static void
one_value_is_set_from_the_command_line(void **state)
{
	struct config c;
	struct err e;
	(void)state;

	ini_defaults(keys, NKEYS, &c, NULL);
	assert_int_equal(ini_set(keys, NKEYS, &c, "store.path=/x = #y", &e), 0);
	assert_string_equal(c.path, "/x = #y");
	assert_int_equal(ini_set(keys, NKEYS, &c, "link.lease=7us", &e), ERR_INPUT);
	assert_string_equal(e.text, "link.lease=7us: 7us is out of range, want 1ms to 1h");
	assert_int_equal(ini_set(keys, NKEYS, &c, "lease=7us", &e), ERR_INPUT);
	assert_string_equal(e.text, "lease=7us: want section.key=value");
	assert_int_equal(ini_set(keys, NKEYS, &c, "link.color=7us", &e), ERR_INPUT);
	assert_string_equal(
	    e.text, "link.color=7us: no key \"color\"; [link] has: lease, ring, free");
	ini_release(keys, NKEYS, &c);
}

static void
check_round_trip(const struct config *c, int with_help)
{
	FILE *f = fopen(path, "w");
	struct config back;
	struct err e;

	ini_print(keys, NKEYS, c, with_help, f);
	fclose(f);
	ini_defaults(keys, NKEYS, &back, NULL);
	if (ini_read(keys, NKEYS, &back, path, &e) != 0)
		fail_msg("%s", e.text);
	assert_string_equal(back.path, c->path);
	assert_string_equal(back.name, c->name);
	assert_true(back.count == c->count && back.lease_ns == c->lease_ns);
	assert_true(back.ring_bytes == c->ring_bytes && back.free_ns == c->free_ns);
	assert_true(back.share == c->share && back.on == c->on);
	ini_release(keys, NKEYS, &back);
}

static char *
random_text(struct rng *r)
{
	static const char letters[] = "ab \t\"\\#=[]\n\x01\xc3\xa4";
	size_t len = rng_below(r, 12);
	char *s = calloc(1, len + 1);

	for (size_t i = 0; i < len; i++)
		s[i] = letters[rng_below(r, sizeof letters - 1)];
	return s;
}

static void
printed_settings_are_read_back_exactly(void **state)
{
	struct rng r;
	(void)state;

	rng_seed(&r, 1);
	for (int i = 0; i < 2000; i++) {
		struct config c = { random_text(&r), random_text(&r) };

		c.count = 1 + (int64_t)rng_below(&r, 1000);
		c.lease_ns = 1000000 + (int64_t)rng_below(&r, 3599000000000);
		c.ring_bytes = 4096 + (int64_t)(rng_next(&r) >> (2 + rng_below(&r, 60)));
		c.free_ns = i == 0   ? INT64_MIN
		            : i == 1 ? INT64_MAX
		                     : (int64_t)rng_next(&r) >> rng_below(&r, 64);
		c.share = i % 2 ? rng_unit(&r) : (double)rng_below(&r, 1001) / 1000;
		c.on = i % 2;
		check_round_trip(&c, i % 3 == 0);
		ini_release(keys, NKEYS, &c);
	}
}

static void
printing_uses_the_shortest_form_and_the_help(void **state)
{
	static const char *const want =
	    "[store]\n\n"
	    "# Where the forest is kept.\n# default: /var/lib/hone\n"
	    "path = /var/lib/hone\n\n"
	    "# What it is called.\n# default: none\nname =\n\n"
	    "# Traces before a group counts.\n# 1 to 1000; default: 30\ncount = 30\n\n"
	    "[link]\n\n"
	    "# How long a toggle lasts.\n# 1ms to 1h; default: 1500ms\nlease = 90s\n\n"
	    "# Memory for batches.\n# at least 4KiB; default: 64MiB\nring = 2GiB\n\n"
	    "# Any time.\n# default: 0s\nfree = 0s\n\n"
	    "[limits]\n\n"
	    "# Of one core.\n# 0% to 100%; default: 10%\nshare = 2.5%\n\n"
	    "# Whether at all.\n# default: yes\non = yes\n";
	struct config c;
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);
	(void)state;

	ini_defaults(keys, NKEYS, &c, NULL);
	c.lease_ns = 90000000000;
	c.ring_bytes = (int64_t)2 << 30;
	c.share = 0.025;
	ini_print(keys, NKEYS, &c, 1, f);
	fclose(f);
	assert_string_equal(text, want);
	free(text);
	ini_release(keys, NKEYS, &c);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults_are_read_as_in_a_file),
		cmocka_unit_test(a_file_overwrites_the_previous_settings),
		cmocka_unit_test(errors_name_the_line_and_the_permitted_values),
		cmocka_unit_test(limits_of_lines_and_files_are_enforced),
		cmocka_unit_test(one_value_is_set_from_the_command_line),
		cmocka_unit_test(printed_settings_are_read_back_exactly),
		cmocka_unit_test(printing_uses_the_shortest_form_and_the_help),
	};

	return cmocka_run_group_tests(tests, make_file, remove_file);
}
