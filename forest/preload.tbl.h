/* SPDX-License-Identifier: GPL-3.0-or-later */
/* PRELOAD(name, number in the database, word in JSON, what takes the time of the edge) */
PRELOAD(NONE,       0, "",              "")
PRELOAD(MUTEX,      1, "mutex",         "waiting for a mutex")
PRELOAD(LIBRARY,    2, "library",       "loading a library")
PRELOAD(ALLOCATION, 3, "allocation",    "allocating memory repeatedly")
PRELOAD(LEAF,       4, "leaf-function", "inside a leaf function")
PRELOAD(OTHER,      5, "other",         "inside")
