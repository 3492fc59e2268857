/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Whether the response times of a request type have left the range that they have while the type is healthy, at a like rate of
 * requests. Pure.
 *
 * A window is a minute of requests, as the logarithms of nine quantiles of their response times, of five quantiles of their excesses
 * (window_times.h), their mean and their rate. Requests of one window depend on each other (queues, bursts), so a test of one window
 * against another finds a difference each few minutes. The limit comes from the healthy windows themselves instead: what each of these
 * values exceeds in 1 % of them, or in fewer where many are watched. Load makes requests slower without any fault, so a window is compared with the healthy windows whose
 * rate is nearest, each moved to this window's rate along the line that fits them best, and with none while hardly any had so high a
 * rate.
 *
 * A mix of requests that drifts is load that the rate does not show: windows in succession stray together, and leave a limit that holds for
 * single ones for minutes at a time. A fault is a step, a drift is slow: so what a value was above its mean in the healthy ones of the
 * RANGE_RECENT windows before, by the clock, is expected of this one, too, as far as it was so among the healthy windows; and the limit is as
 * much further from what is usual as the mean of RANGE_RUN windows in succession strays further than that of independent ones (the
 * variance of the mean of a stationary series: Brockwell and Davis, Time Series: Theory and Methods, 1991, section 7.1).
 */
#ifndef CONTROLPLANE_ALERTS_HEALTHY_RANGE_H
#define CONTROLPLANE_ALERTS_HEALTHY_RANGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/err.h"
#include "controlplane/alerts/window_times.h"

enum {
	RANGE_QUANTILES = 9, /* of response times */
	RANGE_EXCESSES = 5,  /* quantiles of excesses */
	RANGE_VALUES = RANGE_QUANTILES + RANGE_EXCESSES,
	RANGE_WINDOWS_MAX = 4320, /* healthy windows that are kept: three days of minutes */
	RANGE_WINDOWS_MIN = 60,   /* the least that windows_min below may be */
	/* So many of the healthy windows have a higher rate, or it is unknown: 30, but a twelfth of them where they are few. */
	RANGE_ABOVE_MIN = 30,
	RANGE_ABOVE_PART = 12,
	/* like windows with more, and with less, where there are so many; else a twelfth of all */
	RANGE_HALF_MIN = 60,
	RANGE_REQUESTS_MIN = 100, /* a window with fewer is not judged */
	/* Windows that show a drift; after how many windows one is among the healthy ones, and how many make an alert (alert_state.h). */
	RANGE_RECENT = 20,
	RANGE_RECENT_AFTER = 6,
	RANGE_RUN = 4,
};
extern const double
    range_quantiles[RANGE_VALUES]; /* 0..1: ascending, of response times, then of excesses */

struct latency_window {
	struct wall begin;
	uint64_t requests; /* whose times are in it: sampled and complete */
	double per_second; /* requests of the type, sampled or not: an estimate */
	double mean_ns;
	double log_ns[RANGE_VALUES]; /* natural logarithms of the quantiles; 0 for less than 1 ns */
};

struct healthy_range {                  /* all zeroes is empty; 144 bytes a window */
	struct latency_window *windows; /* a ring: the oldest gives its place to a new one */
	uint32_t n, cap, next;
};

enum range_answer {
	RANGE_FEW_REQUESTS, /* fewer than RANGE_REQUESTS_MIN */
	RANGE_LEARNING,     /* fewer healthy windows than windows_min */
	RANGE_RATE_UNKNOWN, /* too few healthy windows have so high a rate */
	RANGE_INSIDE,
	RANGE_OUTSIDE, /* a value is over its limit */
	RANGE_ANSWERS
};
const char *range_answer_word(enum range_answer a); /* "few-requests", "learning", ...; "?" */

struct range_judgement {
	enum range_answer answer;
	uint32_t like; /* healthy windows that it was compared with */
	uint32_t over; /* OUTSIDE: bit i: value i is over its limit */
	/* INSIDE and OUTSIDE: of the value that is furthest above its limit, relative to it */
	bool of_excess; /* a quantile of excesses; else of response times */
	/* usual: the median, with what the windows before let expect of this one; never above the limit */
	double quantile, now_ns, usual_ns, limit_ns;
	double usual_mean_ns; /* median of the means of the windows with a like rate */
	/* The part of the mean response time of this window that the usual mean does not explain; negative: it is faster. How much of it
	 * there is at most, since healthy windows differ too: by the mean that a tenth of them are below. */
	double cost_share, cost_share_most;
};

/* *w from the times of a window, which are sorted, and their rate. O(n log n). ERR_MEMORY. */
int latency_window_make(struct latency_window *w, struct window_times *times, double per_second,
    struct wall begin, struct err *e);

/*
 * The part of the healthy windows over the limit of one value, where so many profiles are judged at once and all of them together are to
 * have as few false alarms as one: 0.01 / profiles^(1/3). An alert needs four windows of five over the same limit; were windows independent,
 * false alarms would grow as the fourth power of this part. In the simulation they grow nearly as its third (docs/alerts.md).
 */
double range_over_part(uint32_t profiles);

struct range_rules {
	/* How many healthy windows are to be learned first; load follows the day, so it should be a day's. */
	uint32_t windows_min;
	double over_part;  /* what part of the like windows is over the limit of a value */
	int64_t window_ns; /* how long a window lasts; > 0 */
};

/*
 * O(n log n) of the healthy windows on average: sorts them by rate, then selects twice for each value among the like ones, a sixth of them, which
 * is O(n^2) at worst (select_rank()). 0.5 ms with 4,320 windows. Takes 48 bytes a window meanwhile. ERR_MEMORY.
 */
int healthy_range_judge(const struct healthy_range *h, const struct range_rules *rules,
    const struct latency_window *w, struct range_judgement *ret, struct err *e);
/* Adds a window that was healthy. O(1), amortised. ERR_MEMORY: it is not added. */
int healthy_range_add(struct healthy_range *h, const struct latency_window *w, struct err *e);
void healthy_range_release(struct healthy_range *h); /* empties it */

#endif
