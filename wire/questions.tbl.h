/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The questions that honed answers, and the commands of hone. Included by honed to dispatch, to check
 * fields and roles and to audit; by hone for its usage and completion; by tools/questions.sh, which
 * checks that docs/questions.md and hone.1 describe them. CONTRIBUTING.md says how to add one.
 *
 * QUESTION(name, role, changing, "fields")
 *	Answered by ask_NAME in controlplane/answers/. role: who may ask, LOOK or DIAGNOSE; a question of
 *	role DIAGNOSE changes something, and is audited. changing: of a question of role LOOK the field
 *	that, where it is true, makes it change something (then it needs DIAGNOSE, and is audited); else
 *	"". fields: those that it may have, beside "ask".
 * COMMAND(name)
 *	Defined as command_NAME in cli/command_*.c; in the order of hone --help.
 */
#ifndef QUESTION
#define QUESTION(name, role, changing, fields)
#endif
#ifndef COMMAND
#define COMMAND(name)
#endif

QUESTION(status,       LOOK,     "",      "costs")
QUESTION(agents,       LOOK,     "",      "")
QUESTION(tracepoints,  LOOK,     "",      "tracepoint")
QUESTION(start,        DIAGNOSE, "",      "type strategy k seed effort effect causes tail below healthy baseline")
QUESTION(stop,         DIAGNOSE, "",      "type")
QUESTION(learn,        DIAGNOSE, "",      "seconds name")
QUESTION(forest,       LOOK,     "",      "type run")
QUESTION(verdict,      LOOK,     "",      "type")
QUESTION(history,      LOOK,     "",      "type limit")
QUESTION(why,          LOOK,     "",      "trace type tracepoint")
QUESTION(diff,         LOOK,     "",      "runs")
QUESTION(space,        LOOK,     "",      "")
QUESTION(space_import, DIAGNOSE, "",      "path name")
QUESTION(space_use,    DIAGNOSE, "",      "name")
QUESTION(report,       LOOK,     "reset", "type samples reset")
QUESTION(requests,     LOOK,     "",      "trace type limit skip")
QUESTION(audit,        LOOK,     "",      "since limit")
QUESTION(capture,      DIAGNOSE, "",      "type quantile over_ms count seconds")
QUESTION(captured,     LOOK,     "",      "capture requests skip")
QUESTION(levels,       LOOK,     "set",   "service level set force")
QUESTION(check,        LOOK,     "",      "type seconds")
QUESTION(alerts,       LOOK,     "",      "")
QUESTION(alerts_accept, DIAGNOSE, "",     "type")
QUESTION(times,        LOOK,     "",      "")
QUESTION(web,          LOOK,     "",      "")

COMMAND(start)
COMMAND(stop)
COMMAND(status)
COMMAND(learn)
COMMAND(space)
COMMAND(forest)
COMMAND(why)
COMMAND(history)
COMMAND(diff)
COMMAND(audit)
COMMAND(alerts)
COMMAND(capture)
COMMAND(levels)
COMMAND(tracepoints)
COMMAND(agents)
COMMAND(analyze)
COMMAND(report)
COMMAND(export)
COMMAND(check)
COMMAND(baseline)
COMMAND(keys)
COMMAND(map)
COMMAND(kernel)
COMMAND(annotate)
COMMAND(web)

#undef QUESTION
#undef COMMAND
