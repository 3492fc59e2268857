/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What of kernel events is in no request, or is not certain, for documents and people. The members of struct requests_counts.
 *
 *	REQUEST_COUNT(member, text)	members are words of documents: none is changed, new ones are added
 */
REQUEST_COUNT(lossy,
    "requests that may lack a part, or have one of another request: counted, but no evidence")
REQUEST_COUNT(
    incomplete, "requests with a call to a recorded program that nothing shows to have begun")
REQUEST_COUNT(no_response, "requests without a response in the recording")
REQUEST_COUNT(given_up, "requests given up, because too many were open")
REQUEST_COUNT(unattributed, "messages, or works of a worker, that may belong to several requests")
REQUEST_COUNT(ambiguous,
    "messages of which it is not certain to which request of their connection they belong")
REQUEST_COUNT(unsolicited, "responses whose request is not in the recording")
REQUEST_COUNT(outside, "messages of peers that are no gateway")
REQUEST_COUNT(background, "messages, or works, of threads that work for no request")
REQUEST_COUNT(losses, "places where events were lost")
REQUEST_COUNT(back_in_time, "events that are earlier than the one before: taken as of that time")
REQUEST_COUNT(reused, "connections and thread numbers that another process used again")
REQUEST_COUNT(evicted, "threads, processes and connections forgotten, because there were too many")
REQUEST_COUNT(not_counted, "chosen events outside of requests, or of a name that came too late")
REQUEST_COUNT(malformed, "kernel events that cannot be used")
