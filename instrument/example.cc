// SPDX-License-Identifier: MIT
// hone-example-cc: libhone from C++. A request or unit begins with an object and ends with its scope, also if an
// exception leaves it.
#include <cstdio>
#include <string>
#include <thread>

#include "instrument/hone.h"

class Request {
public:
	explicit Request(const char *type) { hone_request_begin(type, nullptr); }
	~Request() { hone_request_end(status); }
	Request(const Request &) = delete;
	Request &operator=(const Request &) = delete;
	int status = 500;
};

class Unit {
public:
	Unit(const hone_carrier &from, const char *name) { hone_unit_begin(&from, name); }
	~Unit() { hone_unit_end(); }
	Unit(const Unit &) = delete;
	Unit &operator=(const Unit &) = delete;
};

int
main()
{
	Request request("GET_WORD");
	std::string word;
	std::uint64_t trace_id = 0;
	hone_carrier carrier;
	char header[HONE_TRACEPARENT_SIZE];

	hone_fork("word", &carrier);
	std::thread worker([&] {
		Unit unit(carrier, "word");
		trace_id = hone_trace_id();
		word = "hello";
	});
	worker.join();
	hone_join(&carrier, "word");
	if (trace_id != hone_trace_id() || hone_traceparent(&carrier, header) != sizeof(header) - 1)
		return 1;
	request.status = 200;
	std::printf("%s\ntraceparent: %s\n", word.c_str(), header);
	return 0;
}
