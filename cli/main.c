/* SPDX-License-Identifier: GPL-3.0-or-later */
/* hone: the operator's program. */
#include <locale.h>
#include <stdio.h>

#include "cli/command_line.h"
#include "cli/pen.h"

int
main(int argc, char **argv)
{
	struct pen out, err;
	int code;

	setlocale(LC_CTYPE, "");
	pen_open(&out, stdout);
	pen_open(&err, stderr);
	code = command_run(argc, argv, &out, &err);
	pen_release(&out);
	pen_release(&err);
	if (fflush(stdout) != 0 && code == DONE) {
		perror("hone: standard output");
		code = FAILED;
	}
	return code;
}
