/* SPDX-License-Identifier: GPL-3.0-or-later */
/* KIND(name, number, largest payload in bytes, "direction: content") */
KIND(HELLO,    1,     4096, "agent to controller: the agent's name, version and oldest batch")
KIND(WELCOME,  2,     4096, "controller to agent: the last batch that it has received")
KIND(RECORDS,  3,  1048576, "agent to controller: a batch of records with a watermark")
KIND(ACK,      4,       64, "controller to agent: all batches up to this one are received")
KIND(WANT,     5,  4194304, "controller to agent: the whole desired state, with an epoch and a lease")
KIND(DONE,     6,  4194304, "agent to controller: the result of a desired state for each tracepoint")
KIND(STATUS,   7,    65536, "agent to controller: queue occupancy, losses, cost")
KIND(PROGRAMS, 8, 16777216, "agent to controller: the node's traceable programs and their tracepoints")
KIND(ASK,      9,    65536, "operator to controller: a question, JSON")
KIND(ANSWER,  10, 67108864, "controller to operator: the answer, JSON")
KIND(REFUSE,  11,     4096, "either side, last frame: why it closes the connection")
KIND(CLOCK,   12,       64, "controller to agent: its clock; back: with the agent's clock at arrival and departure")
