/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The faults of the news site: FAULT(name, what happens). README.md explains them; faults.json has the answers. */
FAULT(lock, "the compaction of news-kv holds its lock for 40 ms each second")
FAULT(ads, "one answer in four of news-ads takes 30 ms longer")
FAULT(hog, "one ranking in four of news-find computes for 8 ms")
FAULT(cache, "the cache of news-desk lacks three articles in ten, which take 18 ms to decode")
FAULT(retry, "news-kv refuses 5 % of its reads; news-desk tries again after a pause")
FAULT(shard, "shard 2 takes 60 ms for 1 % of the words")
FAULT(loop, "PUBLISH reads its schema from a file for 15 ms on the event loop of news-gate")
FAULT(stop, "news-desk as a whole is stopped for 30 ms at random times")
