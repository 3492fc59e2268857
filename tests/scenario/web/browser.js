// SPDX-License-Identifier: GPL-3.0-or-later
// Drives Chromium through the live page and prints TAP.
//
//	node browser.js NUMBER HONE [PICTURES]	NUMBER: of checks before; HONE: the program; PICTURES: a folder for screenshots
'use strict'
const fs = require('fs')
const net = require('net')
const { execFileSync } = require('child_process')
const { chromium } = require('playwright-core')

let [n, failed] = [+process.argv[2], 0]
const pictures = process.argv[4]
async function check(words, fn) {
  let why
  try {
    const said = await fn()
    if (said !== true && said !== undefined) why = 'gave ' + JSON.stringify(said)
  } catch (e) {
    why = e.message
  }
  console.log(`${why ? 'not ok' : 'ok'} ${++n} - ${words}`)
  if (why) {
    failed++
    console.log(String(why).replace(/^/gm, '# '))
  }
}
async function picture(page, name) {
  if (pictures) await page.screenshot({ path: `${pictures}/${name}.png`, fullPage: true })
}

// Between the browser and honed: connections can be cut, and what is asked for is seen.
const HONED = 9470
const asked = [], open = new Set()
let cut = false
const between = net.createServer(from => {
  const to = net.connect(HONED, '127.0.0.1')
  const end = () => { from.destroy(); to.destroy(); open.delete(end) }
  if (cut) return end()
  open.add(end)
  from.on('data', d => asked.push(...(d.toString('latin1').match(/^(GET|POST) \S+|^Last-Event-ID: \S+/gmi) || [])))
  for (const s of [from, to]) s.on('error', end).on('close', end)
  from.pipe(to).pipe(from)
})

const expected = /^Failed to load resource|ERR_(EMPTY_RESPONSE|CONNECTION|INCOMPLETE_CHUNKED)/
async function main() {
  await new Promise(r => between.listen(9471, '127.0.0.1', r))
  const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
    '--disable-background-networking', '--disable-component-update', '--disable-sync'] })
  const context = await browser.newContext({ viewport: { width: 1200, height: 900 } })
  context.setDefaultTimeout(30000)
  const troubles = [], urls = []
  context.on('page', p => {
    p.on('pageerror', e => troubles.push(e.message))
    p.on('console', m => m.type() === 'error' && !expected.test(m.text()) && troubles.push(m.text()))
    p.on('request', r => urls.push(r.url()))
  })
  const page = await context.newPage(), here = 'http://127.0.0.1:9471'
  let home = here + '/'    // where the session's cookie is valid
  const link = execFileSync(process.argv[3], ['web']).toString().trim().replace(`:${HONED}/`, ':9471/')
  const view = async (name, p = page) => {
    await p.click(`nav#views a[href="#${name}"]`)
    await p.waitForSelector(`nav#views a[href="#${name}"][aria-current=page]`)
  }
  const text = (selector, p = page) => p.locator(selector).first().innerText()

  await check('the link opens the page, whose address has no token', async () => {
    await page.goto(link)
    await page.waitForSelector('#state.on')
    home = page.url()
    return /^http:\/\/127\.0\.0\.1:9471\/s\/[0-9a-f]{16}\/$/.test(home)
  })
  await check('the types come, by cost, with the user', async () => {
    await page.waitForSelector('main tr[data-key="gated/GET /order"]')
    return /^root/.test(await text('#who')) && (await text('h1')) === 'Request types by cost'
  })
  await check('a heat map of their response times grows', async () => {
    await page.waitForSelector('main tr td .heat[aria-label^="Heat map of the response times of GET /order"] canvas')
    await page.waitForFunction(() => {
      const c = document.querySelector('.heat canvas'), all = c.getContext('2d').getImageData(0, 0, c.width, c.height).data, colours = new Set()
      for (let i = 0; i < all.length; i += 4) colours.add(all[i] << 16 | all[i + 1] << 8 | all[i + 2])
      return colours.size > 3
    })
  })
  await check('and the rate over time, drawn by uPlot', async () => {
    await page.waitForSelector('main tr[data-key="gated/GET /order"] td .chart.spark[aria-label^="requests per second"] .uplot canvas')
  })
  await check('a CV beyond analysis.cv_max is marked, also in words', async () => {
    await page.waitForSelector('main tr[data-key="gated/GET /order"] td[data-name=CV] .beyond')
    return /over the 10 % of analysis\.cv_max/.test(await page.locator('main tr[data-key="gated/GET /order"] td[data-name=CV]').textContent())
  })
  await picture(page, 'types')

  // ---- views ----
  await check('all of them can be reached and read by the keyboard', async () => {
    await page.keyboard.press('Tab')
    const first = await page.evaluate(() => document.activeElement.textContent)
    await page.keyboard.press('Enter')
    const main = await page.evaluate(() => [document.activeElement.id, location.hash])
    if (main[0] !== 'main' || main[1] !== '') return main
    await page.focus('a.skip')
    for (let i = 0; i < 4; i++) await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await page.waitForSelector('h1:text-is("Alerts")')
    const focus = await page.evaluate(() => document.activeElement.textContent)
    return first === 'Skip to the content' && focus === 'Alerts' ? true : { first, focus }
  })
  await check('alerts has what is watched', async () => { await page.waitForSelector('main tr:has-text("GET /order")') })
  await picture(page, 'alerts')
  await view('nodes')
  await check('nodes has cost, budget and queues of the node', async () => {
    await page.waitForSelector('main tr[data-key=n1] .state.good')
    return await page.locator('main tr[data-key=n1] svg.inline').count() >= 6
  })
  await check('the cost and the queues of a node are drawn over time', async () => {
    await page.waitForSelector('figure.over-time:has-text("How full the queues are") .uplot canvas')
    await page.selectOption('select[name=node]', 'n1')
    return await page.locator('figure.over-time .uplot').count() === 2
  })
  await page.fill('form[data-act=learn] input', '2')
  await page.click('form[data-act=learn] button')
  await check('learning that the page has started is shown', async () => { await page.waitForSelector('main p:has-text("Learning: ")') })
  await picture(page, 'nodes')
  await page.waitForSelector('form[data-act=learn]', { timeout: 60000 })

  // ---- a type ----
  await view('types')
  await page.click('main a:has-text("GET /order")')
  await check('a type has its groups, the critical path as a strip', async () => {
    await page.waitForSelector('details.group[open] svg[aria-label^="Critical path of 5 steps"]')
  })
  await check('its response time over time is drawn, read by the arrow keys, and is a table, too', async () => {
    const figure = page.locator('figure.over-time:has-text("Response time")')
    await figure.locator('.uplot canvas').waitFor()
    await figure.locator('.chart').focus()
    await page.keyboard.press('End')
    const out = await figure.locator('.read').innerText()
    await page.keyboard.press('ArrowLeft')
    const before = await figure.locator('.read').innerText()
    const told = await figure.locator('.chart').getAttribute('aria-valuetext')
    await figure.locator('summary').click()
    const row = await figure.locator('tbody tr').first().innerText()
    const shape = /^\d\d:\d\d:\d\d: p50 [\d.]+ (µs|ms), p95 /
    return shape.test(out) && shape.test(before) && out !== before && told === before && /^\d\d:\d\d:\d\d\s+[\d.]+ (µs|ms)/.test(row) || { out, before, told, row }
  })
  const rows = () => page.locator('table[aria-label="Edges that differ"] tbody tr').first().innerText()
  await check('what differs in a range of response times is computed anew for another range', async () => {
    const before = await rows()
    await page.fill('input[aria-label="from, in ms"]', '40')
    await page.keyboard.press('Tab')
    await page.waitForFunction(b => document.querySelector('table[aria-label="Edges that differ"] tbody tr').innerText !== b, before)
    return /join\(SELECT\)/.test(await rows())
  })
  await check('a box that is drawn on the heat map sets the range', async () => {
    await page.locator('svg.drag').scrollIntoViewIfNeeded()
    const box = await page.locator('svg.drag').boundingBox()
    await page.mouse.move(box.x + 200, box.y + box.height * 0.55)
    await page.mouse.down()
    await page.mouse.move(box.x + 300, box.y + box.height * 0.8, { steps: 3 })
    await page.mouse.up()
    const of = name => page.inputValue(`input[aria-label="${name}, in ms"]`)
    const [to, left, right] = [+await of('to'), +await of('time on the edge from'), +await of('time on the edge to')]
    const inside = +/^(\d+) of 400 /.exec((await page.locator('p:has-text("requests are in the box")').innerText()).replace(/[^ -~]/g, ''))?.[1]
    return to < 60 && left > 0 && left < right && right < to && inside < 400 || { to, left, right, inside }
  })
  await check('the slowest request stands against the fastest, each step with its percentile', async () => {
    await page.waitForSelector('svg[aria-label^="The slowest request, "]')
    await page.click('details.group summary:has-text("The same as a table")')
    const row = page.locator('table[aria-label="The slowest request against the fastest"] tr:has-text("join(SELECT) → end")')
    const [, slow, slowP, fast, fastP] = await row.locator('td').allInnerTexts()
    const inMs = t => parseFloat(t) * ({ s: 1000, ms: 1, µs: 0.001 })[t.split(' ').pop()]
    return +slowP.slice(1) > 50 && +fastP.slice(1) < 50 && inMs(slow) > 10 && inMs(fast) < 10 || [slow, slowP, fast, fastP]
  })
  await picture(page, 'type')

  // ---- the first view ----
  await check('the document alone has what is shown first', async () => {
    const alone = await context.newPage(), begun = urls.length
    await alone.route('**/*', r => (r.request().resourceType() === 'document' ? r.continue() : r.abort()))
    await alone.goto(home)
    await alone.waitForSelector('main tr[data-key="gated/GET /order"]')
    const needed = urls.slice(begun).filter(u => !/(events|session|live\.js)$|^data:/.test(u))
    await alone.close()
    return needed.length === 1 && needed[0] === home || needed
  })

  // ---- a diagnosis, in two tabs ----
  const other = await context.newPage()
  await other.goto(home + '#nodes')
  await other.waitForSelector('#state.on')
  await check('a second tab has the same session', async () => { await other.waitForSelector('main tr[data-key=n1]') })
  // What a page has shown, also if it is over when it is looked for: a diagnosis does not wait for a slow browser.
  const record = (p, selector) => p.evaluate(s => {
    const look = () => { window.shown = window.shown || document.querySelector(s) !== null }
    window.shown = false
    new MutationObserver(look).observe(document.querySelector('main'), { childList: true, subtree: true, attributes: true })
    look()
  }, selector)
  const shown = p => p.waitForFunction(() => window.shown)
  await other.evaluate(() => {
    window.news = []
    new MutationObserver(() => window.news.push(document.getElementById('news').textContent)).observe(document.getElementById('news'), { childList: true, characterData: true, subtree: true })
  })
  await record(page, 'main section:has(.state.active) form[data-act=stop] button')
  await record(other, 'main li[data-key*="shop:"]')
  await page.click('form[data-act=start] button')
  await check('a diagnosis that is started leads to the forest', async () => { await page.waitForSelector('main section:has-text("diagnosis 1")') })
  await check('where it is active, and can be stopped', async () => { await shown(page) })
  await check('where it grows', async () => { await page.waitForSelector('ul.tree ul li svg') })
  await picture(page, 'growing')
  await check('the second tab sees the tracepoints that it adds', async () => { await shown(other) })
  await view('forest', other)
  // ---- a connection that is lost ----
  const isStream = a => /^GET \/s\/[0-9a-f]{16}\/events$/.test(a)
  const streams = () => asked.filter(isStream).length
  const before = streams()
  cut = true
  for (const end of [...open]) end()
  await check('a connection that is lost is said to be', async () => { await page.waitForSelector('#state.off:has-text("lost")') })
  cut = false
  await check('and resumes by itself, where it was', async () => {
    await page.waitForSelector('#state.on')
    await other.waitForSelector('#state.on')
    const after = asked.slice(asked.findLastIndex(isStream)).find(a => /^last-event-id/i.test(a))
    return streams() > before && after !== undefined ? true : asked.slice(-12)
  })
  await check('its verdict names the edge, the key and what if', async () => {
    await page.waitForSelector('article.card', { timeout: 90000 })
    const said = await text('article.card')
    return /of the variance comes from voucher in gated/.test(said) && /shop:voucher_begin\.tries/.test(said) && /p95/.test(said) ? true : said
  })
  await check('so it does in the second tab', async () => { await other.waitForSelector('article.card table[aria-label="What if"]') })
  await page.waitForSelector('main section .state.found')
  await picture(page, 'verdict')
  await check('the verdict and the end of the diagnosis are said to who listens, whatever is shown', async () => {
    const heard = p => p.waitForFunction(() => {
      const said = window.news.join('; ')
      return /Verdict of diagnosis 1, GET \/order: .*of the variance comes from voucher in gated/.test(said) && /Diagnosis 1 of GET \/order: found/.test(said)
    })
    await heard(other).catch(async () => { throw new Error(await other.evaluate(() => window.news.join('; '))) })
  })
  await view('audit')
  await check('the audit has that it was started', async () => { await page.waitForSelector('main tr:has-text("start type GET /order") .state.good') })
  await picture(page, 'audit')

  // ---- for everybody ----
  // What a screen reader is told, by Chromium's accessibility tree: each control, picture and table has a name, tables have a head for each cell, and
  // one heading, menu, content and status each is there. Gives what is wrong.
  const ax = await context.newCDPSession(page)
  const CONTROLS = ['link', 'button', 'textbox', 'spinbutton', 'combobox', 'checkbox', 'slider', 'option', 'DisclosureTriangle']
  const NAMED = [...CONTROLS, 'image', 'img', 'Canvas', 'table', 'heading', 'columnheader', 'navigation', 'region']
  const heard = async narrow => {
    const nodes = (await ax.send('Accessibility.getFullAXTree')).nodes, byId = new Map(nodes.map(x => [x.nodeId, x])), bad = []
    const role = x => (x.ignored ? '' : x.role.value), name = x => ((x.name || {}).value || '').trim()
    const is = (x, property) => ((x.properties || []).find(p => p.name === property) || { value: {} }).value.value
    const below = (x, roles) => (x.childIds || []).map(id => byId.get(id)).filter(Boolean).flatMap(k => (roles.includes(role(k)) ? [k] : below(k, roles)))
    const one = (what, wanted) => { const of = nodes.filter(wanted); if (of.length !== 1) bad.push(`${of.length} of: ${what}`) }
    for (const x of nodes) {
      if (NAMED.includes(role(x)) && !name(x)) bad.push(`${role(x)} without a name`)
      if (role(x) && is(x, 'focusable') && ![...CONTROLS, 'heading', 'main', 'RootWebArea', 'MenuListPopup', 'generic'].includes(role(x))) bad.push(`${role(x)} ${name(x)} has the focus, and is no control`)
      if (role(x) === 'slider' && !is(x, 'valuetext') && !(x.value || {}).value) bad.push(`slider ${name(x)} without a value`)
      if (role(x) !== 'table') continue
      const heads = below(x, ['columnheader']).length
      for (const row of below(x, ['row'])) {
        const cells = below(row, ['columnheader', 'cell', 'gridcell']).length
        if (heads === 0 || cells > heads || (cells < heads && !narrow)) bad.push(`table ${name(x)}: ${heads} heads, ${cells} cells`)
      }
    }
    one('heading of level 1', x => role(x) === 'heading' && is(x, 'level') === 1)
    one('navigation', x => role(x) === 'navigation' && name(x) === 'Views')
    one('content', x => role(x) === 'main')
    one('banner', x => role(x) === 'banner')
    if (nodes.filter(x => role(x) === 'status' && is(x, 'live') === 'polite').length < 1) bad.push('no status')
    if (nodes.filter(role).length < 40) bad.push('few nodes: ' + nodes.filter(role).length)
    return [...new Set(bad)].slice(0, 10)
  }
  const all = ['types', 'forest', 'nodes', 'alerts', 'audit', 'type/GET%20%2Forder']
  await check('in each view a screen reader gets names of all controls, pictures and tables, and the heads of cells', async () => {
    for (const v of all) {
      await page.goto(home + '#' + v)
      await page.waitForSelector(v.startsWith('type/') ? 'details.group[open] svg' : 'main h1')
      const bad = await heard()
      if (bad.length) return { v, bad }
    }
  })
  await page.setViewportSize({ width: 360, height: 740 })
  await page.emulateMedia({ colorScheme: 'dark' })
  await check('none is wider than a narrow screen, where tables are tables, too, for who listens', async () => {
    for (const v of all) {
      await page.goto(home + '#' + v)
      await page.waitForSelector(v.startsWith('type/') ? 'details.group[open] svg' : 'main h1')
      const width = await page.evaluate(() => document.documentElement.scrollWidth)
      await picture(page, 'narrow-' + v.split('/')[0])
      const bad = await heard(true)    // there cells without text are not shown
      if (bad.length) return { v, bad }
      if (width > 360) return { v, width }
    }
  })
  await check('the dark colours are used', async () => await page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor) === 'rgb(20, 23, 26)')
  await page.goto(home + '#type/GET%20%2Forder')
  await page.selectOption('select[name=tail]', '0.999')   // it waits for many requests
  await page.click('form[data-act=start] button')
  await check('a diagnosis is stopped from the page', async () => {
    await page.click('main section form[data-act=stop] button')
    await page.waitForSelector('main section:has-text("diagnosis 2") .state.stopped')
  })
  await page.goto(home)
  await page.click('form[data-act=leave] button')
  await check('a session that is ended is, in all tabs', async () => {
    await page.waitForSelector('#state.off:has-text("hone web")')
    await other.waitForSelector('#state.off:has-text("hone web")')
  })
  await check('no page asked another host for anything', () => urls.length > 10 && urls.every(u => u.startsWith(here + '/') || u.startsWith('data:')) || urls)
  await check('no script failed, and nothing was against the policy', () => troubles.length === 0 || troubles)
  await browser.close()
  between.close()
  for (const end of [...open]) end()
  if (pictures) fs.writeFileSync(pictures + '/asked', asked.join('\n'))
}
main().then(() => process.exit(failed ? 1 : 0), e => { console.error(e); process.exit(1) })
