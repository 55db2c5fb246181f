// The built book in a real browser.
//
//   node browser.mjs BOOK [SCREENSHOTS] [--tried FOLDER]
//
// BOOK is the folder of the book, or the address that it is served at. Every page is looked at in light and in
// dark, on a desktop and on a phone: no message on the console, no request to the outside, nothing that axe
// finds wrong, no sideways scroll. Then: search, machine switch, hints, print, without JavaScript, and the
// elements that run something (webgpu.mjs, digits.mjs, bits.mjs, ring.mjs, pipeline.mjs, cards.mjs, warp.mjs,
// descent.mjs, roofline.mjs, memory.mjs). As many parts at once as there are processors. With SCREENSHOTS, pictures of
// every page are left there, for people; that takes longer than all the rest.
// Elements that the book in FOLDER has, too, were tried there, and are not run again.
import { chromium } from 'playwright-core';
import { existsSync, mkdirSync, readFileSync, readdirSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join, resolve } from 'node:path';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { bitExplorer } from './bits.mjs';
import { ringAllReduce } from './ring.mjs';
import { cardCalculator } from './cards.mjs';
import { descentPlayground } from './descent.mjs';
import { digitCanvas } from './digits.mjs';
import { pipelinePlayer } from './pipeline.mjs';
import { memoryPlanner } from './memory.mjs';
import { rooflineExplorer } from './roofline.mjs';
import { warpViewer } from './warp.mjs';
import { gpuProduct, stepPlayer, withWebgpu } from './webgpu.mjs';

const { values: { tried }, positionals: [book, shots] } = parseArgs({ allowPositionals: true, options: { tried: { type: 'string' } } });
if (!book) {
  console.error('usage: node browser.mjs BOOK [SCREENSHOTS] [--tried FOLDER]');
  process.exit(2);
}
const served = /^https?:/.test(book);
const folder = served ? process.env.BOOK_FOLDER ?? '../../target/book' : book;
const base = served ? book.replace(/\/*$/, '/') : pathToFileURL(resolve(folder)).href + '/';
if (!existsSync(join(folder, 'index.html'))) {
  console.error(`${folder} holds no book; build it first: cargo run --release -- book build`);
  process.exit(2);
}
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
// Exemptions: rule, page, and why. The list only shrinks.
const EXEMPT = [];

/** The pages of the book in `folder`. */
function pagesOf(folder) {
  const pages = readdirSync(folder, { recursive: true }).filter((path) => path.endsWith('.html') && !/^doc[/\\]|(^|[/\\])toc\.html$/.test(path));
  return pages.map((path) => path.replaceAll('\\', '/')).sort();
}
const pages = pagesOf(folder);
// Without a server its links, which start at the root, lead nowhere.
const opened = served ? pages : pages.filter((page) => page !== '404.html');

const failures = [];
const fail = (where, what) => { failures.push(`${where}: ${what}`); console.error(`FAIL ${where}: ${what}`); };

const launch = {
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
    '--disable-component-update', '--disable-sync'],
};
const browser = await chromium.launch(launch);

async function open(options, page, watch = true) {
  const context = await browser.newContext(options);
  context.setDefaultTimeout(120_000); // a machine that is busy with builds is slow, not wrong
  const tab = await context.newPage();
  const where = `${page} ${options.colorScheme ?? 'light'} ${options.viewport?.width ?? ''}`;
  if (watch) {
    tab.on('console', (message) => ['error', 'warning'].includes(message.type()) && fail(where, `console: ${message.text()}`));
    tab.on('pageerror', (error) => fail(where, `script: ${error}`));
    tab.on('request', (request) => {
      const url = request.url();
      if (!url.startsWith(base) && !url.startsWith('data:') && !(served && url.startsWith(new URL(base).origin))) fail(where, `asks for ${url}`);
    });
    // What a page still asked for when it was left is no fault of it.
    tab.on('requestfailed', (request) => !request.url().includes('/__version') && request.failure()?.errorText !== 'net::ERR_ABORTED'
      && fail(where, `can't load ${request.url()}`));
  }
  await tab.addInitScript(() => { window.print = () => { window.printed = true; }; });
  await tab.goto(base + page, { waitUntil: 'load' });
  await tab.evaluate(() => document.fonts.ready);
  return { tab, where, close: () => context.close() };
}

// What there is to do: its name, and how.
const parts = [];
const part = (name, work) => parts.push([name, work]);

async function settled(tab) {
  await tab.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
}

async function shoot(tab, name) {
  if (!shots) return;
  mkdirSync(shots, { recursive: true });
  await tab.screenshot({ path: join(shots, name.replaceAll('/', '_') + '.png'), fullPage: true });
}

const source = (page) => readFileSync(join(folder, page), 'utf8');
const [DESKTOP, PHONE] = [{ width: 1280, height: 900 }, { width: 360, height: 740 }];

async function themed(tab, where, colorScheme) {
  const theme = await tab.evaluate(() => document.documentElement.className);
  if (!theme.includes(colorScheme === 'dark' ? 'navy' : 'light')) fail(where, `has the theme ${theme}`);
}

async function fits(tab, where) {
  const wide = await tab.evaluate(() => {
    const limit = document.documentElement.clientWidth;
    const inside = (element) => element.closest('.plot, .route, figure, .table-wrapper, pre, math, #mdbook-sidebar, .skip, [hidden]');
    const over = [...document.querySelectorAll('body *')].filter((e) => {
      const box = e.getBoundingClientRect();
      return box.width > 0 && box.right > limit + 1 && !inside(e) && getComputedStyle(e).visibility !== 'hidden';
    });
    return { scroll: document.documentElement.scrollWidth > limit, over: over.slice(0, 3).map((e) => e.outerHTML.slice(0, 120)) };
  });
  if (wide.scroll || wide.over.length) fail(where, `scrolls sideways: ${wide.over.join(' ')}`);
}

// A record's rows are all made alike, and there are thousands: axe, which takes long, looks at the first of each table.
const ROWS = 6;

async function accessible(tab, where, page) {
  await tab.evaluate(axe);
  await tab.evaluate((rows) => {
    for (const row of document.querySelectorAll(`table.values tbody > tr:nth-child(n + ${rows + 1})`)) row.remove();
  }, ROWS);
  const result = await tab.evaluate((rules) => globalThis.axe.run(document, { runOnly: rules, resultTypes: ['violations'], preload: false }), RULES);
  for (const { id, impact, nodes } of result.violations) {
    if (EXEMPT.some((exempt) => exempt.rule === id && exempt.page === page)) continue;
    for (const node of nodes.slice(0, 4)) fail(where, `axe ${impact} ${id}: ${node.target.join(' ')} (${node.any[0]?.message ?? node.all[0]?.message ?? ''})`);
  }
}

// The machine switch changes every number, and stays when the page is loaded again.
async function switches(tab, where) {
  const state = () => tab.evaluate(() => ({
    names: [...document.querySelectorAll('.machine-switch option')].map((o) => o.value),
    shown: [...new Set([...document.querySelectorAll('[data-machine]')].filter((e) => !e.hasAttribute('hidden')).map((e) => e.dataset.machine))],
    value: document.querySelector('.machine-switch select')?.value,
  }));
  const before = await state();
  if (before.shown.length !== 1 || before.shown[0] !== before.value) fail(where, `shows ${before.shown} at first`);
  // A machine that a reader sent in comes a moment later, with a script of its own.
  const arrives = (name) => tab.waitForFunction((name) => [...document.querySelectorAll('[data-machine]:not([hidden])')].every((e) => e.dataset.machine === name), name).catch(() => {});
  for (const other of before.names.filter((name) => name !== before.value)) {
    await tab.locator('.machine-switch select').first().selectOption(other);
    await arrives(other);
    const after = await state();
    if (after.shown.join() !== other) fail(where, `shows ${after.shown} after ${other} was chosen`);
    await tab.reload();
    await arrives(other);
    const again = await state();
    if (again.shown.join() !== other || again.value !== other) fail(where, `forgets ${other} when it is loaded again`);
  }
}

// Hints fold, with mouse and keyboard.
async function folds(tab, where) {
  const first = tab.locator('details').first();
  if (await first.evaluate((e) => e.open)) fail(where, 'a hint is open before it is asked for');
  await first.locator('summary').click();
  if (!(await first.evaluate((e) => e.open))) fail(where, 'a hint does not open');
  await first.locator('summary').press('Enter');
  if (await first.evaluate((e) => e.open)) fail(where, 'a hint does not close');
}

const measured = opened.filter((page) => page !== 'print.html' && /data-machines="[^"]*;/.test(source(page)));
if (!measured.length) console.log('no page has numbers of two machines: the switch was not tried');

// All four fit. axe, which takes long, looks at light on a desktop and dark on a phone: so it sees both themes
// and both widths of every page. What surrounds the text is the same on all, and axe sees all four of the first.
function look(page, colorScheme, viewport, other) {
  part(`${page} ${colorScheme} ${viewport.width}`, async () => {
    const { tab, where, close } = await open({ colorScheme, viewport, reducedMotion: 'reduce' }, page);
    const last = `${colorScheme} ${(other ?? viewport).width}`;
    const picture = ({ width }) => shoot(tab, `${page.replace(/\.html$/, '')}-${colorScheme}-${width}`);
    await themed(tab, where, colorScheme);
    await fits(tab, where);
    await picture(viewport);
    await accessible(tab, where, page);
    if (other) {
      await tab.setViewportSize(other);
      await tab.reload(); // whether the table of contents is open depends on the width at the start
      await tab.evaluate(() => document.fonts.ready);
      await themed(tab, `${where} to ${other.width}`, colorScheme);
      await fits(tab, `${where} to ${other.width}`);
      await picture(other);
    }
    if (last === 'dark 1280' && measured.includes(page)) await switches(tab, where);
    if (last === 'light 360' && source(page).includes('<details')) await folds(tab, where);
    await close();
  });
}
for (const page of opened.filter((page) => page !== 'print.html')) {
  const first = page === 'index.html';
  look(page, 'light', DESKTOP, first ? null : PHONE);
  look(page, 'dark', PHONE, first ? null : DESKTOP);
  if (first) {
    look(page, 'light', PHONE);
    look(page, 'dark', DESKTOP);
  }
}

// Search finds what stands on a page, and its result leads there.
part('search', async () => {
  const { tab, where, close } = await open({ viewport: DESKTOP }, 'index.html');
  // The titles of pages, which are there to be found.
  const titles = opened.filter((page) => !/^(records|404|print|index)/.test(page)).slice(0, 5).map((page) => {
    const title = source(page).match(/<main>[^]*?<h1[^>]*>(?:<a[^>]*>)?([^<]*)/);
    return [title?.[1] ?? '', page];
  });
  for (const [query, leads] of titles) {
    if (await tab.locator('#mdbook-search-wrapper').evaluate((e) => e.classList.contains('hidden'))) await tab.keyboard.press('s');
    await tab.locator('#mdbook-searchbar').fill(query);
    await tab.locator('#mdbook-searchbar').press('End');
    try {
      await tab.waitForFunction(() => document.querySelectorAll('#mdbook-searchresults li > a').length > 0, null, { timeout: 10000 });
      const links = await tab.locator('#mdbook-searchresults li > a').evaluateAll((all) => all.map((a) => a.getAttribute('href')));
      if (!links.some((link) => link.includes(leads))) fail(where, `search for ${query} gives ${links.join(', ')}`);
    } catch { fail(where, `search finds no ${query}`); }
    await tab.locator('#mdbook-searchbar').fill('');
  }
  await close();
});

// The theme can be chosen, and only among the book's own.
part('the choice of a theme', async () => {
  const { tab, where, close } = await open({ viewport: DESKTOP }, 'index.html');
  await tab.locator('#mdbook-theme-toggle').click();
  const themes = await tab.locator('#mdbook-theme-list button').allInnerTexts();
  if (themes.join() !== 'Auto,Light,Dark') fail(where, `offers the themes ${themes}`);
  await tab.locator('#mdbook-theme-navy').click();
  await tab.reload();
  if (!(await tab.evaluate(() => document.documentElement.classList.contains('navy')))) fail(where, 'forgets the theme');
  await close();
});

// The table of contents opens on a phone, with the keyboard too.
part('the table of contents', async () => {
  const { tab, where, close } = await open({ viewport: PHONE, reducedMotion: 'reduce' }, 'index.html');
  await tab.locator('#mdbook-sidebar-toggle').focus();
  await tab.keyboard.press('Enter');
  await settled(tab);
  if (!(await tab.locator('#mdbook-sidebar a').first().isVisible())) fail(where, 'the table of contents does not open');
  await shoot(tab, 'sidebar-360');
  await close();
});

// Every page once more, to be printed: it fits a screen, and on paper nothing is folded or cut.
part('print.html', async () => {
  const { tab, where, close } = await open({ viewport: DESKTOP, reducedMotion: 'reduce' }, 'print.html');
  await themed(tab, where, 'light');
  await fits(tab, where);
  await shoot(tab, 'print-light-1280');
  await tab.setViewportSize({ width: 794, height: 1123 });
  await tab.waitForFunction(() => window.printed === true, null, { timeout: 10000 }).catch(() => fail(where, 'does not print by itself'));
  await tab.emulateMedia({ media: 'print' });
  const state = await tab.evaluate(() => ({
    closed: document.querySelectorAll('details:not([open])').length,
    headings: document.querySelectorAll('main h1').length,
    cut: [...document.querySelectorAll('main pre, main table, main svg')].filter((e) => !e.closest('[hidden]') && e.getBoundingClientRect().right > document.documentElement.clientWidth + 1).map((e) => e.outerHTML.slice(0, 100)),
  }));
  if (state.closed) fail(where, `${state.closed} hints stay folded`);
  if (state.headings < 3) fail(where, `has ${state.headings} pages`);
  if (state.cut.length) fail(where, `cuts ${state.cut.slice(0, 3).join(' ')}`);
  await shoot(tab, 'print-paper');
  await close();
});

// Without JavaScript: one machine's numbers, and the text.
for (const colorScheme of ['light', 'dark']) {
  part(`without JavaScript ${colorScheme}`, async () => {
    const { tab, where, close } = await open({ viewport: DESKTOP, javaScriptEnabled: false, colorScheme }, measured[0] ?? 'index.html', false);
    if (!(await tab.locator('main h1').first().isVisible())) fail(where, 'needs JavaScript to be read');
    for (const hidden of await tab.locator('[data-machine][hidden]').all()) {
      if (await hidden.isVisible()) { fail(where, 'shows two machines without JavaScript'); break; }
    }
    await shoot(tab, `no-script-${colorScheme}`);
    await close();
  });
}

// The elements that run something.
const has = (tag, folder, pages) => pages.filter((page) => page !== 'print.html' && readFileSync(join(folder, page), 'utf8').includes(`<${tag}`));
const holds = (tag) => (tried && has(tag, tried, pagesOf(tried)).length ? [] : has(tag, folder, opened));
for (const page of holds('digit-canvas')) part(`${page}: <digit-canvas>`, () => digitCanvas({ open, page, axe, rules: RULES, shots, fail }));
for (const page of holds('bit-explorer')) part(`${page}: <bit-explorer>`, () => bitExplorer({ open, page, axe, rules: RULES, shots, fail }));
for (const page of holds('ring-all-reduce')) part(`${page}: <ring-all-reduce>`, () => ringAllReduce({ open, page, axe, rules: RULES, shots, fail }));
for (const page of holds('pipeline-player')) part(`${page}: <pipeline-player>`, () => pipelinePlayer({ open, page, axe, rules: RULES, shots, fail }));
for (const page of holds('card-calculator')) part(`${page}: <card-calculator>`, () => cardCalculator({ open, page, axe, rules: RULES, shots, fail }));
for (const page of holds('descent-playground')) part(`${page}: <descent-playground>`, () => descentPlayground({ open, page, axe, rules: RULES, shots, fail }));
for (const page of holds('warp-viewer')) part(`${page}: <warp-viewer>`, () => warpViewer({ open, page, axe, rules: RULES, shots, fail }));
for (const page of holds('roofline-explorer')) part(`${page}: <roofline-explorer>`, () => rooflineExplorer({ open, page, axe, rules: RULES, shots, fail }));
for (const page of holds('memory-planner')) part(`${page}: <memory-planner>`, () => memoryPlanner({ open, page, axe, rules: RULES, shots, fail }));
for (const page of holds('step-player')) part(`${page}: <step-player>`, () => stepPlayer({ open, page, fail }));
const webgpu = holds('gpu-product').length ? await withWebgpu(launch) : null;
for (const page of holds('gpu-product')) parts.push(...gpuProduct({ browser: webgpu, base, page, axe, rules: RULES, shots, fail }));

// The last parts are the longest: they come first, so that no processor waits for one at the end.
const waiting = parts.reverse();
async function lane() {
  for (let next = waiting.shift(); next; next = waiting.shift()) {
    const [name, work] = next;
    const begun = performance.now();
    await work().catch((error) => fail(name, `stops: ${error.message}`));
    console.log(`${((performance.now() - begun) / 1000).toFixed(1).padStart(6)} s  ${name}`);
  }
}
await Promise.all(Array.from({ length: Math.min(availableParallelism(), 8) }, lane));

await webgpu?.close();
await browser.close();
console.log(failures.length ? `${failures.length} failures` : `${opened.length} pages are fine`);
process.exit(failures.length ? 1 : 0);
