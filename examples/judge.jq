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
#	gone		true: the problem has ended before it can be examined: only an answer that says so is right
#	names		what the JSON of the verdicts or the reason should contain (a regular expression), beside the place: counted, not required
#	below		what the first verdict should say below its tracepoints: `state`, `function` (of the first place, or its caller), and
#			`holder` (a function of the first holder, optional): counted, not required
#	only		the degree, if all requests have this type (see demo.sh)
#
# Output: outcome, of the places alone ("right", "wrong", "unsure", "not found"); check ("right", or what is not, the key
# included); named (true, false or null); of the first verdict: service, either, both (whether the service, one end, both
# ends are right), key (whether it is right), below (null, or whether state, function and holder are right; null: none is expected).

# A verdict without a place (a spread, a type) has no edge: $name is null.
def at($labels; $name): any($labels[]; . as $l | $l == $name or ($l | endswith("/*")) and ($name // "" | startswith($l[:-1])));
def keys_of($c): if $c.key == null then [] elif ($c.key | type) == "array" then $c.key else [$c.key] end;
def key_right($c; $v): keys_of($c) as $keys | ($v.key.name // $v.few.has.key // "") as $name |
  ($keys | length) == 0 or any($keys[]; . as $k | $name == $k or ($name | startswith($k + " of ")));
def place_why_not($c; $v):
  if at($c.from; $v.edge.from) | not then "the edge begins at \($v.edge.from), not at \($c.from | join(" or "))"
  elif at($c.to; $v.edge.to) | not then "the edge ends at \($v.edge.to), not at \($c.to | join(" or "))"
  else null end;
def why_not($c; $v): place_why_not($c; $v) //
  if key_right($c; $v) then null else "the key is \($v.key.name // $v.few.has.key // "none"), not \(keys_of($c) | join(" or "))" end;

def function: split(";")[0] | split("() at ")[0];
def below_right($want; $below): {
  state: ($below.top == $want.state),
  function: ([$below.places[0]? | (.place, .caller) | values | function] | index($want.function) != null),
  holder: (if $want.holder then [$below.holders[0]?.place | values | function] == [$want.holder] else null end)
};

. as $run | $run.verdict as $first | ($run.state == "found") as $found | ($want.plant == []) as $healthy |
($want.causes // [$want | select(.from)]) as $causes |
(if $want.causes then $run.verdicts else [$first | values] end) as $verdicts |
[$causes[] as $c | select(any($verdicts[]; place_why_not($c; .) == null) | not) | $c] as $missed |
(if $want.names then $want.names as $n | [$run.verdicts // [] | .[] | del(.edge, .group)] + [$run.reason] | tostring | test($n)
 else null end) as $named |
(if $healthy then if $found then "wrong" elif $run.state == "nothing stands out" then "right" elif $first then "unsure" else "right" end
 elif $want.gone and $named then "right"
 elif $found and $missed == [] and ($want.gone | not) then "right"
 elif $found then "wrong" elif $first then "unsure" else "not found" end) as $outcome |
{
  outcome: $outcome, named: $named,
  check: (
    if $outcome == "right" and ($healthy or $want.gone) then "right"
    elif $outcome == "right" then ([$causes[] as $c | select(any($verdicts[]; why_not($c; .) == null) | not) | $c][0] as $c |
      if $c then first($verdicts[] | select(place_why_not($c; .) == null) | why_not($c; .)) else "right" end)
    elif $outcome == "not found" then "no verdict: \($run.reason // $run.state)"
    elif $healthy then "\($run.state) \($first.edge.from) -> \($first.edge.to), but nothing was planted"
    elif $outcome == "unsure" then "unsure: " + (why_not($causes[0]; $first) // "but the place is right")
    elif $want.gone then "found, but the problem has ended, and the answer does not say so"
    elif $want.causes then "of \($causes | length) causes, \($missed | length) not named: " + ([$missed[].from[0]] | join(", "))
    else place_why_not($causes[0]; $first) end),
  service: ($first != null and any($causes[]; .service as $s | [$first.edge.from, $first.edge.to] | any(strings | startswith($s + "/")))),
  either: ($first != null and any($causes[]; at(.from; $first.edge.from) or at(.to; $first.edge.to))),
  both: ($first != null and any($causes[]; at(.from; $first.edge.from) and at(.to; $first.edge.to))),
  key: ($first != null and any($causes[]; key_right(.; $first))),
  below: (if $want.below then below_right($want.below; $first.below) else null end)
}
