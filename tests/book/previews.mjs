// What a link to a page shows where it is shared: its title, what it says of itself, and its first picture.
//
//   node previews.mjs BOOK [PAGE…]
//
// BOOK is a book that was built with --site: a preview names its image by its whole address. The images will be in its
// folder `previews`, and each page (or each PAGE, such as 01-matmul/roofline.html) will name its own.
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { launch } from './launch.mjs';

const [WIDTH, HEIGHT] = [1200, 630];
const URL_OF = /<meta property="og:url" content="([^"]*)">/;

const [book, ...only] = process.argv.slice(2);
if (!book || !existsSync(join(book, 'sitemap.xml'))) {
  console.error('usage: node previews.mjs BOOK [PAGE…], where BOOK was built for an address: cargo run -- book build --site https://example.org/');
  process.exit(2);
}
const root = readFileSync(join(book, 'index.html'), 'utf8').match(URL_OF)[1];
const pages = readdirSync(book, { recursive: true })
  .map((path) => path.replaceAll('\\', '/'))
  .filter((path) => path.endsWith('.html') && !path.startsWith('doc/') && URL_OF.test(readFileSync(join(book, path), 'utf8')))
  .filter((path) => !only.length || only.includes(path))
  .sort();
if (only.length > pages.length) {
  console.error(`of ${only.join(', ')} only these are pages: ${pages.join(', ')}`);
  process.exit(2);
}

/** Turns the page into its preview. Returns its words, for who does not see it. */
function become() {
  const meta = (name) => document.querySelector(`meta[property="og:${name}"]`).content;
  const main = document.querySelector('main');
  const shown = (picture) => !picture.closest('[hidden], .katex, math') && picture.getBoundingClientRect().width > 300;
  const picture = [...main.querySelectorAll('svg')].find(shown)?.cloneNode(true);
  const title = (main.querySelector('h1')?.textContent ?? meta('title')).trim();
  const make = (name, text, style) => {
    const element = Object.assign(document.createElement(name), { textContent: text });
    element.style = style;
    return element;
  };
  const words = document.createElement('div');
  words.style = 'display: grid; align-content: center; gap: 24px; flex: 1 1 0';
  words.append(
    make('div', meta('site_name'), 'font: 700 30px sans-serif; color: var(--links)'),
    make('div', title, `font: 700 ${title.length > 50 ? 48 : 60}px/1.15 sans-serif`),
    make('div', meta('description'), 'font: 400 27px/1.4 sans-serif'),
  );
  const card = document.createElement('div');
  card.id = 'preview';
  card.style = 'position: fixed; inset: 0; z-index: 9999; box-sizing: border-box; padding: 48px 56px; display: flex; gap: 44px; align-items: center; background: var(--bg); color: var(--fg)';
  card.append(words);
  if (picture) {
    picture.removeAttribute('width');
    picture.removeAttribute('height');
    picture.style = 'flex: 0 0 500px; width: 500px; max-height: 520px';
    // The rules that colour a picture are those of its frame.
    const frame = Object.assign(document.createElement('figure'), { className: 'plot' });
    frame.style = 'flex: 0 0 500px; margin: 0; border: 0';
    frame.append(picture);
    card.append(frame);
  }
  main.append(card);
  document.body.style.overflow = 'hidden';
  return `${title}. ${meta('description')}`;
}

const browser = await launch();
const context = await browser.newContext({ viewport: { width: WIDTH, height: HEIGHT }, reducedMotion: 'reduce' });
context.setDefaultTimeout(60_000);
const tab = await context.newPage();
let bytes = 0;
for (const page of pages) {
  await tab.goto(pathToFileURL(resolve(book, page)).href, { waitUntil: 'load' });
  const words = await tab.evaluate(become);
  const image = `previews/${page.replace(/\.html$/, '.png')}`;
  mkdirSync(dirname(join(book, image)), { recursive: true });
  const png = await tab.screenshot({ path: join(book, image) });
  bytes += png.length;
  const tag = (property, content) => `\n        <meta property="og:${property}" content="${content}">`;
  const alt = words.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;');
  const tags = tag('image', root + image) + tag('image:width', WIDTH) + tag('image:height', HEIGHT) + tag('image:alt', alt)
    + '\n        <meta name="twitter:card" content="summary_large_image">';
  const file = join(book, page);
  const text = readFileSync(file, 'utf8').replace(/\n *<meta (?:property="og:image[^>]*|name="twitter:card"[^>]*)>/g, '');
  writeFileSync(file, text.replace(URL_OF, (found) => found + tags));
}
await browser.close();
console.log(`${pages.length} previews, ${(bytes / 1e6).toFixed(1)} MB`);
