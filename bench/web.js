// SPDX-License-Identifier: GPL-3.0-or-later
// Opens the live page in Chromium, again and again, and prints how long its first view takes and what it costs, as JSON; for web.sh.
//
//	node web.js HONE ROUNDS HONED_PID FLEET_PID [PICTURES]	HONE: the program; PICTURES: a folder for screenshots
//
// first_view_ms: from the link to the frame after the table of types is there, by the page's own clock. Each round
// is a browser context of its own, so nothing is in a cache. The first one is apart: Chromium itself is cold then. Before each, a page of one row of
// another server is opened in the same way (blank_ms): that is what Chromium takes by itself. What a machine that is busy
// with other things does not change: requests and bytes until the first view, the processor time of honed's threads for it (schedstat; the fleet
// is stopped meanwhile, and what honed takes in as long a time without a page is taken off), and that of the page's thread (timeDomain threadTicks).
'use strict'
const fs = require('fs')
const http = require('http')
const { execFileSync } = require('child_process')
const { chromium } = require('playwright-core')

const [hone, rounds, honed, fleet, pictures] = [process.argv[2], +process.argv[3], +process.argv[4], +process.argv[5], process.argv[6]]
const rising = v => [...v].sort((a, b) => a - b)
const median = v => rising(v)[Math.floor(v.length / 2)]
const sleep = ms => new Promise(r => setTimeout(r, ms))
const both = v => ({ least: Math.min(...v), median: median(v) })

// In the page: remembers when what the selector names is there, and painted.
const watch = () => {
  const look = () => {
    if (window.firstView || !document.querySelector('main tr[data-key]')) return
    window.firstView = { there: performance.now() }
    requestAnimationFrame(() => setTimeout(() => { window.firstView.painted = performance.now(); console.log('painted') }))
  }
  new MutationObserver(look).observe(document, { childList: true, subtree: true })
}
// Processor time in ms of honed's own thread, and of its others (that of libmicrohttpd among them).
function used() {
  const sum = { main: 0, others: 0 }
  for (const tid of fs.readdirSync(`/proc/${honed}/task`)) {
    const ns = +fs.readFileSync(`/proc/${honed}/task/${tid}/schedstat`, 'latin1').split(' ')[0]
    sum[+tid === honed ? 'main' : 'others'] += ns / 1e6
  }
  return sum
}
// Calls fn while no agent says anything, and says what honed took for it, and how long it was.
async function meanwhile(fn) {
  const [before, begin] = [used(), performance.now()]
  await fn()
  const after = used()
  return { main: after.main - before.main, others: after.others - before.others, ms: performance.now() - begin }
}
// Goes there, and waits until the page says that it is painted. Nothing of playwright's own comes into the page meanwhile: its script of 330 kB would
// keep the page's thread busy for 17 ms in the middle of the first view.
async function navigate(cdp, url) {
  const painted = new Promise(is => cdp.on('Runtime.consoleAPICalled', m => m.args[0] && m.args[0].value === 'painted' && is()))
  await cdp.send('Page.navigate', { url })
  await painted
}
// Processor time in ms of the page's thread since its navigation began, by what it was for; task_ms: all of it.
async function processor(cdp) {
  const of = Object.fromEntries((await cdp.send('Performance.getMetrics')).metrics.map(m => [m.name, m.value * 1000]))
  return { script_ms: of.ScriptDuration, compile_ms: of.V8CompileDuration, layout_ms: of.LayoutDuration, style_ms: of.RecalcStyleDuration, task_ms: of.TaskDuration }
}
async function open(browser) {
  const context = await browser.newContext({ viewport: { width: 1200, height: 900 } })
  const page = await context.newPage(), cdp = await context.newCDPSession(page)
  const sent = []    // { at: s, by the clock of CDP, requests, bytes }
  let toWall = 0
  cdp.on('Network.requestWillBeSent', r => {
    if (r.request.url.startsWith('data:')) return
    toWall = r.wallTime - r.timestamp
    sent.push({ at: r.timestamp, requests: 1, bytes: r.redirectResponse ? r.redirectResponse.encodedDataLength : 0 })
  })
  cdp.on('Network.responseReceived', r => sent.push({ at: r.timestamp, requests: 0, bytes: r.response.encodedDataLength }))
  cdp.on('Network.dataReceived', r => sent.push({ at: r.timestamp, requests: 0, bytes: r.encodedDataLength || r.dataLength }))
  await cdp.send('Runtime.enable')
  await cdp.send('Network.enable')
  await cdp.send('Performance.enable', { timeDomain: 'threadTicks' })
  await page.addInitScript(watch)
  process.kill(fleet, 'SIGSTOP')
  let cost, idle, metrics
  try {
    await sleep(300)
    const link = execFileSync(hone, ['web']).toString().trim()
    idle = await meanwhile(() => sleep(500))
    cost = await meanwhile(() => navigate(cdp, link))
    metrics = await processor(cdp)
  } finally {
    process.kill(fleet, 'SIGCONT')
  }
  const took = await page.evaluate(() => ({ ...window.firstView, wall: (performance.timeOrigin + window.firstView.painted) / 1000, rows: document.querySelectorAll('main tr[data-key]').length }))
  const before = sent.filter(e => e.at + toWall <= took.wall), sum = name => before.reduce((n, e) => n + e[name], 0)
  const of = name => Math.max(0, cost[name] - (idle[name] * cost.ms) / idle.ms)
  return { context, page, took: { ...took, requests: sum('requests'), bytes: sum('bytes'), honed_ms: of('main'), web_thread_ms: of('others'),
    ...metrics } }
}
// A page that has nothing but one row.
const blankServer = http.createServer((asked, answer) => answer.writeHead(200, { 'Content-Type': 'text/html' }).end('<!doctype html><title>x</title><main><table><tr data-key="x"><td>x</td></tr></table></main>'))
async function openBlank(browser) {
  const context = await browser.newContext({ viewport: { width: 1200, height: 900 } })
  const page = await context.newPage(), cdp = await context.newCDPSession(page)
  await cdp.send('Runtime.enable')
  await cdp.send('Performance.enable', { timeDomain: 'threadTicks' })
  await page.addInitScript(watch)
  process.kill(fleet, 'SIGSTOP')
  let metrics
  try {
    await sleep(300)
    await navigate(cdp, `http://127.0.0.1:${blankServer.address().port}/`)
    metrics = await processor(cdp)
  } finally {
    process.kill(fleet, 'SIGCONT')
  }
  const took = await page.evaluate(() => window.firstView)
  await context.close()
  return { ...took, ...metrics }
}
// How long one report of the type with the most groups takes, as a page asks for it, and how long another page's questions wait meanwhile.
async function report(page) {
  return page.evaluate(async () => {
    const ask = async q => {
      const begin = performance.now()
      const r = await fetch('ask', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(q) })
      const text = await r.text()
      return { ms: performance.now() - begin, status: r.status, bytes: text.length, text }
    }
    let over = false
    const waits = []
    const pinging = (async () => {
      while (!over) {
        waits.push((await ask({ ask: 'alerts' })).ms)
        await new Promise(r => setTimeout(r, 60))
      }
    })()
    await new Promise(r => setTimeout(r, 1500))
    const before = Math.max(...waits.splice(0))
    const t = JSON.parse((await ask({ ask: 'status' })).text).types[0], type = t.service + '/' + t.type
    const r = await ask({ ask: 'report', type, samples: true })
    over = true
    await pinging
    const doc = JSON.parse(r.text)
    return { type, status: r.status, report_ms: r.ms, bytes: r.bytes, groups: (((doc.report || {}).types || [{}])[0].groups || []).length,
      longest_wait_before_ms: before, longest_wait_meanwhile_ms: Math.max(...waits) }
  })
}
// Bytes of the answers that states are made from.
async function answers(page) {
  return page.evaluate(async () => {
    const sizes = {}
    for (const ask of ['status', 'times', 'alerts', 'agents', 'forest', 'audit']) {
      const r = await fetch('ask', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ ask }) })
      sizes[ask] = (await r.text()).length
    }
    return sizes
  })
}
async function main() {
  const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
    '--disable-background-networking', '--disable-component-update', '--disable-sync'] })
  const took = [], blank = []
  let cold
  await new Promise(listens => blankServer.listen(0, '127.0.0.1', listens))
  for (let n = 0; n <= rounds; n++) {
    const nothing = await openBlank(browser)
    if (n > 0) blank.push(nothing)
    const one = await open(browser)
    if (n === 0) cold = one.took
    else took.push(one.took)
    if (n === rounds) {
      const sizes = await answers(one.page)
      if (pictures) await one.page.screenshot({ path: `${pictures}/many-types.png`, fullPage: true })
      const r = await report(one.page)
      for (const view of ['nodes', 'forest', 'alerts', 'type/' + encodeURIComponent(r.type)]) {
        await one.page.goto(one.page.url().replace(/#.*|$/, '#' + view))
        if (view.startsWith('type/')) await one.page.waitForSelector('details.group[open] svg', { timeout: 120000 })
        else await one.page.waitForTimeout(300)
        if (pictures) await one.page.screenshot({ path: `${pictures}/many-${view.split('/')[0]}.png`, fullPage: !view.startsWith('type/') })
      }
      const all = (name, of = took) => of.map(t => t[name]), cpu = {}, blankCpu = {}, ofPage = ['script_ms', 'compile_ms', 'layout_ms', 'style_ms', 'task_ms']
      for (const name of ['honed_ms', 'web_thread_ms', ...ofPage]) cpu[name] = both(all(name))
      for (const name of ofPage) blankCpu[name] = both(all(name, blank))
      console.log(JSON.stringify({ rounds, first_view_ms: { cold: cold.painted, ...both(all('painted')), most: Math.max(...all('painted')) },
        there_ms: both(all('there')), blank_ms: both(all('painted', blank)),
        more_ms: both(took.map((t, i) => t.painted - blank[i].painted)), rows: took[0].rows, requests: Math.max(...all('requests')), bytes: median(all('bytes')), cpu, blank_cpu: blankCpu, answer_bytes: sizes, report: r }))
    }
    await one.page.click('form[data-act=leave] button')
    await one.context.close()
  }
  blankServer.close()
  await browser.close()
}
main().catch(e => { console.error(e); process.exit(1) })
