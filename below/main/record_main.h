/* SPDX-License-Identifier: GPL-3.0-or-later */
/* hone-below --record: its command line. */
#ifndef BELOW_MAIN_RECORD_MAIN_H
#define BELOW_MAIN_RECORD_MAIN_H

#include <signal.h>

/* argv[1] is --record. Returns the exit status: 0 done, 1 failed, 2 misused. */
int record_main(int argc, char **argv, const volatile sig_atomic_t *ended);

#endif
