/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Kinds of kernel events.
 *
 *	EVENT(NAME, number, word, text)		numbers and words are part of interfaces: none is changed, new ones are added
 */
EVENT(SWITCH,      0,  "switch",      "a CPU changes from a thread to another one")
EVENT(WAKING,      1,  "waking",      "a thread, or an interrupt, wakes a thread")
EVENT(FORK,        2,  "fork",        "a thread makes another thread or process")
EVENT(EXIT,        3,  "exit",        "a thread ends")
EVENT(NAME,        4,  "name",        "a thread has this name, and is of this process")
EVENT(CONTEXT_IN,  5,  "context_in",  "a CPU begins an interrupt")
EVENT(CONTEXT_OUT, 6,  "context_out", "a CPU ends an interrupt")
EVENT(SYSCALL_IN,  7,  "syscall_in",  "a thread begins a system call")
EVENT(SYSCALL_OUT, 8,  "syscall_out", "a thread ends a system call")
EVENT(SEND,        9,  "send",        "a thread sends on a TCP connection")
EVENT(RECEIVE,     10, "receive",     "a thread has received from a TCP connection")
EVENT(PACKET_OUT,  11, "packet_out",  "a packet leaves")
EVENT(PACKET_IN,   12, "packet_in",   "a packet has arrived")
EVENT(BLOCK_DONE,  13, "block_done",  "storage has answered")
EVENT(COUNTED,     14, "counted",     "an event that the user chose to have counted")
EVENT(STACK,       15, "stack",       "where in the code a thread is")
EVENT(LOST,        16, "lost",        "events are lost")
EVENT(UNIT,        17, "unit",        "a thread is seen to work for another unit of a request, or for none")
