/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A USDT probe as <sys/sdt.h> of SystemTap leaves it in a program, which Debian has in a package of its own. */
#ifndef TESTS_USDT_NOTE_H
#define TESTS_USDT_NOTE_H

/* A nop, and a note that it is the probe provider:name, with a 64-bit argument. */
#define USDT_PROBE(provider, name, value) USDT_PROBE_AT("", provider, name, value)

/* The same. `label` ("place:") names the nop, for a program that looks whether a probe is in it: only in a function of which there is one copy. */
#define USDT_PROBE_AT(label, provider, name, value)                           \
	__asm__ volatile(label "990: nop\n"                                   \
			       ".pushsection .note.stapsdt, \"\", \"note\"\n" \
			       ".balign 4\n"                                  \
			       ".4byte 992f - 991f, 994f - 993f, 3\n"         \
			       "991: .asciz \"stapsdt\"\n"                    \
			       "992: .balign 4\n"                             \
			       "993: .8byte 990b, 0, 0\n"                     \
			       ".asciz \"" provider "\"\n"                    \
			       ".asciz \"" name "\"\n"                        \
			       ".asciz \"8@%%rax\"\n"                         \
			       "994: .balign 4\n"                             \
			       ".popsection\n"                                \
			 :                                                    \
			 : "a"((long)(value)))

#endif
