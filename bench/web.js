// SPDX-License-Identifier: GPL-3.0-or-later
// Opens the live page in Chromium, again and again, and prints how long its first view takes, as JSON; for web.sh.
//
//	node web.js HONE ROUNDS [PICTURES]	HONE: the program; PICTURES: a folder for screenshots
//
// first_view_ms: from the link (its redirection included) to the frame after the table of types is there, by the page's own clock. Each round
// is a browser context of its own, so nothing is in a cache. The first one is apart: Chromium itself is cold then.
'use strict'
const { execFileSync } = require('child_process')
const { chromium } = require('playwright-core')

const [hone, rounds, pictures] = [process.argv[2], +process.argv[3], process.argv[4]]
const rising = v => [...v].sort((a, b) => a - b)
const median = v => rising(v)[Math.floor(v.length / 2)]

// In the page: remembers when what the selector names is there, and painted.
const watch = () => {
  const look = () => {
    if (window.firstView || !document.querySelector('main tr[data-key]')) return
    window.firstView = { there: performance.now() }
    requestAnimationFrame(() => setTimeout(() => { window.firstView.painted = performance.now() }))
  }
  new MutationObserver(look).observe(document, { childList: true, subtree: true })
}
async function open(browser, n) {
  const context = await browser.newContext({ viewport: { width: 1200, height: 900 } })
  const page = await context.newPage()
  await page.addInitScript(watch)
  await page.goto(execFileSync(hone, ['web']).toString().trim())
  await page.waitForFunction(() => window.firstView && window.firstView.painted, undefined, { polling: 20 })
  const took = await page.evaluate(() => ({ ...window.firstView, rows: document.querySelectorAll('main tr[data-key]').length,
    loaded: performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd,
    bytes: performance.getEntriesByType('navigation').concat(performance.getEntriesByType('resource')).reduce((sum, r) => sum + r.transferSize, 0) }))
  return { context, page, took, n }
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
async function main() {
  const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
    '--disable-background-networking', '--disable-component-update', '--disable-sync'] })
  const took = []
  let cold
  for (let n = 0; n <= rounds; n++) {
    const one = await open(browser, n)
    if (n === 0) cold = one.took
    else took.push(one.took)
    if (n === rounds) {
      if (pictures) await one.page.screenshot({ path: `${pictures}/many-types.png`, fullPage: true })
      const r = await report(one.page)
      for (const view of ['nodes', 'forest', 'alerts', 'type/' + encodeURIComponent(r.type)]) {
        await one.page.goto(one.page.url().replace(/#.*|$/, '#' + view))
        if (view.startsWith('type/')) await one.page.waitForSelector('details.group[open] svg', { timeout: 120000 })
        else await one.page.waitForTimeout(300)
        if (pictures) await one.page.screenshot({ path: `${pictures}/many-${view.split('/')[0]}.png`, fullPage: !view.startsWith('type/') })
      }
      const all = took.map(t => t.painted)
      console.log(JSON.stringify({ rounds, first_view_ms: { cold: cold.painted, least: Math.min(...all), median: median(all), most: Math.max(...all) },
        loaded_ms: median(took.map(t => t.loaded)), there_ms: median(took.map(t => t.there)), rows: took[0].rows, bytes: took[0].bytes, report: r }))
    }
    await one.page.click('form[data-act=leave] button')
    await one.context.close()
  }
  await browser.close()
}
main().catch(e => { console.error(e); process.exit(1) })
