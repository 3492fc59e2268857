# SPDX-License-Identifier: GPL-3.0-or-later
# jaeger FILE FIRST LAST CART_US SPREAD_US [LOCK]: requests HOME of a front that asks cart and then ads; cart takes
# CART_US and up to SPREAD_US more. LOCK: cart waits for a lock half of that time, in a span of its own.
jaeger() {
  awk -v first="$2" -v last="$3" -v cart="$4" -v spread="$5" -v lock="${6:-}" '
  function span(id, parent, name, start, took, process, tags) {
    printf "%s{\"traceID\":\"%016x\",\"spanID\":\"%s\",\"operationName\":\"%s\",\"references\":[%s],\"startTime\":%.0f,\"duration\":%d,\"processID\":\"%s\",\"tags\":[%s]}",
      (id == "a1" ? "" : ","), trace, id, name, (parent == "" ? "" : sprintf("{\"refType\":\"CHILD_OF\",\"traceID\":\"%016x\",\"spanID\":\"%s\"}", trace, parent)), start, took, process, tags
  }
  BEGIN {
    srand(7 + first)
    printf "{\"data\":["
    for (trace = first; trace <= last; trace++) {
      items = int(rand() * 100); long = cart + int(spread * items / 100); t = 1600000000000000 + trace * 1000000
      printf "%s{\"traceID\":\"%016x\",\"spans\":[", (trace == first ? "" : ","), trace
      span("a1", "", "HOME", t, 900 + long, "p1", "")
      span("a2", "a1", "get", t + 200, long, "p2", sprintf("{\"key\":\"items\",\"type\":\"int64\",\"value\":%d}", items))
      if (lock != "") span("a4", "a2", "lock", t + 210, int(long / 2), "p2", "")
      span("a3", "a1", "ads", t + 400 + long, 300 + int(rand() * 20), "p3", "")
      printf "],\"processes\":{\"p1\":{\"serviceName\":\"front\"},\"p2\":{\"serviceName\":\"cart\"},\"p3\":{\"serviceName\":\"ads\"}}}"
    }
    print "]}"
  }' >"$1"
}
