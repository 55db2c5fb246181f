// The built book in a real browser.
//
//   node browser.mjs BOOK [SCREENSHOTS] [--tried FOLDER] [--only WORDS]
//
// BOOK is the folder of the book. Every page is looked at in light or in dark, on a desktop and on a phone: no message on the
// console, no request to the outside, nothing that axe finds wrong, no sideways scroll, even with a reader's own spacing of
// text; with each machine's numbers, its charts can be read (charts.mjs); and no more to fetch, no more elements and no more
// movement than budget.json allows (budget.mjs). Of a machine's many pages of records the first two. Then: search for every
// chapter's terms, what is asked first (ask.mjs), a chart's values, hints, print, without JavaScript, by keyboard, and the
// elements that run something (widget.mjs). One part more at once than there are processors, for each waits now and then. With
// SCREENSHOTS, screenshots of every page are left there; that takes longer than all the rest. Elements that the book in FOLDER
// has, too, were tried there, and are not run again. With --only, the parts with WORDS in their names are all that runs.
import { AsyncLocalStorage } from 'node:async_hooks';
import { existsSync, mkdirSync, readFileSync, readdirSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join, resolve } from 'node:path';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { askFirst, askPowers } from './ask.mjs';
import { budgets, formulas, languages, records } from './budget.mjs';
import { charts, values } from './charts.mjs';
import { launch } from './launch.mjs';
import { cards, lost, terms } from './reference.mjs';
import { laws } from './widget.mjs';

const { values: { tried, only }, positionals: [folder, shots] } = parseArgs({
  allowPositionals: true,
  options: { tried: { type: 'string' }, only: { type: 'string' } },
});
if (!folder || !existsSync(join(folder, 'index.html'))) {
  console.error('usage: node browser.mjs BOOK [SCREENSHOTS] [--tried FOLDER] [--only WORDS], where BOOK is a built book: cargo run -- book build');
  process.exit(2);
}
const files = pathToFileURL(resolve(folder)).href + '/';
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];

/** The pages of the book in `folder`, without those that only lead on to another one, and without the chapters' for paper. */
function pagesOf(folder) {
  const pages = readdirSync(folder, { recursive: true }).filter((path) => path.endsWith('.html') && !/^doc[/\\]|(^|[/\\])toc\.html$|[/\\]print\.html$/.test(path));
  const leadsOn = (path) => readFileSync(join(folder, path), 'utf8').includes('http-equiv="refresh"');
  return pages.filter((path) => !leadsOn(path)).map((path) => path.replaceAll('\\', '/')).sort();
}
const pages = pagesOf(folder);
// Without a server the links of 404.html, which start at the root, lead nowhere. Pages of runs are all made alike.
const ofRun = (page) => page.match(/^records\/([^/]+)\/[^/]+\.html$/)?.[1];
const alike = (page) => !ofRun(page) || pages.filter((other) => ofRun(other) === ofRun(page)).indexOf(page) < 2;
const opened = pages.filter((page) => page !== '404.html' && alike(page));

const failures = [];
const fail = (where, what) => { failures.push(`${where}: ${what}`); console.error(`FAIL ${where}: ${what}`); };

const browser = await launch();

// A part looks at one page at a time: `close` closes the last that it has opened.
const doing = new AsyncLocalStorage();

/**
 * Opens a page; `watch` is whether what it logs, fetches and lacks is a fault, `init` runs before its scripts, `host` (budget.mjs)
 * serves it to somebody who sees the book for the first time, and `cost()` is what it cost then; else it is a file. `go` leads to
 * another page, as if it were the first; the tab is closed when its part ends, or opens another, unless it `stays`.
 */
async function open({ watch, init, host, name, stays, ...options }, page) {
  const base = host?.base ?? files;
  const context = await browser.newContext(options);
  const part = doing.getStore();
  await part.close?.();
  part.close = stays ? undefined : () => context.close();
  context.setDefaultTimeout(400_000); // a machine that is busy with builds is slow, not wrong
  const tab = await context.newPage();
  const one = { tab };
  if (options.javaScriptEnabled !== false) {
    tab.on('pageerror', (error) => fail(one.where, `script: ${error}`));
    tab.on('request', (request) => {
      if (!request.url().startsWith(base) && !request.url().startsWith('data:')) fail(one.where, `asks for ${request.url()}`);
    });
  }
  if (options.javaScriptEnabled !== false && watch !== false) {
    tab.on('console', (message) => ['error', 'warning'].includes(message.type()) && fail(one.where, `console: ${message.text()}`));
    // What a page still asked for when it was left is no fault of it.
    tab.on('requestfailed', (request) => request.failure()?.errorText !== 'net::ERR_ABORTED' && fail(one.where, `can't load ${request.url()}`));
  }
  if (init) await tab.addInitScript(init);
  await tab.addInitScript(() => { window.print = () => { window.printed = true; }; });
  one.cost = await host?.watch(tab);
  one.go = async (page, { colorScheme = 'light', viewport }) => {
    one.where = `${page} ${name ?? `${colorScheme} ${viewport?.width ?? ''}`}`;
    await tab.setExtraHTTPHeaders({});
    await tab.goto(base + page, { waitUntil: 'load' });
    await tab.evaluate(() => document.fonts.ready);
  };
  await one.go(page, options);
  return one;
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
const hasElements = (page) => /<main[^>]*>[^]*?<[a-z]+-[a-z-]+[\s>]/.test(source(page));
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

/**
 * On a phone nothing is cut: what is wider than the page scrolls under an edge that fades, and of a table the caption
 * and the first column stay.
 */
async function whole(tab, where) {
  const look = () => tab.evaluate(() => {
    const name = (e) => e.outerHTML.slice(0, 100);
    const shown = (e) => e.clientWidth > 0 && e.checkVisibility();
    const out = [];
    const fades = (e) => e.matches('.more-start, .more-end, pre:not(.output), textarea, .aloud');
    for (const e of document.querySelectorAll('main *')) {
      if (!shown(e) || e.closest('svg') || getComputedStyle(e).overflowX === 'visible') continue;
      if (e.scrollWidth > e.clientWidth + 1 && !fades(e)) out.push(`no edge fades: ${name(e)}`);
    }
    for (const svg of document.querySelectorAll('main .plot svg, main figure svg')) {
      if (!svg.checkVisibility() || svg.closest('.more-start, .more-end')) continue;
      const frame = svg.getBoundingClientRect();
      if (frame.right > document.documentElement.clientWidth + 1) out.push(`a drawing is cut: ${name(svg)}`);
    }
    for (const box of document.querySelectorAll('.table-wrapper')) {
      if (!shown(box)) continue;
      const { left, right, width } = box.getBoundingClientRect();
      const caption = box.querySelector('caption')?.getBoundingClientRect();
      if (caption && (caption.left < left - 1 || caption.right > right + 1)) out.push(`a caption is cut: ${name(box)}`);
      if (box.scrollWidth <= box.clientWidth + 1) continue;
      const first = box.querySelector('tbody tr > :first-child');
      box.scrollLeft = 50;
      const at = first.getBoundingClientRect();
      if (at.width > 0.6 * width || Math.abs(at.left - left) > 2) out.push(`the first column does not stay: ${name(box)}`);
      box.scrollLeft = 0;
    }
    const pen = document.createElement('canvas').getContext('2d');
    for (const widget of document.querySelectorAll('main *')) {
      if (!widget.shadowRoot || !shown(widget)) continue;
      const { right } = widget.getBoundingClientRect();
      for (const e of widget.shadowRoot.querySelectorAll('*')) {
        if (e.closest('.aloud') || !e.checkVisibility()) continue;
        const box = e.getBoundingClientRect();
        if (box.width > 2 && box.right > right + 1) out.push(`<${widget.localName}> is cut: ${name(e)}`);
        if (e.localName !== 'select') continue;
        const style = getComputedStyle(e);
        pen.font = style.font;
        const room = e.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight) - 18;
        const longest = [...e.options].filter((one) => pen.measureText(one.textContent).width > room);
        if (longest.length) out.push(`<${widget.localName}> cuts “${longest[0].textContent}”`);
      }
    }
    return out;
  });
  // The page marks its edges in a frame of its own, which comes late where all processors are busy.
  let cut = await look();
  for (let tries = 0; cut.length && tries < 10; tries += 1) {
    await tab.waitForTimeout(200);
    cut = await look();
  }
  for (const what of cut.slice(0, 4)) fail(where, what);
}

const WIDER = { width: 390, height: 844 };

/** Both widths of a phone. */
async function phones(tab, where) {
  await whole(tab, where);
  await tab.setViewportSize(WIDER);
  await settled(tab);
  await fits(tab, `${where} to ${WIDER.width}`);
  await whole(tab, `${where} to ${WIDER.width}`);
  await tab.setViewportSize(PHONE);
  await settled(tab);
}

// What is made alike is for axe, which takes long, there once: of a record's thousands of rows and of the table of contents the
// first stay, of the words of a page's listings one of each colour, and formulas after the third are a text. Of a drawing it
// knows the words that stand for it, and its links.
function thin(whole) {
  const alike = ['table.values tbody > tr:nth-child(n + 7)', 'svg:not(:has(a)) > :not(title, desc)'];
  if (!whole) alike.push('#mdbook-sidebar li:nth-child(n + 4):not(:has(.active))');
  for (const one of document.querySelectorAll(alike.join())) one.remove();
  const seen = new Set();
  for (const word of document.querySelectorAll('pre code span')) {
    if (seen.has(word.className)) word.replaceWith(...word.childNodes);
    else if (word.checkVisibility()) seen.add(word.className);
  }
  for (const formula of [...document.querySelectorAll('math')].slice(3)) formula.replaceChildren(formula.textContent);
}

async function accessible(tab, where, page) {
  // Listings have their colours only when they are nearly seen: all are, on a page that is drawn small.
  await tab.evaluate(() => { document.body.style = `transform: scale(${innerHeight / document.documentElement.scrollHeight}); transform-origin: 0 0`; });
  await settled(tab);
  await tab.evaluate(() => document.body.removeAttribute('style'));
  await tab.evaluate(axe);
  await tab.evaluate(thin, page === 'index.html');
  const result = await tab.evaluate((rules) => globalThis.axe.run(document, { runOnly: rules, resultTypes: ['violations'], preload: false }), RULES);
  for (const { id, impact, nodes } of result.violations) {
    for (const node of nodes.slice(0, 4)) fail(where, `axe ${impact} ${id}: ${node.target.join(' ')} (${node.any[0]?.message ?? node.all[0]?.message ?? ''})`);
  }
}

// With the spacing that a reader may ask for (WCAG 2.2, 1.4.12) the text still fits.
const SPACED = `* { line-height: 1.5 !important; letter-spacing: 0.12em !important; word-spacing: 0.16em !important; }
  p { margin-bottom: 2em !important; }`;

async function spaced(tab, where) {
  const style = await tab.addStyleTag({ content: SPACED });
  await settled(tab);
  await fits(tab, `${where} with wide spacing`);
  await style.evaluate((e) => e.remove());
}

const machines = (tab) => tab.evaluate(() => {
  const value = document.querySelector('.bar-machine select')?.value ?? '';
  const whose = (e) => (e.dataset.also?.split(' ').includes(value) ? value : e.dataset.machine);
  const names = [...document.querySelectorAll('.bar-machine option')].map((o) => o.value);
  return { names, value, shown: [...new Set([...document.querySelectorAll('[data-machine]:not([hidden])')].map(whose))].join() };
});

/** Chooses a machine, if one is given, and waits for it: one that a reader sent in comes later, with a script of its own. */
const arrives = (tab, chosen) => tab.evaluate(async (chosen) => {
  const select = document.querySelector('.bar-machine select');
  if (chosen) Object.assign(select, { value: chosen }).dispatchEvent(new Event('change', { bubbles: true }));
  const whose = (e) => [e.dataset.machine, ...(e.dataset.also ?? '').split(' ')];
  for (let tries = 0; tries < 2000; tries += 1) {
    if ([...document.querySelectorAll('[data-machine]:not([hidden])')].every((e) => whose(e).includes(select.value))) return;
    await new Promise((done) => setTimeout(done, 20));
  }
}, chosen);

/**
 * The machine switch changes every number, and the charts can be read with those of each. What stands in for a machine that has
 * none counts as that machine's.
 */
async function switches(tab, where, page) {
  const { names, value, shown } = await machines(tab);
  if (measured.includes(page) && (!shown || shown !== value)) fail(where, `shows ${shown} at first`);
  for (const other of names.filter((name) => name !== value)) {
    await arrives(tab, other);
    const after = await machines(tab);
    if (after.shown !== other) fail(where, `shows ${after.shown} after ${other} was chosen`);
  }
  if (charted.includes(page)) await charts({ tab, where, fail });
}

async function reload(tab) {
  await tab.setExtraHTTPHeaders({});
  await tab.reload();
  await tab.evaluate(() => document.fonts.ready);
}

/** The machine that was chosen is still there when the page is loaded again. */
async function remembers(tab, where) {
  const { value } = await machines(tab);
  await reload(tab);
  await arrives(tab);
  const again = await machines(tab);
  if (again.shown !== value || again.value !== value) fail(where, `forgets ${value} when it is loaded again`);
}

// Hints are folded, and on a page of each chapter open and close by mouse and keyboard.
const folding = opened.filter((page) => source(page).includes('<details'));
async function folds(tab, where, page) {
  const first = tab.locator('details').first();
  if (await first.evaluate((e) => e.open)) fail(where, 'a hint is open before it is asked for');
  const chapter = page.split('/')[0];
  if (page !== folding.find((other) => other.split('/')[0] === chapter)) return;
  await first.locator('summary').click();
  if (!(await first.evaluate((e) => e.open))) fail(where, 'a hint does not open');
  await first.locator('summary').press('Enter');
  if (await first.evaluate((e) => e.open)) fail(where, 'a hint does not close');
}

const charted = opened.filter((page) => page !== 'print.html' && source(page).includes('<svg role="img"') && source(page).includes('class="chart'));
const measured = opened.filter((page) => page !== 'print.html' && /data-machines="[^"]*;/.test(source(page)));
// Of each chapter one page is loaded again with another machine.
const remembering = measured.filter((page, at) => page.split('/')[0] !== measured[at - 1]?.split('/')[0]);
if (!measured.length && !only) console.log('no page has numbers of two machines: the switch was not tried');

// What pages cost is known from the first time that they are loaded. print.html is all pages at once, for paper.
const sites = opened.filter((page) => page !== 'print.html');
const host = tried ? undefined : await budgets({ folder, fail });
const WIDE = [820, 1280, 1400];

// Tabs that have looked at a page: a new one would have to compile all scripts, and axe, once more.
const idle = [];

// Both widths fit, in one theme or both, and charts can be read in both. axe, which takes long, looks at light on a desktop or
// dark on a phone: the pages with elements of ours in both, the others, which have the same parts, in turns; of the first page
// it sees all four.
function look(page, colorScheme, viewport, other) {
  part(`${page} ${colorScheme} ${viewport.width}`, async () => {
    const options = { colorScheme, viewport, host };
    const one = idle.pop() ?? await open({ host, stays: true }, page);
    const { tab, cost } = one;
    await tab.evaluate(() => { localStorage.clear(); sessionStorage.clear(); });
    await tab.setViewportSize(viewport);
    await tab.emulateMedia({ colorScheme, reducedMotion: 'no-preference' });
    await one.go(page, options);
    const { where } = one;
    const first = page === 'index.html';
    const anew = (viewport) => async () => (await open({ ...options, viewport }, page)).cost();
    const see = async (viewport, where, axe) => {
      await themed(tab, where, colorScheme);
      await fits(tab, where);
      await shoot(tab, `${page.replace(/\.html$/, '')}-${colorScheme}-${viewport.width}`);
      if (viewport === PHONE) await phones(tab, where);
      const { value } = await machines(tab);
      if (measured.includes(page) || charted.includes(page)) await switches(tab, where, page);
      if (!axe) return;
      if (value) await arrives(tab, value);
      await accessible(tab, where, page); // last, for it leaves things out
    };
    await host?.judge(page, viewport.width, await cost(), anew(viewport));
    await tab.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    await see(viewport, where, true);
    if (other) {
      await tab.setViewportSize(other);
      await tab.evaluate(() => localStorage.clear());
      await reload(tab); // whether the table of contents is open depends on the width at the start
      await host?.judge(page, other.width, await cost(), anew(other));
      await see(other, `${where} to ${other.width}`, first);
      if (remembering.includes(page)) await remembers(tab, where);
      if (folding.includes(page)) await folds(tab, where, page);
      await spaced(tab, where);
    }
    idle.push(one);
  });
}
for (const [at, page] of sites.entries()) {
  const first = page === 'index.html';
  const desktop = { ...DESKTOP, width: WIDE[at % WIDE.length] };
  if (first || at % 2) look(page, 'light', desktop, PHONE);
  if (first || !(at % 2)) look(page, 'dark', PHONE, desktop);
}
part('records', async () => records({ folder, fail }));
part('formulas', async () => formulas({ folder, pages: opened, fail }));
part('languages of listings', () => languages({ open, folder, pages: opened, fail }));

// The titles of pages, and of each section a term of its own that few pages name: what people look for. A word that every
// other page has leads to those that have it in a heading.
const FEW = 10;

function queries() {
  const text = (html) => html.replace(/<[^>]*>/g, '').replace(/&amp;/g, '&').replace(/&#(?:x27|39);/g, "'").trim();
  const sections = opened.filter((page) => /^\d\d-/.test(page));
  const terms = new Map(sections.map((page) => [page, new Map([...source(page).matchAll(/<a class="term"(?: id="[^"]*")? href="[^"]*#([^"]+)"[^>]*>(.*?)<\/a>/g)].map(([, key, name]) => [key, text(name)]).reverse())]));
  const uses = (key) => sections.filter((page) => terms.get(page).has(key)).length;
  const texts = opened.map((page) => text(source(page)).toLowerCase());
  const rare = (name) => texts.filter((words) => words.includes(name.toLowerCase())).length <= FEW;
  for (const chapter of new Set(sections.map((page) => page.split('/')[0]))) {
    if (!sections.some((page) => page.startsWith(chapter) && terms.get(page).size)) fail(chapter, 'links no term to the glossary');
  }
  return opened.filter((page) => !/^(records|404|print|index)/.test(page)).flatMap((page) => {
    const title = text(source(page).match(/<main[^>]*>[^]*?<h1[^>]*>([^]*?)<\/h1>/)?.[1] ?? '');
    const own = [...terms.get(page) ?? []].filter(([key, name]) => uses(key) === 1 && rare(name)).slice(0, 1).map(([, name]) => name);
    return [title, ...own].map((query) => [query, page]);
  });
}

// Search finds what is on a page, and its result leads there.
part('search', async () => {
  const { tab, where } = await open({ viewport: DESKTOP }, 'index.html');
  const asked = queries();
  await tab.keyboard.press('s');
  await tab.locator('#mdbook-searchbar').fill(asked[0][0]);
  await tab.locator('#mdbook-searchbar').press('End');
  await tab.locator('#mdbook-searchresults li > a').first().waitFor();
  const found = await tab.evaluate((all) => {
    history.pushState = history.replaceState = () => {}; // a browser allows so many in a second
    const bar = document.getElementById('mdbook-searchbar');
    return all.map(([query]) => {
      bar.value = query;
      bar.dispatchEvent(new Event('keyup'));
      return [...document.querySelectorAll('#mdbook-searchresults li > a')].map((a) => a.getAttribute('href'));
    });
  }, asked);
  for (const [at, [query, leads]] of asked.entries()) {
    if (!found[at].some((link) => link.includes(leads))) fail(where, `search for ${query} (${leads}) gives ${found[at].join(', ') || 'nothing'}`);
  }
});

// A prediction before its answer, on the page that asks for the most numbers.
const asks = (page) => source(page).split('<span data-ask=').length - 1;
const asking = opened.filter((page) => page !== 'print.html' && asks(page)).sort((a, b) => asks(b) - asks(a))[0];
if (asking) part(`${asking}: ask first`, () => askFirst({ open, page: asking, axe, rules: RULES, shots, fail }));
const powers = opened.find((page) => page !== 'print.html' && /<span data-ask=(?:(?!<\/a>)[^])*?<data[^>]*>(?:[^<]*×10|−)/.test(source(page)));
if (powers) part(`${powers}: ask first, powers of ten`, () => askPowers({ open, page: powers, fail }));

// What a page refers to, beside it. A page with a term, a number and a source has all there is.
const refers = opened.find((page) => /^\d\d-/.test(page) && ['class="term"', 'class="measured"', 'class="footnote-reference"'].every((mark) => source(page).includes(mark)));
if (refers) part(`${refers}: cards`, () => cards({ open, page: refers, fail, shots }));
if (!tried && opened.includes('glossary.html')) part('search for terms', () => terms({ open, fail, shots }));
if (!tried) part('lost', () => lost({ browser, folder, fail }));

// The charts of one page are tried.
const scaled = charted.find((page) => /<div class="plot">(?:(?!<\/div>).)*<template>/.test(source(page)));
if (scaled) part(`${scaled}: values of charts`, () => values({ open, page: scaled, fail, shots }));

// Tab leads from the text before each element that runs something into it, and out of it again.
const runs = opened.filter((page) => page !== 'print.html' && hasElements(page));
for (const page of runs) {
  part(`${page} by keyboard`, async () => {
    const { tab, where } = await open({ viewport: DESKTOP, reducedMotion: 'reduce' }, page);
    const count = await tab.evaluate(() => {
      globalThis.elements = [...document.querySelectorAll('main *')].filter((e) => e instanceof HTMLElement && e.localName.includes('-'));
      return globalThis.elements.length;
    });
    for (let at = 0; at < count; at += 1) {
      // An element without a control (one that found no WebGPU) has nothing to reach.
      const [tag, controls] = await tab.evaluate((at) => {
        const element = globalThis.elements[at];
        if (!customElements.get(element.localName)) return [element.localName];
        const all = (element.shadowRoot ?? element).querySelectorAll('button, input, select, textarea, summary, a[href], [tabindex="0"]');
        const before = document.createElement('span');
        before.tabIndex = -1;
        element.before(before);
        before.focus();
        return [element.localName, [...all].filter((e) => !e.disabled && e.checkVisibility()).length];
      }, at);
      if (controls === undefined) fail(where, `<${tag}> has no script`);
      if (!controls) continue;
      const inside = () => tab.evaluate((at) => globalThis.elements[at].contains(document.activeElement), at);
      await tab.keyboard.press('Tab');
      if (!(await inside())) fail(where, `Tab does not lead into <${tag}>`);
      // A box that scrolls is a stop, too.
      for (let press = 0; press <= controls + 10 && (await inside()); press += 1) await tab.keyboard.press('Tab');
      if (await inside()) fail(where, `Tab does not lead out of <${tag}>`);
    }
  });
}

// The arrow keys scroll what has the focus, and turn the page where nothing does.
const scrolls = opened.find((page) => /^\d\d-/.test(page) && /(<th scope="col">[^<]*<\/th>){6}/.test(source(page)));
if (scrolls) part(`${scrolls}: arrow keys`, async () => {
  const { tab, where } = await open({ viewport: PHONE, reducedMotion: 'reduce' }, scrolls);
  const address = tab.url();
  for (const selector of ['.table-wrapper[tabindex]', 'pre > code[tabindex]']) {
    const box = tab.locator(selector).filter({ visible: true }).first();
    if (!await box.count()) { fail(where, `has no ${selector} that scrolls`); continue; }
    await box.focus();
    for (let press = 0; press < 3; press += 1) await tab.keyboard.press('ArrowRight');
    await tab.waitForFunction((box) => box.scrollLeft > 0, await box.elementHandle(), { timeout: 5000 }).catch(() => fail(where, `ArrowRight does not scroll ${selector}`));
    if (tab.url() !== address) { fail(where, `ArrowRight on ${selector} turns the page`); await tab.goto(address); }
  }
  // The heading of a fold keeps them, too.
  const fold = tab.locator('main summary').filter({ visible: true }).first();
  if (await fold.count()) {
    await tab.evaluate(() => document.addEventListener('keydown', () => { globalThis.passedOn = true; }));
    await fold.focus();
    await tab.keyboard.press('ArrowRight');
    if (tab.url() !== address || await tab.evaluate(() => globalThis.passedOn)) { fail(where, 'ArrowRight on a fold turns the page'); await tab.goto(address); }
  }
  await tab.evaluate(() => document.activeElement.blur());
  await Promise.all([tab.waitForURL((url) => String(url) !== address, { timeout: 10000 }).catch(() => fail(where, 'ArrowRight turns no page')), tab.keyboard.press('ArrowRight')]);
});

// The theme can be chosen, and only among the book's own.
part('the choice of a theme', async () => {
  const { tab, where } = await open({ viewport: DESKTOP }, 'index.html');
  await tab.locator('#mdbook-theme-toggle').click();
  const themes = await tab.locator('#mdbook-theme-list button').allInnerTexts();
  if (themes.join() !== 'Auto,Light,Dark') fail(where, `offers the themes ${themes}`);
  await tab.locator('#mdbook-theme-navy').click();
  await tab.reload();
  if (!(await tab.evaluate(() => document.documentElement.classList.contains('navy')))) fail(where, 'forgets the theme');
});

// The table of contents opens on a phone, also with the keyboard.
part('the table of contents', async () => {
  const { tab, where } = await open({ viewport: PHONE, reducedMotion: 'reduce' }, 'index.html');
  await tab.locator('#mdbook-sidebar-toggle').focus();
  await tab.keyboard.press('Enter');
  await settled(tab);
  if (!(await tab.locator('#mdbook-sidebar a').first().isVisible())) fail(where, 'the table of contents does not open');
  await shoot(tab, 'sidebar-360');
});

// Every page once more, to be printed, and every page of a chapter: it fits a screen, and on paper nothing is folded or cut.
const chapter = opened.find((page) => /^\d\d-/.test(page))?.split('/')[0];
for (const printed of ['print.html', `${chapter}/print.html`]) part(printed, async () => {
  const { tab, where } = await open({ viewport: DESKTOP, reducedMotion: 'reduce' }, printed);
  await themed(tab, where, 'light');
  await fits(tab, where);
  await shoot(tab, 'print-light-1280');
  await tab.setViewportSize({ width: 794, height: 1123 });
  await tab.waitForFunction(() => window.printed === true).catch(() => fail(where, 'does not print by itself'));
  await tab.emulateMedia({ media: 'print' });
  const state = await tab.evaluate(() => ({
    closed: document.querySelectorAll('details:not([open])').length,
    headings: [...document.querySelectorAll('main h1')].map((h1) => h1.textContent.trim()),
    cut: [...document.querySelectorAll('main pre, main table, main svg')].filter((e) => !e.closest('[hidden]') && e.getBoundingClientRect().right > document.documentElement.clientWidth + 1).map((e) => e.outerHTML.slice(0, 100)),
  }));
  if (state.closed) fail(where, `${state.closed} hints stay folded`);
  if (state.headings.length < 3) fail(where, `has ${state.headings.length} pages`);
  const all = printed === 'print.html' ? opened : opened.filter((page) => page.startsWith(chapter));
  for (const page of all.filter((page) => !/^(print\.html|records\/.+|404\.html|toc\.html)$/.test(page))) {
    const title = source(page).match(/<main[^>]*>[^]*?<h1[^>]*>([^]*?)<\/h1>/)?.[1].replace(/<[^>]*>/g, '').replaceAll('&amp;', '&').trim();
    if (title && !state.headings.includes(title)) fail(where, `lacks ${page}, "${title}"`);
  }
  if (state.cut.length) fail(where, `cuts ${state.cut.slice(0, 3).join(' ')}`);
  await shoot(tab, 'print-paper');
});

// Without JavaScript: one machine's numbers, and the text.
for (const colorScheme of ['light', 'dark']) {
  part(`without JavaScript ${colorScheme}`, async () => {
    const { tab, where } = await open({ viewport: DESKTOP, javaScriptEnabled: false, colorScheme }, measured[0] ?? 'index.html');
    if (!(await tab.locator('main h1').first().isVisible())) fail(where, 'needs JavaScript to be read');
    for (const hidden of await tab.locator('[data-machine][hidden]').all()) {
      if (await hidden.isVisible()) { fail(where, 'shows two machines without JavaScript'); break; }
    }
    await shoot(tab, `no-script-${colorScheme}`);
  });
}

// The elements that run something, each as it is written for the first time: of pages that have the same, the parts above see
// both.
function holds(tag) {
  const tags = (folder, page) => (page === 'print.html' ? [] : readFileSync(join(folder, page), 'utf8').match(new RegExp(`<${tag}(?: [^>]*)?>`, 'g')) ?? []);
  const seen = new Set(tried ? pagesOf(tried).flatMap((page) => tags(tried, page)) : []);
  if (seen.size) return [];
  return opened.filter((page) => {
    const own = tags(folder, page).filter((one) => !seen.has(one));
    own.forEach((one) => seen.add(one));
    return own.length;
  });
}
const context = { open, axe, rules: RULES, shots, fail };
for (const file of readdirSync(new URL('widgets', import.meta.url))) {
  const [tag, own] = [file.replace('.mjs', ''), await import(`./widgets/${file}`)];
  for (const page of holds(tag)) part(`${page}: <${tag}>`, () => laws({ ...context, tag, own, page }));
}

// The last parts are the longest: they come first, so that no processor waits for one at the end.
const waiting = parts.filter(([name]) => !only || name.includes(only)).reverse();
async function lane() {
  for (let next = waiting.shift(); next; next = waiting.shift()) {
    const [name, work] = next;
    const begun = performance.now();
    await doing.run({}, async () => {
      await work().catch((error) => fail(name, `stops: ${error.message}`));
      await doing.getStore().close?.();
    });
    console.log(`${((performance.now() - begun) / 1000).toFixed(1).padStart(6)} s  ${name}`);
  }
}
await Promise.all(Array.from({ length: Math.min(availableParallelism() + 1, 8) }, lane));

host?.close();
await browser.close();
console.log(failures.length ? `${failures.length} failures` : `${opened.length} pages are fine`);
process.exit(failures.length ? 1 : 0);
