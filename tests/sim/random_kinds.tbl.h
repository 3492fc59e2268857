/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * KIND(name, goal, target, compared, what): kinds of random applications, made by make_NAME(). goal: the share of applications whose first
 * verdict should be right; of healthy ones, that should end without a verdict. target: the share with which `random` fails if it
 * is missed, below what was measured with other seeds than those of the tests; 0: none yet, the figure is only printed. compared: the
 * target of diagnoses that are compared with a baseline (--baseline).
 */
KIND(tree, 0.99, 0.99, 0.99, "a tree of units, all causes, difficulties and troubles of random.h")
KIND(loop_own, 0.98, 0.8, 0.85,
    "an event loop shared by request types; sometimes my own unit works longer")
KIND(loop_other, 0.98, 0, 0.85,
    "an event loop shared by request types; a unit of another type works long, and mine wait")
KIND(stall, 0.98, 0, 0.75, "a process stands still for 30 ms or so, at random")
KIND(retry, 0.98, 0.9, 0.9,
    "2 to 8 % of the requests retry, with a back-off before each attempt")
KIND(retry_call, 0.98, 0.85, 0.85, "the same, and each attempt calls another unit")
KIND(cond_loop, 0.98, 0.9, 0.9, "a loop that 5 to 20 % of the requests take")
KIND(few_paths, 0.98, 0.75, 0.8,
    "900 tracepoints on four paths, 18 to 50 requests/s, a throttle in front of the work")
KIND(shard, 0.95, 0.6, 0.65, "a fan-out to shards, one of which is slow for 1 % of the keys")
KIND(cache, 0.98, 0.95, 0.9, "a cache that misses for 5 to 40 % of the requests")
KIND(tail, 0.95, 0, 0.5, "1 % of the requests take 10 to 40 times as long at one place")
KIND(saturated, 0.98, 0, 0.9, "a pool of threads near saturation: requests wait for a thread")
KIND(other_pool, 0.98, 0, 0.7,
    "units of another type sometimes hold the threads of a pool for long")
KIND(healthy_queue, 0.99, 0, 0.97, "nothing planted: pools with a load of 20 to 80 %")
KIND(healthy_loop, 0.99, 0, 0.97, "nothing planted: event loops with a load of 20 to 70 %")
KIND(healthy_fanout, 0.99, 0, 0.97, "nothing planted: a fan-out to 3 or 4 shards")
KIND(healthy_paths, 0.99, 0, 0.97,
    "nothing planted: many conditional loops, branches and caches that miss")
