# SPDX-License-Identifier: GPL-3.0-or-later
# The judgement of a diagnosis. Input: a run of `hone forest --json`; $want: an entry of an application's faults.json:
#
#	type		the request type that is diagnosed
#	service, from, to, key		the place: service; labels at which the edge may begin and end ("SERVICE/*": any of it);
#			keys that may explain it (one or several), null: none is expected
#	causes		several places with these fields instead: all must be named
#	plant		the faults that are switched on, default: that of the entry's name; none: the application is healthy
#	learned		true: they are on while the space is learned
#	begins_s, ends_s	when they are switched on and off, in seconds after `hone start`; default: before it, and at the end
#	gone		true: the problem has ended before it can be examined; "found" is right only if the answer says so
#	names		what the JSON of the verdicts or the reason should contain (a regular expression), beside the place: counted, not required
#	only		the degree, if all requests have this type (see demo.sh)
#
# Output: outcome ("right", "wrong", "unsure", "not found"), check ("right", or why not), named (true, false or null), and
# of the first verdict: service, either, both (whether the service, one end, both ends are right), key (whether it is right).

def at($labels; $name): any($labels[]; . as $l | $l == $name or ($l | endswith("/*")) and ($name | startswith($l[:-1])));
def keys_of($c): if $c.key == null then [] elif ($c.key | type) == "array" then $c.key else [$c.key] end;
def key_right($c; $v): keys_of($c) as $keys | ($v.key.name // "") as $name |
  ($keys | length) == 0 or any($keys[]; . as $k | $name == $k or ($name | startswith($k + " of ")));
def why_not($c; $v):
  if at($c.from; $v.edge.from) | not then "the edge begins at \($v.edge.from), not at \($c.from | join(" or "))"
  elif at($c.to; $v.edge.to) | not then "the edge ends at \($v.edge.to), not at \($c.to | join(" or "))"
  elif key_right($c; $v) | not then "the key is \($v.key.name // "none"), not \(keys_of($c) | join(" or "))"
  else null end;

. as $run | $run.verdict as $first | ($run.verdicts // [$first | values]) as $verdicts |
($want.causes // [$want | select(.from)]) as $causes | ($want.plant == []) as $healthy |
[$causes[] as $c | select(any($verdicts[]; why_not($c; .) == null) | not) | $c] as $missed |
($want.names | if . == null then null else . as $n | [$verdicts[] | del(.edge, .group)] + [$run.reason, $run.state] | tostring | test($n) end) as $named |
(if $run.state != "found" then
   if $healthy then "right"
   elif $first != null then "unsure: " + (why_not($causes[0]; $first) // "but the place is right")
   else "no verdict: \($run.reason // $run.state)" end
 elif $healthy then "found \($first.edge.from) -> \($first.edge.to), but nothing was planted"
 elif $want.gone and ($named | not) then "found, but the problem has ended, and the answer does not say so"
 elif $missed == [] then "right"
 elif $want.causes then "of \($causes | length) causes, \($missed | length) not named: " + ([$missed[].from[0]] | join(", "))
 else why_not($causes[0]; $first) end) as $check |
{
  check: $check, named: $named,
  outcome: (if $healthy and $first != null and $run.state != "found" then "unsure"
    elif $want.gone and $run.state == "not found" then (if $named then "right" else "not found" end)
    elif $check == "right" then "right"
    elif $run.state == "found" then "wrong"
    elif $first != null then "unsure"
    else "not found" end),
  service: (if $first == null then false else any($causes[]; .service as $s | [$first.edge.from, $first.edge.to] | any(startswith($s + "/"))) end),
  either: (if $first == null then false else any($causes[]; at(.from; $first.edge.from) or at(.to; $first.edge.to)) end),
  both: (if $first == null then false else any($causes[]; at(.from; $first.edge.from) and at(.to; $first.edge.to)) end),
  key: (if $first == null then false else any($causes[]; key_right(.; $first)) end)
}
