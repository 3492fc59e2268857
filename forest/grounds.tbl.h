/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * GROUND(NAME, number, word, text): what a verdict about programs that kernel events follow rests on (controlplane/search/ground.h has the
 * conditions). The number is stored, the word is that of JSON; text says what it means for the verdict.
 */
GROUND(OPEN, 0, "", "")
GROUND(STATE, 1, "state", "what its threads did there stands out")
GROUND(PROCESSOR, 2, "processor",
    "its threads wait for a processor that others have: the machine is busy, which is no place in the program")
GROUND(NONE, 3, "none", "no state of its threads stands out there, so it is no place in the program")
