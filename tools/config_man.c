/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The keys in honed.conf(5), from the table that the parser is made of. Usage: config_man FILE: the
 * file on standard output, with what stands between the markers of each section made again.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/ini_value.h"
#include "controlplane/honed/honed_config.h"

#define BEGIN ".\\\" made by make docs, do not edit: "
#define END ".\\\" end of what make docs makes\n"

/* A sentence on each line. A line must not begin with a control character of mdoc(7). */
static void
print_sentences(const char *text)
{
	for (const char *next; *text != '\0'; text = next) {
		const char *end = strstr(text, ". ");

		next = end != NULL ? end + 2 : text + strlen(text);
		printf("%s%.*s\n", *text == '.' || *text == '\'' ? "\\&" : "",
		    (int)(end != NULL ? end + 1 - text : next - text), text);
	}
}

static void
print_section(const char *section)
{
	printf(".Bl -tag -width Ds\n");
	for (unsigned i = 0; i < config_nkeys; i++) {
		const struct ini_key *k = &config_keys[i];
		struct buf bounds = { 0 };

		if (strcmp(k->section, section) != 0)
			continue;
		printf(".It Cm %s No =%s%s\n", k->name, k->fallback[0] != '\0' ? " Ar " : "",
		    k->fallback);
		print_sentences(k->help);
		ini_value_bounds(&bounds, k);
		if (bounds.len > 0)
			printf("%s%c%.*s.\n", isdigit(bounds.data[0]) ? "From " : "",
			    toupper(bounds.data[0]), (int)bounds.len - 1,
			    (const char *)bounds.data + 1);
		buf_release(&bounds);
	}
	printf(".El\n");
}

int
main(int argc, char **argv)
{
	FILE *f = argc == 2 ? fopen(argv[1], "r") : NULL;
	char line[1024];
	int made = 0;

	if (f == NULL)
		return 1;
	while (fgets(line, sizeof line, f) != NULL) {
		made = made && strcmp(line, END) != 0;
		if (!made)
			fputs(line, stdout);
		if (strncmp(line, BEGIN, strlen(BEGIN)) == 0) {
			line[strcspn(line, "\n")] = '\0';
			print_section(line + strlen(BEGIN));
			made = 1;
		}
	}
	fclose(f);
	return made;
}
