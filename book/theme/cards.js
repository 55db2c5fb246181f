// What a page refers to, without leaving it: a card with a term's sentence, a number's run or a source, on hover, focus
// and tap; the glossary in the search, before the pages; and a way on for who is lost. Without this file there are links.
(() => {
  'use strict';
  const here = document.currentScript.src;
  const REFERS = 'main a.term, main a.measured, main .footnote-reference a';
  const card = Object.assign(document.createElement('div'), { id: 'card', role: 'tooltip', hidden: true });
  let of = null;
  let waiting = 0;

  // The words that a card shows, one paragraph each. The browser's own tip would stand on top of it, so its text is kept.
  function words(link) {
    if (link.matches('.footnote-reference a')) {
      const note = document.getElementById(decodeURIComponent(link.hash.slice(1)))?.cloneNode(true);
      note?.querySelectorAll('a[href^="#fr-"]').forEach((back) => back.remove());
      return [note?.textContent.trim()];
    }
    if (link.title) { link.dataset.title = link.title; link.removeAttribute('title'); }
    const text = link.dataset.title ?? '';
    return link.matches('.term') ? [text] : text.split('; ');
  }

  // A strip of bars is for the eyes.
  function paragraph(text) {
    const [before, bars, after] = text.split(/([·▁-█]{4,})/);
    const out = Object.assign(document.createElement('p'), { textContent: before });
    if (bars) {
      const strip = Object.assign(document.createElement('span'), { className: 'strip', textContent: bars, ariaHidden: 'true' });
      out.append(strip, after);
    }
    return out;
  }

  function open(link) {
    clearTimeout(waiting);
    if (of === link) return;
    close();
    const parts = words(link).filter(Boolean).map(paragraph);
    if (!parts.length) return;
    of = link;
    card.replaceChildren(...parts);
    card.hidden = false;
    document.body.append(card);
    link.setAttribute('aria-describedby', card.id);
    const [at, wide] = [link.getClientRects()[0] ?? link.getBoundingClientRect(), document.documentElement.clientWidth];
    const left = Math.max(8, Math.min(at.left, wide - card.offsetWidth - 8));
    const below = at.bottom + 6 + card.offsetHeight < innerHeight;
    card.style.left = `${left + scrollX}px`;
    card.style.top = `${(below ? at.bottom + 6 : at.top - card.offsetHeight - 6) + scrollY}px`;
  }

  function close() {
    clearTimeout(waiting);
    if (!of) return;
    of.removeAttribute('aria-describedby');
    if (of.dataset.title) of.title = of.dataset.title;
    delete of.dataset.title;
    of = null;
    card.hidden = true;
  }

  const soon = (work, after) => { clearTimeout(waiting); waiting = setTimeout(work, after); };
  document.addEventListener('pointerover', ({ target, pointerType }) => {
    if (pointerType === 'touch') return;
    const link = target.closest?.(REFERS);
    if (link) soon(() => open(link), of ? 60 : 200);
    else if (card.contains(target)) clearTimeout(waiting);
    else soon(close, 250); // also a card that was about to open
  });
  document.addEventListener('focusin', ({ target }) => {
    if (target.matches?.(REFERS) && target.matches(':focus-visible')) open(target); else close();
  });
  document.addEventListener('keydown', ({ key }) => { if (key === 'Escape') close(); });
  // A finger has no hover: the first tap opens the card, the second follows the link.
  document.addEventListener('click', (event) => {
    const link = event.target.closest?.(REFERS);
    if (link && event.pointerType === 'touch' && of !== link) { event.preventDefault(); open(link); } else if (!card.contains(event.target)) close();
  });
  addEventListener('resize', close);

  // Who is lost can search for the words of the address.
  const lost = document.getElementById('lost');
  if (lost) {
    let path = location.pathname;
    try { path = decodeURIComponent(path); } catch { /* as it stands */ }
    const name = path.replace(/(^|\/)(index)?(\.html?)?$/, '').replace(/\.html?$/, '').split('/').pop();
    const asked = name.split(/[^\p{L}\p{N}]+/u).filter((word) => word.length > 2).join(' ');
    if (asked) lost.append(Object.assign(document.createElement('a'), { href: new URL(`../index.html?search=${encodeURIComponent(asked)}`, here), textContent: `Search for “${asked}”` }));
  }

  // The terms one of whose names, or a word of it, begins as the question does; each leads to the page that introduces it.
  const bar = document.getElementById('mdbook-searchbar');
  if (!bar) return;
  const list = Object.assign(document.createElement('ul'), { id: 'term-results', ariaLabel: 'Terms of the glossary', hidden: true });
  document.getElementById('mdbook-searchresults-outer')?.before(list);
  const plain = (text) => text.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, ' ').trim();
  let terms = null;
  globalThis.throughputTerms = (all) => {
    terms = all.map(([name, short, page, title, also]) => ({ name, short, page, title, keys: [name, ...also].map(plain) }));
    find();
  };
  function find() {
    const asked = plain(bar.value);
    // A term's own name goes before its other ones; "allreduce" also finds the all-reduce.
    const close = (key) => (key === asked ? 0 : key.startsWith(asked) ? 1 : ` ${key}`.includes(` ${asked}`) ? 2 : key.replaceAll(' ', '').startsWith(asked.replaceAll(' ', '')) ? 3 : 4);
    const rank = ({ keys: [own, ...also] }) => Math.min(close(own), ...also.map((key) => close(key) + 0.5));
    const found = asked.length < 2 ? [] : (terms ?? []).filter((term) => rank(term) < 4).sort((a, b) => rank(a) - rank(b) || a.keys[0].length - b.keys[0].length).slice(0, 3);
    list.replaceChildren(...found.map(({ name, short, page, title }) => {
      const link = Object.assign(document.createElement('a'), { href: new URL(`../${page}`, here), textContent: name });
      const row = document.createElement('li');
      row.append(link, ` ${short} `, Object.assign(document.createElement('small'), { textContent: title }));
      return row;
    }));
    list.hidden = !found.length;
  }
  bar.addEventListener('focus', () => {
    document.head.append(Object.assign(document.createElement('script'), { src: new URL('terms.js', here) }));
  }, { once: true });
  bar.addEventListener('input', find);
})();
