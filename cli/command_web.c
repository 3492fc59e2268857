/* SPDX-License-Identifier: GPL-3.0-or-later */
/* hone web: a link to the live page. */
#include "cli/call.h"
#include "cli/command.h"
#include "cli/output.h"

static void
link_print(struct pen *p, const json_t *answer)
{
	if (!is_null(answer, "socket"))
		fprintf(p->out,
		    "On the machine of the browser, and with the name of this one:\n\n"
		    "    ssh -N -L 9470:%s NAME\n\nThen open there:\n\n    ",
		    text_of(p, answer, "socket"));
	fprintf(p->out, "%s\n", text_of(p, answer, "url"));
}

static enum exit_code
run_web(struct invocation *c)
{
	return call_ask_and_print(c, json_pack("{s:s}", "ask", "web"), link_print);
}

const struct command command_web = {
	.name = "web",
	.arguments = "",
	.flags = FLAGS_ASK,
	.run = run_web,
	.help = "print a link to the live page of honed",
	.more =
	    "The link is valid once, for 60 s. The page shows and may do what the user may who asked for the link. honed listens\n"
	    "at web.listen (honed.conf) from now until the last session has ended. For a browser on another machine forward that\n"
	    "address: ssh -N -L 9470:127.0.0.1:9470 NAME",
};
