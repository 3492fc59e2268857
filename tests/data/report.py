#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes report.json, a document as docs/report.md says, of requests that are drawn here; run by hand:
   python3 tests/data/report.py >tests/data/report.json"""
import hashlib
import json
import math
import random

ROUNDS = 200
draw = random.Random(7)


def short(x):
    return None if x is None else float('%.5g' % x)


def mean(v):
    return sum(v) / len(v)


def cov(a, b):
    ma, mb = mean(a), mean(b)
    return sum((x - ma) * (y - mb) for x, y in zip(a, b)) / (len(a) - 1)


def quantile(v, q):
    v = sorted(v)
    at = q * (len(v) - 1)
    low = int(at)
    return v[low] + (v[min(low + 1, len(v) - 1)] - v[low]) * (at - low)


def cv_of(v):
    return math.sqrt(cov(v, v)) / mean(v)


def interval(n, of):
    made = sorted(of([draw.randrange(n) for _ in range(n)]) for _ in range(ROUNDS))
    return short(quantile(made, .025)), short(quantile(made, .975))


def ranks(v):
    order = sorted(range(len(v)), key=lambda i: v[i])
    r = [0.0] * len(v)
    at = 0
    while at < len(v):
        end = at
        while end < len(v) and v[order[end]] == v[order[at]]:
            end += 1
        for i in order[at:end]:
            r[i] = (at + end - 1) / 2
        at = end
    return r


def pearson(a, b):
    d = math.sqrt(cov(a, a) * cov(b, b))
    return cov(a, b) / d if d > 0 else 0.0


def between(keys, x):
    m, total, part = mean(x), sum((v - mean(x)) ** 2 for v in x), 0
    for k in set(keys):
        mine = [v for v, at in zip(x, keys) if at == k]
        part += len(mine) * (mean(mine) - m) ** 2
    return part / total


def trace_id():
    return '%032x' % draw.getrandbits(128)


def measures(t):
    return {'cv': short(cv_of(t)), 'p50_ms': short(quantile(t, .5)), 'p95_ms': short(quantile(t, .95)),
            'p99_ms': short(quantile(t, .99))}


def what_if(edge, xs, ts):
    def then(pick):
        middle = quantile([xs[edge][i] for i in pick], .5)
        return [ts[i] - xs[edge][i] + middle for i in pick]
    everyone = range(len(ts))
    r = {'edge': edge, 'now': measures(ts), 'then': measures(then(everyone))}
    for name, of in (('cv', cv_of), ('p50', lambda t: quantile(t, .5)), ('p95', lambda t: quantile(t, .95)),
                     ('p99', lambda t: quantile(t, .99))):
        unit = '' if name == 'cv' else '_ms'
        r['then'][name + '_low' + unit], r['then'][name + '_high' + unit] = \
            interval(len(ts), lambda pick: of(then(pick)))
    return r


def tail_of(xs, ts):
    order = sorted(range(len(ts)), key=lambda i: ts[i])
    n = len(ts)
    slow, usual = order[-max(5, n // 100):], order[int(n * .4):int(n * .6)]

    def of(x, a, b):
        apart = mean([ts[i] for i in a]) - mean([ts[i] for i in b])
        return (mean([x[i] for i in a]) - mean([x[i] for i in b])) / apart
    edges = []
    for x in xs:
        low, high = interval(1000, lambda pick: of(x, [slow[i % len(slow)] for i in pick[:len(slow)]],
                                                   [usual[i % len(usual)] for i in pick[:len(usual)]]))
        edges.append({'slow_ms': short(mean([x[i] for i in slow])), 'usual_ms': short(mean([x[i] for i in usual])),
                      'excess_share': short(of(x, slow, usual)), 'low': low, 'high': high})
    return {'part': short(len(slow) / n), 'slow_ms': short(mean([ts[i] for i in slow])),
            'usual_ms': short(mean([ts[i] for i in usual])), 'slow': len(slow), 'usual': len(usual)}, edges


def group(count, n, problem, tokens, model, keys=(), loops=(), keep=120, slow_ms=0):
    """tokens: (label, depth, owner label or None); model: draws {edge: ms}, keys; loops: (first, last)"""
    labels = [t[0] for t in tokens]
    rows = [model() for _ in range(n)]
    nedges = len(tokens) - 1 + len(loops)
    xs = [[r[0][i] for r in rows] for i in range(nedges)]
    ts = [sum(r[0]) for r in rows]
    vt = cov(ts, ts)
    edges = []
    tail, tails = tail_of(xs, ts) if n >= 30 else (None, [None] * nedges)
    for i, x in enumerate(xs):
        loop = i >= len(tokens) - 1
        frm, to = (loops[i - len(tokens) + 1][1], loops[i - len(tokens) + 1][0]) if loop else (i, i + 1)
        share = mean(x) / mean(ts) if problem == 'slow' else cov(x, ts) / vt

        def again(pick):
            a, b = [x[j] for j in pick], [ts[j] for j in pick]
            return mean(a) / mean(b) if problem == 'slow' else cov(a, b) / cov(b, b)
        low, high = interval(n, again)
        owner = tokens[to][2]
        edges.append({'from': labels[frm], 'to': labels[to], 'owner': owner,
                      'owner_service': owner.split('/')[0] if owner else None, 'loop': loop, 'ignored': False,
                      'mean_ms': short(mean(x)), 'variance_ms2': short(cov(x, x)), 'share': short(share),
                      'low': low, 'high': high, 'own': short(cov(x, x) / vt),
                      'covariance': short(cov(x, ts) / vt - cov(x, x) / vt),
                      'latency_share': short(mean(x) / mean(ts)), 'p50_ms': short(quantile(x, .5)),
                      'p95_ms': short(quantile(x, .95)), 'tail': tails[i]})
    top = max(range(nedges), key=lambda i: edges[i]['share'])
    found, sample_keys = [], []
    for k, (name, numeric, explains) in enumerate(keys):
        column = [r[1][k] for r in rows]
        texts = [] if numeric else sorted(set(column))
        sample_keys.append({'name': name, 'numeric': numeric, 'texts': texts})
        for r in rows:
            r[1][k] = r[1][k] if numeric else texts.index(r[1][k])
        pairs = [(k, x) for k, x in zip(column, xs[top]) if k is not None]
        column, x = [k for k, _ in pairs], [x for _, x in pairs]
        if explains and numeric:
            found.append({'edge': top, 'name': name, 'numeric': True, 'r': short(pearson(column, x)),
                          'rho': short(pearson(ranks(column), ranks(x))), 'share': None, 'p': 3.1e-19,
                          'n': len(column)})
        elif explains:
            found.append({'edge': top, 'name': name, 'numeric': False, 'r': None, 'rho': None,
                          'share': short(between(column, x)), 'p': 4.4e-12, 'n': len(column)})
    path = []
    for i, label in enumerate(labels):
        path += ['('] * sum(1 for a, _ in loops if a == i) + [label] + [')+'] * sum(1 for _, b in loops if b == i)
    at, steps = 0.0, []
    for i, (label, depth, _) in enumerate(tokens):
        at += mean(xs[i - 1]) if i else 0
        steps.append({'label': label, 'service': label.split('/')[0], 'unit': tokens[i][2] or label,
                      'first_ms': short(at), 'depth': depth})
    ids = [trace_id() for _ in range(n)]
    order = sorted(range(n), key=lambda i: ts[i])
    low, high = interval(n, lambda pick: cv_of([ts[i] for i in pick]))
    excess = [max(0, t - (slow_ms if problem == 'slow' else quantile(ts, .5))) for t in ts]
    pick = {name: {'trace': ids[order[i]], 'total_ms': short(ts[order[i]])}
            for name, i in (('slowest', -1), ('median', n // 2), ('fastest', 0))}
    sick = problem in ('slow', 'unpredictable')
    return {'group': hashlib.md5(' '.join(path).encode()).hexdigest(), 'path': path, 'count': count,
            'mean_ms': short(mean(ts)), 'cv': short(cv_of(ts)), 'cv_low': low, 'cv_high': high,
            'p50_ms': short(quantile(ts, .5)), 'p95_ms': short(quantile(ts, .95)), 'p99_ms': short(quantile(ts, .99)),
            'ignored_mean_ms': 0.0, 'lossy': 3 if sick else 0, 'moved': 0, 'problem': problem,
            'probability': 1.0 if sick else .41 if problem == 'unsure' else .005,
            'cost_ms': short(mean(excess) * count) if sick else 0.0, 'edges': edges, 'top': top, 'tail': tail,
            'keys': found, 'keys_tried': len(keys), 'what_if': what_if(top, xs, ts) if sick else None,
            'exemplars': pick, 'steps': steps, 'sample_keys': sample_keys,
            'samples': [{'trace': ids[i], 'total_ms': short(ts[i]), 'edges_ms': [short(x) for x in rows[i][0]],
                         'keys': [k if not isinstance(k, float) else short(k) for k in rows[i][1]]}
                        for i in range(min(n, keep))]}, ts


healthy = False     # while the baseline is drawn


def home():
    length = draw.randrange(4, 80)
    score = (.02 if healthy else .05) * length + draw.gauss(0, .12)
    return [abs(draw.gauss(.21, .02)), abs(draw.gauss(.33, .05)), draw.lognormvariate(-.7, .15),
            draw.lognormvariate(.2, .35), abs(draw.gauss(.09, .01)), abs(draw.gauss(.35, .05)), abs(draw.gauss(.12, .02)),
            max(.1, score), abs(draw.gauss(.3, .03)), draw.lognormvariate(.4, .1), abs(draw.gauss(.08, .01)),
            .01 * length], [length, draw.choice(['n1', 'n2', 'n3']), length // 8]


def order():
    node = draw.choice(['order-1', 'order-1', 'order-2', 'order-3'])
    wait = draw.lognormvariate(4.2 if node == 'order-3' and not healthy else 2.5, .45)
    return [abs(draw.gauss(.3, .04)), abs(draw.gauss(.4, .05)), wait, draw.lognormvariate(1.6, .3),
            abs(draw.gauss(.4, .05)), abs(draw.gauss(.2, .03))], [node, draw.randrange(0, 9), None if draw.random() < .1
                                                               else round(wait / 9 + draw.gauss(0, .8), 2)]


def plain(scales, spread):
    return lambda: ([draw.lognormvariate(math.log(s), spread) for s in scales], [])


HOME = 'front/hone:request_begin(GET_HOME)'
CART = 'cart/hone:unit_begin(get)'
ORDER = 'front/hone:request_begin(POST_ORDER)'
PLACE = 'order/hone:unit_begin(place)'
PRICE = 'price/hone:unit_begin(quote)'


def front(begin, name):
    return (begin, 0, None), ('front/hone:request_end(%s)' % name, 0, begin)


def windows():
    begin, end = front(HOME, 'GET_HOME')
    get = [('front/hone:fork(get)', 0, HOME), (CART, 1, None), ('cart/redis:command_begin', 2, CART),
           ('cart/redis:command_end', 2, CART), ('cart/hone:unit_end(get)', 1, CART), ('front/hone:join(get)', 0, None)]
    g1 = group(18211, 400, 'none' if healthy else 'unpredictable', [begin] + get + [
        ('front/catalog:score_names_begin', 1, HOME), ('front/catalog:score_names_end', 1, HOME),
        ('front/page:render_begin', 1, HOME), ('front/page:render_end', 1, HOME), end], home,
        [('front/catalog:score_names_begin.length', True, True), ('node of front/hone:request_begin(GET_HOME)', False, False),
         ('iterations of ( front/catalog:score_names_begin ... )+', True, True)], [(7, 8)])
    g2 = group(305 if healthy else 1204, 300, 'slow', [begin, ('front/catalog:query_begin', 1, HOME), ('front/sql:wait_begin', 2, HOME),
                                   ('front/sql:wait_end', 2, HOME), ('front/catalog:query_end', 1, HOME),
                                   ('front/page:render_begin', 1, HOME), ('front/page:render_end', 1, HOME), end],
               plain([.2, .4, 31, .7, .2, 1.5, .1], .06), slow_ms=10.2)
    g3 = group(9120, 200, 'none', [begin] + get + [end], plain([.2, .3, .5, .9, .1, .3, .4], .04))
    old = group(640, 100, 'none', [begin, ('front/page:cached_begin', 1, HOME), ('front/page:cached_end', 1, HOME), end],
                plain([.2, .1, .1], .1), keep=0)
    g4 = group(17, 17, 'unsure', [begin, ('front/page:error_begin', 1, HOME), ('front/page:error_end', 1, HOME), end],
               plain([.2, 1.3, .1], .4), keep=0)
    begin, end = front(ORDER, 'POST_ORDER')
    g5 = group(2750, 400, 'none' if healthy else 'unpredictable', [
        begin, ('front/hone:fork(place)', 0, ORDER), (PLACE, 1, None), ('order/pool:connection_wait_end', 1, PLACE),
        ('order/hone:unit_end(place)', 1, PLACE), ('front/hone:join(place)', 0, None), end], order,
        [('node of order/hone:unit_begin(place)', False, True), ('front/hone:request_begin(POST_ORDER).items', True, False),
         ('order/pool:connection_wait_end.waiters', True, True)])
    g6 = group(811, 200, 'none', [
        begin, ('front/hone:fork(quote)', 0, ORDER), (PRICE, 1, None), ('price/hone:unit_end(quote)', 1, PRICE),
        ('front/hone:join(quote)', 0, None), end], plain([.3, .4, 2.1, .4, .2], .05))
    return [g1, g2, g3, old if healthy else g4], [g5, g6]


def kind(name, begin, groups, other):
    ts = [t for g in groups for t in g[1] for _ in range(max(1, g[0]['count'] // len(g[1])))]
    out = [g[0] for g in groups]
    out.sort(key=lambda g: -g['cost_ms'])
    operations = {}
    for g in out:
        for e in g['edges']:
            if e['owner']:
                o = operations.setdefault(e['owner'], [0, 0.0, 0.0])
                o[0] += 0 if e['from'] != e['owner'] else g['count']
                o[1] += e['mean_ms'] * g['count']
                o[2] += e['variance_ms2']
    return {'type': name, 'service': 'front', 'label': begin, 'count': sum(g['count'] for g in out) + other,
            'mean_ms': short(mean(ts)), 'cv': short(cv_of(ts)), 'p50_ms': short(quantile(ts, .5)),
            'p95_ms': short(quantile(ts, .95)), 'p99_ms': short(quantile(ts, .99)), 'slow_ms': short(quantile(ts, .95)),
            'operations': [{'operation': k, 'service': k.split('/')[0], 'traces': max(1, n),
                            'self_mean_ms': short(m / max(1, n)), 'self_variance_ms2': short(v), 'calls_mean': 1.0}
                           for k, (n, m, v) in operations.items()],
            'groups': out, 'other': {'traces': other, 'mean_ms': 14.2 if other else None}}


def part(change, deviation, whole):
    z = abs(change) / deviation if deviation > 0 else 0
    return {'change_ms': short(change), 'low_ms': short(change - 1.96 * deviation),
            'high_ms': short(change + 1.96 * deviation), 'p': short(math.erfc(z / math.sqrt(2))),
            'share': short(change / whole)}


def change(name, now, then):
    """The change of a mean, as halves of weights and of means say it: see docs/report.md."""
    now, then = {g['group']: g for g in now}, {g['group']: g for g in then}
    n = [sum(g['count'] for g in side.values()) for side in (now, then)]
    m = [sum(g['count'] * g['mean_ms'] for g in side.values()) / k for side, k in zip((now, then), n)]
    middle, whole, edges, groups = sum(m) / 2, m[0] - m[1], [], []
    for key in list(now) + [k for k in then if k not in now]:
        a, b = now.get(key), then.get(key)
        w = [g['count'] / k if g else 0 for g, k in zip((a, b), n)]
        means = [g['mean_ms'] for g in (a, b) if g]
        within = (w[0] + w[1]) / 2 * (a['mean_ms'] - b['mean_ms']) if a and b else 0
        mix = (w[0] - w[1]) * (mean(means) - middle)
        d = math.sqrt(sum(x * (1 - x) / k for x, k in zip(w, n)))
        groups.append({'group': key, 'state': 'both' if a and b else 'appeared' if a else 'vanished', 'part': short(w[0]),
                       'part_then': short(w[1]), 'part_p': short(math.erfc(abs(w[0] - w[1]) / d / math.sqrt(2))),
                       'within_ms': short(within), 'mix_ms': short(mix),
                       **part(within + mix, abs(mean(means) - middle) * d, whole)})
        for i in range(len(a['edges']) if a and b else 0):
            x, y = a['edges'][i], b['edges'][i]
            d = (w[0] + w[1]) / 2 * math.sqrt(x['variance_ms2'] / a['count'] + y['variance_ms2'] / b['count'])
            edges.append({'group': key, 'edge': i, 'from': x['from'], 'to': x['to'], 'owner': x['owner'],
                          'owner_service': x['owner_service'], 'mean_ms': x['mean_ms'], 'mean_then_ms': y['mean_ms'],
                          **part((w[0] + w[1]) / 2 * (x['mean_ms'] - y['mean_ms']), d, whole)})
    edges.sort(key=lambda e: -abs(e['change_ms']))
    groups.sort(key=lambda g: -abs(g['change_ms']))
    return {'type': name, 'count': n[0], 'count_then': n[1], 'mean_ms': short(m[0]), 'mean_then_ms': short(m[1]),
            'within_ms': short(sum(g['within_ms'] for g in groups)), 'mix_ms': short(sum(g['mix_ms'] for g in groups)),
            **part(whole, .02 * abs(whole), whole), 'edges': edges, 'edges_rest_ms': 0.0, 'groups': groups,
            'groups_rest_ms': 0.0}


homes, orders = windows()
types = [kind('GET_HOME', HOME, homes, 6), kind('POST_ORDER', ORDER, orders, 0)]
healthy = True
healthy_homes, healthy_orders = windows()
changed = [change('GET_HOME', [g for g, _ in homes], [g for g, _ in healthy_homes]),
           change('POST_ORDER', [g for g, _ in orders], [g for g, _ in healthy_orders])]
changed[0].update(operations=[
    {'operation': HOME, 'far': None, 'caller': None, 'what': 'self', 'services': ['front'], 'calls': 28552,
     'calls_then': 28276, 'calls_mean': 1.0, 'calls_mean_then': 1.0, 'mean_ms': 5.3, 'mean_then_ms': 3.7,
     'slower_share': .41, 'changed_calls': 11706.3, 'p': 2.2e-16}], steps=[], appeared=[], vanished=[])
changed[1].update(operations=[
    {'operation': PLACE, 'far': None, 'caller': ORDER, 'what': 'self', 'services': ['order'], 'calls': 2750,
     'calls_then': 2750, 'calls_mean': .77, 'calls_mean_then': .77, 'mean_ms': 34.6, 'mean_then_ms': 18.4,
     'slower_share': .22, 'changed_calls': 605.0, 'p': 4e-12}], steps=[
    {'in': ORDER, 'after': PLACE, 'after_far': None, 'then': None, 'then_far': None, 'instead_of': PRICE,
     'instead_of_far': None, 'services': ['order', 'price'], 'count': 120, 'of': 2750, 'count_then': 2,
     'of_then': 2750, 'more_share': .031, 'changed_calls': 85.2, 'p': 1e-9}],
    appeared=[{'operation': 'audit/hone:unit_begin(note)', 'far': None, 'caller': PLACE, 'calls_mean': .031}], vanished=[])
baseline = {'name': 'sunday', 'made': '2026-11-15T07:00:00Z', 'types': changed, 'types_appeared': [],
            'types_vanished': ['GET_HELP'], 'tried': 61, 'suspects': [
                {'service': 'front', 'score': .61, 'changed_calls': 11706.3, 'touched_calls': 31302},
                {'service': 'order', 'score': .24, 'changed_calls': 690.2, 'touched_calls': 5500},
                {'service': 'price', 'score': .03, 'changed_calls': 85.2, 'touched_calls': 811}]}
problems = sorted(({'type': t['type'], 'group': g['group'], 'problem': g['problem'], 'cost_ms': g['cost_ms']}
                   for t in types for g in t['groups'] if g['cost_ms'] > 0), key=lambda p: -p['cost_ms'])
for i, p in enumerate(problems):
    p['rank'] = i + 1
doc = {
    'document': 'hone.analysis', 'version': 1, 'hone': '0.1.0', 'made': '2026-11-21T07:00:00Z',
    'source': {'files': ['monday.json.gz', 'tuesday.json.gz'], 'live': False,
               'counts': {'files': 2, 'files_failed': 0, 'spans': 214110, 'events': 391842, 'traces': 32119,
                          'corrected': 112, 'moved': 9, 'other_groups': 6, 'collisions': 0},
               'skipped': [{'reason': 'orphan', 'count': 41, 'file': 'monday.json.gz', 'offset': 10411,
                            'why': 'span 1f0a names a parent that is not there'},
                           {'reason': 'malformed', 'count': 2, 'file': 'tuesday.json.gz', 'offset': 771204,
                            'why': 'a duration of -13 us'}]},
    'options': {'cv_max': .1, 'slow_quantile': .95, 'traces_min': 30, 'confidence': .95, 'rounds': ROUNDS, 'seed': 7,
                'samples_max': 400, 'groups_max': 500, 'ignore': ['front/poll:*'], 'bins': []},
    'types': types, 'problems': problems, 'baseline': baseline}
print(json.dumps(doc, separators=(',', ':')))
