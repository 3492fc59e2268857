/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What every service of the shop has in common: an HTTP server whose threads
 * know which request they serve, and faults that are switched at run time.
 *
 * A service fills in a struct service and calls service_main(). Each connection
 * has a thread of its own. A request whose caller is under Hone is served in a
 * unit named as its route; any other begins a new request of that name at an
 * entry route, and goes untraced elsewhere.
 */
#ifndef SHOP_SERVICE_H
#define SHOP_SERVICE_H

#include <stdatomic.h>
#include <stdint.h>
#include "text.h"

struct MHD_Connection;

/* One HTTP request being answered. */
struct exchange {
	struct MHD_Connection *connection;
	struct text body;  /* what came */
	struct text reply; /* what goes; the handler adds to it */
};

/* Query arguments; `otherwise` when there is none. Strings live as long as the exchange. */
const char *exchange_arg(const struct exchange *x, const char *name, const char *otherwise);
int64_t exchange_number(const struct exchange *x, const char *name, int64_t otherwise);

struct route {
	const char *method, *path;
	const char *name;                  /* the unit's, or the request type's at an entry */
	int entry;                         /* 1: requests of users come in here */
	int (*handle)(struct exchange *x); /* returns the HTTP status */
};

/* Something that can go wrong when it is told to: 0 is off, else how, where it has degrees.
 * `changed` may be NULL. */
enum { FAULT_MAX = 32 };

struct fault {
	const char *name;
	void (*changed)(int on);
	atomic_int on;
};

struct flag {
	const char *name; /* without the dashes */
	const char *
	    *value; /* what was given, or the default that is in there; NULL there: required */
	const char *help;
};

struct service {
	const char *name;
	const char *what;           /* for --help, one line */
	const struct route *routes; /* ended by all zeroes, as the others */
	struct fault *faults;
	const struct flag *flags; /* besides --port, --ready and --seed */
	int (*start)(void);       /* after the flags were read; 0, or -1 having said why */
};

/*
 * Serves until SIGTERM or SIGINT. --port 0 takes a free one; when the service
 * answers, its port is written to the file given by --ready. Every service
 * answers GET /health with its name, and POST /fault?name=X&on=N. Returns the
 * exit status.
 */
int service_main(int argc, char **argv, const struct service *s);

/* The number given by --seed, 1 by default. */
uint64_t service_seed(void);

/* Uniform in [0, 1), from a generator of the thread's own that began at the seed. */
double service_random(void);
void service_pause(double ms);

#endif
