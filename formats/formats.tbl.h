/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The formats that are read; each is a file: format_NAME.c */
X(jaeger)
X(otlp_json)
X(otlp_proto)
X(zipkin)
X(xtrace)
X(nezha)
X(ctf)
