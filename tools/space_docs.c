/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What docs/space.md says of the file's tables, as the code has it. Usage: space_docs
 * FILE: the file, with what stands between its two markers made anew, on standard output.
 */
#include <stdio.h>
#include <string.h>

#include "searchspace/space_file.h"

#define BEGIN "<!-- made by make docs; do not edit -->\n"
#define END "<!-- end of what make docs makes -->\n"

static const struct {
	const char *name, *columns, *what;
} tables[] = {
#define TABLE(name, columns, what) { #name, columns, what },
#include "searchspace/space_tables.tbl.h"
#undef TABLE
};

static void
print_tables(void)
{
	printf("Schema %d.\n\n| Table | A row is | Columns |\n|---|---|---|\n", SPACE_SCHEMA);
	for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++)
		printf("| `%s` | %s | %s |\n", tables[i].name, tables[i].what, tables[i].columns);
}

int
main(int argc, char **argv)
{
	FILE *f = argc == 2 ? fopen(argv[1], "r") : NULL;
	bool inside = false, seen = false;
	char line[4096];

	if (f == NULL) {
		fprintf(stderr, "usage: space_docs FILE\n");
		return 2;
	}
	while (fgets(line, sizeof line, f) != NULL) {
		if (strcmp(line, END) == 0)
			inside = false;
		if (!inside)
			fputs(line, stdout);
		if (strcmp(line, BEGIN) != 0)
			continue;
		inside = seen = true;
		print_tables();
	}
	fclose(f);
	if (!seen || inside)
		fprintf(stderr, "space_docs: %s: its markers are not there\n", argv[1]);
	return seen && !inside ? 0 : 1;
}
