// What a page may cost: the bytes that are sent for it the first time, its elements, and how far it moves while it loads:
// budget.json has the limits.
import { createServer } from 'node:http';
import { existsSync, readFileSync, readdirSync, statSync } from 'node:fs';
import { basename, extname, join } from 'node:path';
import { gzipSync } from 'node:zlib';

// A phone in a city: 10 Mbit/s with 40 ms there and back, for each file. Fonts come late, and what they move counts; so do the
// elements that run something (widgets/ tries each), 300 ms later still: what they move counts on every machine.
const [LATENCY, RATE] = [40, 10e6 / 8 / 1000]; // ms, bytes a ms
const limits = JSON.parse(readFileSync(new URL('budget.json', import.meta.url), 'utf8'));
// The largest page of records, and the largest script with a page's numbers, in bytes.
const RECORD = 300_000;

const TYPES = { '.html': 'text/html; charset=utf-8', '.js': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml', '.json': 'application/json', '.woff2': 'font/woff2' };

/**
 * Serves the folder as a host does whom nobody has asked before, below its root and once more below /book: compressed, except
 * what already is, and with its page for addresses that lead nowhere.
 */
export async function serve(folder) {
  const made = new Map();
  const server = createServer((request, response) => {
    const path = decodeURIComponent(new URL(request.url, 'http://x').pathname).replace(/^\/book(?=\/)/, '');
    const asked = join(folder, path.endsWith('/') ? `${path}index.html` : path);
    const there = existsSync(asked) && statSync(asked).isFile();
    const file = there ? asked : join(folder, '404.html');
    const plain = extname(file) === '.woff2';
    if (!made.has(file)) made.set(file, plain ? readFileSync(file) : gzipSync(readFileSync(file), { level: 6 }));
    const body = made.get(file);
    const head = { 'content-type': TYPES[extname(file)] ?? 'application/octet-stream', 'content-length': body.length, 'cache-control': 'no-store' };
    const late = existsSync(new URL(`widgets/${basename(file, '.js')}.mjs`, import.meta.url)) ? 300 : 0;
    const after = request.headers.soon ? 0 : LATENCY + late + body.length / RATE;
    setTimeout(() => response.writeHead(there ? 200 : 404, plain ? head : { ...head, 'content-encoding': 'gzip' }).end(body), after);
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  return { base: `http://127.0.0.1:${server.address().port}/`, close: () => server.close() };
}

/** Watches what pages in `tab` cost. Returns what tells it of the one that has just been loaded: what it asks for later comes soon. */
async function watch(tab) {
  let sent = [];
  tab.on('request', (request) => { if (request.isNavigationRequest()) sent = []; });
  tab.on('requestfinished', (request) => sent.push(request.sizes().then((sizes) => sizes.responseBodySize, () => 0)));
  await tab.addInitScript(() => {
    globalThis.cost = { shift: 0, moved: [] };
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries().filter((entry) => !entry.hadRecentInput)) {
        globalThis.cost.shift += entry.value;
        globalThis.cost.moved.push(...entry.sources.map(({ node }) => `${node?.nodeName.toLowerCase()}.${node?.className?.baseVal ?? node?.className ?? ''}`));
      }
    }).observe({ type: 'layout-shift', buffered: true });
  });
  return async () => {
    await tab.waitForTimeout(250);
    const cost = await tab.evaluate(() => ({ ...globalThis.cost, nodes: document.querySelectorAll('*').length }));
    await tab.setExtraHTTPHeaders({ soon: 'yes' });
    return { ...cost, bytes: (await Promise.all(sent)).reduce((sum, bytes) => sum + bytes, 0) };
  };
}

/** A host for the book, `watch` as above, and what judges a page that has been loaded. */
export async function budgets({ folder, fail }) {
  const { base, close } = await serve(folder);
  /** Holds a page of that width to its limits; `visit` loads it anew. */
  async function judge(page, width, cost, visit) {
    // On a busy machine the fonts can be late, and the text moves under them: what moves each time counts.
    if (cost.shift > limits.shift) {
      const again = await visit();
      if (again.shift < cost.shift) cost = again;
    }
    const found = { kilobytes: Math.round(cost.bytes / 1000), nodes: cost.nodes, shift: Number(cost.shift.toFixed(4)) };
    // A table of a run may settle when its columns are known: it is the end of its page.
    if (page.startsWith('records/')) delete found.shift;
    for (const [what, is] of Object.entries(found)) {
      if (is > limits[what]) fail(page, `${what}: ${is}, and at most ${limits[what]} are allowed${what === 'shift' ? ` at ${width}: ${[...new Set(cost.moved)].slice(0, 3).join(', ')}` : ''}`);
    }
  }
  return { base: `${base}book/`, watch, judge, close };
}

/** No page of records is too large to open; the raw samples are what they are, and a print.html is many pages at once. */
export function records({ folder, fail }) {
  const place = join(folder, 'records');
  for (const name of existsSync(place) ? readdirSync(place, { recursive: true }) : []) {
    const { size } = statSync(join(place, name));
    if (size > RECORD && !/\.json$|[/\\]pages[/\\](.*-)?print\.js$/.test(name)) fail(`records/${name}`, `has ${Math.round(size / 1000)} kB, and at most ${RECORD / 1000} are allowed`);
  }
}

/** The code points that a font was cut to, as fonts.txt has them. */
function codePoints(folder, file) {
  const [, list] = new RegExp(`file +${file}\n.*\n +characters +(\\S+)`).exec(readFileSync(join(folder, 'fonts/fonts.txt'), 'utf8'));
  const ends = list.split(',').map((range) => range.split('-').map((point) => parseInt(point, 16)));
  return new Set(ends.flatMap(([from, to = from]) => Array.from({ length: to - from + 1 }, (_, at) => from + at)));
}

/** Every character of every formula is in the font that formulas are set in, also as the italic that a single letter becomes. */
export function formulas({ folder, pages, fail }) {
  const has = codePoints(folder, 'stix-two-math.woff2');
  const text = (html) => html.replace(/<[^>]*>/g, '').replace(/&#(x[0-9a-f]+|\d+);/gi, (_, number) => String.fromCodePoint(Number(number.replace(/^x/i, '0x'))))
    .replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&quot;', '"').replaceAll('&amp;', '&');
  const italic = (letter) => {
    const point = letter.codePointAt(0);
    if (letter === 'h') return 0x210e;
    if (/^[A-Z]$/.test(letter)) return 0x1d434 + point - 65;
    if (/^[a-z]$/.test(letter)) return 0x1d44e + point - 97;
    if (/^[α-ω]$/.test(letter)) return 0x1d6fc + point - 0x3b1;
    if (/^[Α-Ω]$/.test(letter)) return 0x1d6e2 + point - 0x391;
    return point;
  };
  for (const page of pages) {
    const missing = new Set();
    for (const [math] of readFileSync(join(folder, page), 'utf8').matchAll(/<math[^]*?<\/math>/g)) {
      for (const letter of text(math)) if (!/\s/.test(letter) && !has.has(letter.codePointAt(0))) missing.add(letter);
      for (const [, inside] of math.matchAll(/<mi>([^<]*)<\/mi>/g)) {
        const letters = [...text(inside)];
        if (letters.length === 1 && !has.has(italic(letters[0]))) missing.add(`${letters[0]} in italics`);
      }
    }
    if (missing.size) fail(page, `has in formulas what the font lacks, see book/theme/fonts/fonts.txt: ${[...missing].join(' ')}`);
  }
}

/** Every listing's language is one that the page colours, and it does. */
export async function languages({ open, folder, pages, fail }) {
  const asked = new Map();
  for (const page of pages) for (const [, name] of readFileSync(join(folder, page), 'utf8').matchAll(/<code class="(?:[^"]* )?language-([\w-]+)/g)) if (!asked.has(name)) asked.set(name, page);
  const { tab } = await open({}, 'index.html');
  for (const [name, page] of asked) if (!(await tab.evaluate((name) => Boolean(globalThis.hljs.getLanguage(name)), name))) fail(page, `has a listing in ${name}, which tools/bookbinder/src/theme.rs leaves out`);
  // A listing has its colours once it is on the screen.
  const page = asked.get('rust');
  if (!page) return;
  const listing = await open({}, page);
  const block = listing.tab.locator('main pre:visible > code.language-rust').last();
  await block.scrollIntoViewIfNeeded();
  await block.locator('.hljs-keyword').first().waitFor({ timeout: 5000 }).catch(() => fail(page, 'has a listing without colours'));
}
