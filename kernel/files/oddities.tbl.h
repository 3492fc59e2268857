/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What is wrong in recordings of the kernel.
 *
 *	ODDITY(NAME, word, text)	words are part of interfaces: none is changed, new ones are added
 */
ODDITY(MALFORMED, "malformed", "lines or records that cannot be read")
ODDITY(TRUNCATED, "truncated", "recordings that end in the middle")
ODDITY(
    CLOCK, "clock", "times that go back: of CTF the rest of its recording is left out")
ODDITY(LOST, "lost", "places where the tracer lost events")
ODDITY(NO_END, "no_end", "interrupts whose end is missing")
ODDITY(NO_BEGIN, "no_begin", "interrupts whose begin is missing")
ODDITY(SWITCH, "switch", "switches away from another thread than the one that the CPU ran")
ODDITY(REUSED, "reused", "new threads with the number of a thread whose end is missing")
ODDITY(NO_PROCESS, "no_process", "threads of which nothing says the process")
ODDITY(NO_CLOCK, "no_clock", "events of a stream without a clock")
ODDITY(FIELDS, "fields", "events that lack a field, or have a value out of range")
ODDITY(BOUND, "bound", "texts, connections or threads over the memory bound")
ODDITY(BASE,        "base",         "recordings whose times have no common base with those of the other hosts")
