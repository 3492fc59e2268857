/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * POOL(name, number, word, text): what requests wait for where an edge lies between two units: threads
 * (controlplane/search/thread_pool.h has the conditions). The number is stored, the word is that of JSON; text
 * follows "16 threads of SERVICE ...".
 */
POOL(NONE, 0, "", "")
POOL(USUAL, 1, "usual", "as expected of this load")
POOL(SATURATED, 2, "saturated", "the threads are nearly always held")
POOL(LONG, 3, "long-units", "a few long units hold the threads")
POOL(UNEXPLAINED, 4, "unexplained", "more than this load explains")
POOL(STILL, 5, "still", "at times the process stands still, although no request holds its threads")
POOL(WAITING, 6, "waiting", "most of the time their units wait for other services")
POOL(OWN, 7, "own-units", "other units of the same request hold the threads")
POOL(MOST, 8, "most", "as expected of this load, and most of what varies: more threads, or shorter units, would help")
