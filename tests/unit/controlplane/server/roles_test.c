/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lists of names, with users that every machine has: root, nobody, and the group of nobody. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <grp.h>
#include <pwd.h>

#include "controlplane/server/roles.h"

enum { NOBODY = 65534, OWN = 4711 };

static char user[64], group[64];
static const struct mono NOW = { 1000000000000 };

static int
look_up(void **state)
{
	struct passwd *pw = getpwuid(NOBODY);
	struct group *gr = pw != NULL ? getgrgid(pw->pw_gid) : NULL;
	(void)state;

	if (pw == NULL || gr == NULL)
		return -1;
	snprintf(user, sizeof user, "%s", pw->pw_name);
	snprintf(group, sizeof group, "@%s", gr->gr_name);
	return 0;
}

static struct roles *
roles_of(const char *look, const char *diagnose, const char *agents)
{
	struct roles_options o = { look, diagnose, agents, OWN };
	struct roles *r;
	struct err e;

	if (roles_new(&r, &o, &e) != 0)
		fail_msg("%s", e.text);
	return r;
}

static enum role
role_of(struct roles *r, int uid)
{
	struct who w;

	roles_who(r, uid, 12, NOW, &w);
	assert_int_equal(w.uid, uid);
	assert_int_equal(w.pid, 12);
	return w.role;
}

static void
root_and_our_own_user_have_all_roles(void **state)
{
	struct roles *r = roles_of("", "", "");
	struct who w;
	(void)state;

	assert_int_equal(role_of(r, 0), ROLE_DIAGNOSE);
	assert_int_equal(role_of(r, OWN), ROLE_DIAGNOSE);
	assert_int_equal(role_of(r, NOBODY), ROLE_NONE);
	assert_false(roles_operators_open(r) || roles_agents_open(r));
	roles_who(r, 0, 1, NOW, &w);
	assert_string_equal(w.user, "root");
	assert_int_equal(roles_agent(r, &w, NOW), AGENT_ANY_NODE);
	roles_who(r, OWN, 1, NOW, &w);
	assert_string_equal(w.user, "uid 4711"); /* no user has this id here */
	assert_true(w.own);
	roles_who(r, NOBODY, 1, NOW, &w);
	assert_string_equal(w.user, user);
	assert_false(w.own);
	assert_int_equal(roles_agent(r, &w, NOW), AGENT_NO);
	roles_free(r);
}

static void
names_and_groups_give_the_role_of_their_list(void **state)
{
	char blanks[200];
	struct roles *r;
	struct who w;
	(void)state;

	r = roles_of(user, "", "");
	assert_int_equal(role_of(r, NOBODY), ROLE_LOOK);
	assert_true(roles_operators_open(r) && !roles_agents_open(r));
	roles_free(r);
	r = roles_of("", group, "");
	assert_int_equal(role_of(r, NOBODY), ROLE_DIAGNOSE);
	assert_int_equal(role_of(r, 12345), ROLE_NONE);
	assert_true(roles_operators_open(r));
	roles_free(r);
	snprintf(blanks, sizeof blanks, "  root \t %s  ", user);
	r = roles_of(blanks, blanks, group); /* the higher one of two roles */
	assert_int_equal(role_of(r, NOBODY), ROLE_DIAGNOSE);
	roles_who(r, NOBODY, 1, NOW, &w);
	assert_int_equal(roles_agent(r, &w, NOW), AGENT_THIS_HOST);
	assert_true(roles_agents_open(r));
	roles_free(r);
	/* neither the group of this user nor the name matches */
	r = roles_of("@root", "root", "root");
	assert_int_equal(role_of(r, NOBODY), ROLE_NONE);
	roles_free(r);
}

static void
unknown_names_are_an_error(void **state)
{
	static const struct {
		struct roles_options o;
		const char *words;
	} bad[] = {
		{ { "root nosuchuser1", "", "", OWN },
		    "operators.look: nosuchuser1: there is no such user" },
		{ { "", "@nosuchgroup1", "", OWN },
		    "operators.diagnose: nosuchgroup1: there is no such group" },
		{ { "", "", "@", OWN }, "agents.allow: : there is no such group" },
	};
	struct roles *r = NULL;
	struct err e;
	(void)state;

	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		assert_int_equal(roles_new(&r, &bad[i].o, &e), ERR_INPUT);
		assert_null(r);
		if (strstr(e.text, bad[i].words) == NULL)
			fail_msg("\"%s\" is not \"%s\"", e.text, bad[i].words);
	}
}

static void
a_refusal_names_the_config_key_and_who_can_change_it(void **state)
{
	struct roles *r = roles_of(user, "", "");
	struct who w;
	struct err e;
	(void)state;

	roles_who(r, NOBODY, 1, NOW, &w);
	assert_int_equal(roles_refuse(r, &w, ROLE_DIAGNOSE, "stop", &e), ERR_DENIED);
	assert_non_null(strstr(e.text, "stop: user "));
	assert_non_null(strstr(e.text, "root or uid 4711 can allow it"));
	assert_non_null(strstr(e.text, "operators.diagnose of honed.conf"));
	roles_who(r, 12345, 1, NOW, &w);
	assert_int_equal(roles_refuse(r, &w, ROLE_LOOK, NULL, &e), ERR_DENIED);
	assert_non_null(strstr(e.text, "operators.look of honed.conf"));
	assert_int_equal(roles_refuse_agent(r, &w, &e), ERR_DENIED);
	assert_non_null(strstr(e.text, "agents.allow of honed.conf"));
	roles_free(r);
}

/* More users than the cache holds, repeatedly, at later times: always the same answers. */
static void
the_cache_changes_no_answer(void **state)
{
	struct roles *r = roles_of(group, "", "");
	struct who w;
	(void)state;

	for (int64_t i = 0; i < 2000; i++) {
		int uid = i % 7 == 0 ? NOBODY : i % 5 == 0 ? 0 : 100000 + (int)(i % 150);

		roles_who(r, uid, 1, (struct mono){ NOW.ns + i * INT64_C(700000000) }, &w);
		assert_int_equal(w.role, uid == NOBODY ? ROLE_LOOK
					 : uid == 0    ? ROLE_DIAGNOSE
						       : ROLE_NONE);
	}
	roles_free(r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(root_and_our_own_user_have_all_roles),
		cmocka_unit_test(names_and_groups_give_the_role_of_their_list),
		cmocka_unit_test(unknown_names_are_an_error),
		cmocka_unit_test(a_refusal_names_the_config_key_and_who_can_change_it),
		cmocka_unit_test(the_cache_changes_no_answer),
	};

	return cmocka_run_group_tests(tests, look_up, NULL);
}
