// The built book as PDF: whole, and each chapter.
//
//   node pdf.mjs BOOK OUT [CHAPTER]
//
// BOOK is the folder of the book; in OUT will be throughput.pdf and 00-lab.pdf to the last chapter's, or that of CHAPTER
// alone.
import { existsSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { launch } from './launch.mjs';

const [book, out, only] = process.argv.slice(2);
if (!book || !out || !existsSync(join(book, 'print.html'))) {
  console.error('usage: node pdf.mjs BOOK OUT [CHAPTER], where BOOK is a built book: cargo run -- book build');
  process.exit(2);
}
mkdirSync(out, { recursive: true });
// Each chapter has a print.html of its own.
const toc = readFileSync(join(book, 'toc.html'), 'utf8');
const chapters = [...new Set([...toc.matchAll(/<a [^>]*href="(\d\d-[^/"]+)\//g)].map(([, chapter]) => chapter))];
if (only && !chapters.includes(only)) {
  console.error(`there is no chapter ${only}, but ${chapters.join(', ')}`);
  process.exit(2);
}
const browser = await launch();
const tab = await browser.newPage();
tab.setDefaultTimeout(600_000);
await tab.addInitScript(() => { window.print = () => {}; });
for (const chapter of only ? [only] : ['', ...chapters]) {
  await tab.goto(pathToFileURL(resolve(book, chapter, 'print.html')).href, { waitUntil: 'load' });
  const file = join(out, `${chapter || 'throughput'}.pdf`);
  const footer = '<div style="width: 100%; font-size: 8px; text-align: center"><span class="pageNumber"></span></div>';
  await tab.pdf({ path: file, format: 'A4', margin: { top: '16mm', bottom: '18mm', left: '16mm', right: '16mm' }, displayHeaderFooter: true, headerTemplate: '<span></span>', footerTemplate: footer, printBackground: true, outline: true, tagged: true, timeout: 900_000 });
  console.log(`${file}: ${(statSync(file).size / 1e6).toFixed(1)} MB`);
}
await browser.close();
