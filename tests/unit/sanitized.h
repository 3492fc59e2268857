/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Whether this build checks itself with the address or the thread sanitizer, which makes it slow: a test that repeats
 * one thing at each of many moments takes every SANITIZED_STRIDE-th of them there, and all of them otherwise.
 */
#ifndef TESTS_UNIT_SANITIZED_H
#define TESTS_UNIT_SANITIZED_H

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#define SANITIZED_STRIDE 5
#else
#define SANITIZED 0
#define SANITIZED_STRIDE 1
#endif

#endif
