/* SPDX-License-Identifier: GPL-3.0-or-later */
/* LOGLEVEL(name, number, word): the severity of a tracepoint, the most severe first; numbers of LTTng-UST, which are those of syslog up to
 * INFO. LOGLEVEL_ALIAS(name, word): what people write for it, too. */
#ifdef LOGLEVEL
LOGLEVEL(EMERG,          0, "emerg")
LOGLEVEL(ALERT,          1, "alert")
LOGLEVEL(CRIT,           2, "crit")
LOGLEVEL(ERR,            3, "err")
LOGLEVEL(WARNING,        4, "warning")
LOGLEVEL(NOTICE,         5, "notice")
LOGLEVEL(INFO,           6, "info")
LOGLEVEL(DEBUG_SYSTEM,   7, "debug-system")
LOGLEVEL(DEBUG_PROGRAM,  8, "debug-program")
LOGLEVEL(DEBUG_PROCESS,  9, "debug-process")
LOGLEVEL(DEBUG_MODULE,  10, "debug-module")
LOGLEVEL(DEBUG_UNIT,    11, "debug-unit")
LOGLEVEL(DEBUG_FUNCTION,12, "debug-function")
LOGLEVEL(DEBUG_LINE,    13, "debug-line")
LOGLEVEL(DEBUG,         14, "debug")
#endif
#ifdef LOGLEVEL_ALIAS
LOGLEVEL_ALIAS(ERR,     "error")
LOGLEVEL_ALIAS(WARNING, "warn")
LOGLEVEL_ALIAS(INFO,    "log")
LOGLEVEL_ALIAS(DEBUG,   "all")
#endif
