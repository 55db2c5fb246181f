// Spelling of the prose in the book's pages, in British English, plus the words of words.txt.
//
//   node spell.mjs FILE_OR_FOLDER…
//
// Code, formulas, addresses, directives, HTML and the bibliography (names and others' titles) are left out.
import { readFileSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import nspell from 'nspell';
import dictionary from 'dictionary-en-gb';

const places = process.argv.slice(2);
if (!places.length) {
  console.error('usage: node spell.mjs FILE_OR_FOLDER…');
  process.exit(2);
}
const spell = nspell(dictionary);
for (const line of readFileSync(new URL('words.txt', import.meta.url), 'utf8').split('\n')) {
  const word = line.replace(/#.*/, '').trim();
  if (word) spell.add(word);
}

const inside = (place) => (statSync(place).isDirectory() ? readdirSync(place, { recursive: true }).sort().map((name) => join(place, name)) : [place]);
const files = places.flatMap(inside).filter((path) => path.endsWith('.md') && !/(^|\/)bibliography\.md$/.test(path));

// The text as it is, with everything that is not prose replaced by spaces: lines keep their numbers.
function prose(text) {
  const blank = (part) => part.replace(/[^\n]/g, ' ');
  return text
    .replace(/^( *)(```+|~~~+)[^\n]*\n[\s\S]*?^\1\2[^\n]*$/gm, blank)
    .replace(/(?<!`)(`+)(?!`)[\s\S]*?(?<!`)\1(?!`)/g, blank)
    .replace(/\{\{#term +[^\s}]+ *([^}]*)\}\}/g, (all, words) => ' '.repeat(all.length - words.length - 2) + words + '  ')
    .replace(/\{\{#diagram +\S+ *([^}]*)\}\}/g, (all, words) => ' '.repeat(all.length - words.length - 2) + words + '  ')
    .replace(/\{\{#[^}]*\}\}/g, blank)
    .replace(/\$\$[\s\S]*?\$\$/g, blank)
    .replace(/\$[^\s$][^$\n]*\$/g, blank)
    .replace(/<https?:[^>]*>/g, blank)
    .replace(/<[^>]*>/g, blank)
    .replace(/\]\([^)]*\)/g, (all) => ' '.repeat(all.length))
    .replace(/\[\^[^\]]*\]/g, blank)
    .replace(/\{#[^}]*\}/g, blank)
    .replace(/\bhttps?:\S+/g, blank);
}

let wrong = 0;
for (const file of files) {
  const lines = prose(readFileSync(file, 'utf8')).split('\n');
  lines.forEach((line, number) => {
    for (const [word] of line.matchAll(/(?<![\d·×\p{L}])[\p{Ll}\p{Lu}][\p{Ll}\p{Lu}’']*(?:-[\p{Ll}\p{Lu}][\p{Ll}\p{Lu}’']*)*/gu)) {
      const plain = word.replace(/’/g, "'").replace(/'+$/, '');
      if (known(plain)) continue;
      wrong += 1;
      console.log(`${file}:${number + 1}: ${plain}`);
    }
  });
}

function known(word) {
  const base = word.replace(/'s$/, '');
  if (base.length < 2 || spell.correct(word) || spell.correct(base)) return true;
  // SIMD, GFLOP, AVX and the like, with a plural: names, not prose.
  if (/^[A-Z]{2,}s?$/.test(base)) return true;
  // Dimensions in running text: mk, kn, mnk.
  if (/^[mnkb]{2,3}$/.test(base)) return true;
  return base.includes('-') && base.split('-').every((part) => part && known(part));
}

console.log(wrong ? `${wrong} words are not known; correct them or add them to tests/book/words.txt` : `${files.length} pages are spelled right`);
process.exit(wrong ? 1 : 0);
