/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a thread was doing, below its tracepoints.
 *
 *	STATE(NAME, number, word, text)		words and numbers are part of interfaces: none is changed, new ones are added
 */
STATE(RUNNING, 0, "running", "on a CPU")
STATE(READY,   1, "ready",   "ready to run, while others had the CPU")
STATE(DISK,    2, "disk",    "blocked by the disk")
STATE(NETWORK, 3, "network", "blocked by the network")
STATE(TIMER,   4, "timer",   "asleep until a timer")
STATE(LOCK,    5, "lock",    "blocked by a lock")
STATE(THREAD,  6, "thread",  "blocked until another thread woke it")
STATE(FAULT,   7, "fault",   "blocked by a page fault")
STATE(UNKNOWN, 8, "unknown", "in an unknown state")
