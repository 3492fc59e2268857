/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The common part of all services of the shop: an HTTP server that marks requests for
 * Hone, and faults that are switched at run time.
 *
 * A service fills in a struct service and calls service_main(). Each connection
 * has a thread of its own. If the caller uses Hone, the request is served in a unit
 * with the name of its route. Otherwise a request of that name begins if the route is
 * an entry; at other routes it is not traced.
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
	struct shop_text body;  /* of the request */
	struct shop_text reply; /* the handler appends to it */
};

/* A query argument, `otherwise` if it is missing (or not a number). Strings live as long as the exchange. */
const char *exchange_arg(const struct exchange *x, const char *name, const char *otherwise);
int64_t exchange_number(const struct exchange *x, const char *name, int64_t otherwise);

struct route {
	const char *method, *path;
	const char *name;                  /* of the unit, or the request type of an entry */
	int entry;                         /* 1: for requests of users */
	int (*handle)(struct exchange *x); /* returns the HTTP status */
};

/* A fault that can be switched on. on: 0 to FAULT_MAX, 0 is off; some faults have degrees. changed()
 * is called after a change, and may be NULL. */
enum { FAULT_MAX = 32 };

struct fault {
	const char *name;
	void (*changed)(int on);
	atomic_int on;
};

struct flag {
	const char *name; /* without the dashes */
	const char *
	    *value; /* set to the argument; its former value is the default, NULL: required */
	const char *help;
};

struct service {
	const char *name;
	const char *what;           /* for --help, one line */
	const struct route *routes; /* these arrays end with an entry of all zeroes */
	struct fault *faults;
	const struct flag *flags; /* besides --port, --ready and --seed */
	int (*start)(void);       /* after the flags were read. 0; -1: failed, with a message */
};

/*
 * Serves until SIGTERM or SIGINT. --port 0 takes a free port; when the service
 * is ready, it writes its port to the file given by --ready. Every service
 * answers GET /health with its name, and POST /fault?name=X&on=N. Returns the
 * exit status.
 */
int service_main(int argc, char **argv, const struct service *s);

/* The number given by --seed, 1 by default. */
uint64_t service_seed(void);

/* Uniform in [0, 1), from a generator of the thread, seeded by --seed. */
double service_random(void);
void service_pause(double ms);

#endif
