/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The faults that are on: one byte each, in a file that all programs of a site map. */
#ifndef NEWS_SWITCHES_H
#define NEWS_SWITCHES_H

#ifdef __cplusplus
extern "C" {
#endif

#define FAULT(name, what) SWITCH_##name,
enum news_switch {
#include "faults.tbl.h"
	SWITCHES
};
#undef FAULT

/* Maps DIR/switches, which is created if it is missing. 0; -1: failed, with a message on stderr. */
int switches_open(const char *dir);

/* The degree of a fault: 0 is off, 1 on, more is worse. One load. */
int switch_degree(enum news_switch s);

/* 0; -1: there is no fault of that name. */
int switch_set(const char *name, int degree);

#ifdef __cplusplus
}
#endif
#endif
