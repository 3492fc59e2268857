/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * TABLE(name, "columns", "what a row is"): SQL tables of the file of a space, schema 2. All
 * except the first begin with the number of their version; numbers are dense, from 0, in the
 * order in which things were learned.
 */
TABLE(version,     "id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, fingerprint INTEGER NOT NULL,"
		   " learned_ns INTEGER NOT NULL",
		   "a version of the application; learned_ns: wall clock of the last learning")
TABLE(label,       "version INTEGER NOT NULL, id INTEGER NOT NULL, text TEXT NOT NULL, kind INTEGER NOT NULL,"
		   " PRIMARY KEY (version, id)",
		   "a label; kind: of record (0 a point, 1 request_begin, 2 request_end, 3 fork, 4 unit_begin, 5 unit_end, 6 join)")
TABLE(field,       "version INTEGER NOT NULL, label INTEGER NOT NULL, number INTEGER NOT NULL, name TEXT NOT NULL,"
		   " PRIMARY KEY (version, label, number)",
		   "a field that a label's tracepoint carries")
TABLE(type,        "version INTEGER NOT NULL, id INTEGER NOT NULL, label INTEGER NOT NULL, traces INTEGER NOT NULL,"
		   " PRIMARY KEY (version, id)",
		   "a request type, and the number of whole traces learned")
TABLE(place,       "version INTEGER NOT NULL, id INTEGER NOT NULL, type INTEGER NOT NULL, unit INTEGER NOT NULL,"
		   " span INTEGER, label INTEGER NOT NULL, traces INTEGER NOT NULL, count INTEGER NOT NULL,"
		   " offset_ns REAL NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL, PRIMARY KEY (version, id)",
		   "a label in its unit and span (labels too; span NULL: directly in the unit); first, last: numbers of"
		   " traces, 0: seen only with some tracepoints enabled")
TABLE(step,        "version INTEGER NOT NULL, id INTEGER NOT NULL, from_place INTEGER NOT NULL,"
		   " to_place INTEGER NOT NULL, count INTEGER NOT NULL, mean_ns REAL NOT NULL, PRIMARY KEY (version, id)",
		   "a step from place to place")
TABLE(concurrency, "version INTEGER NOT NULL, id INTEGER NOT NULL, place INTEGER NOT NULL, unit INTEGER NOT NULL,"
		   " count INTEGER NOT NULL, PRIMARY KEY (version, id)",
		   "a place that hands work to a unit (a label), or receives its result")
TABLE(place_key,   "version INTEGER NOT NULL, id INTEGER NOT NULL, place INTEGER NOT NULL, field INTEGER NOT NULL,"
		   " type INTEGER NOT NULL, count INTEGER NOT NULL, low REAL, high REAL, texts BLOB, PRIMARY KEY (version, id)",
		   "values of a field at a place; type: 1 int, 2 unsigned, 3 real, 4 text; texts: hashes of the different ones, four"
		   " bytes each, least significant byte first")
