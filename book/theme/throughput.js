// The machine switch, and what makes the page easier for keyboards and paper. Nothing here is needed to
// read: without it the default machine's numbers show.
(() => {
  'use strict';
  const KEY = 'throughput-machine';
  const SCROLLERS = '.table-wrapper, .plot, .route, .diagram > div, .content main > figure, .content pre > code, pre.output, .content math[display="block"]';
  const machineLabels = new Map();
  let asking = 0; // the next frame, in which sizes are asked for
  const saved = () => { try { return localStorage.getItem(KEY); } catch { return null; } };
  const save = (name) => { try { localStorage.setItem(KEY, name); } catch { /* private window */ } };

  // The numbers of other machines than the first are not on the page until they are asked for.
  const here = document.currentScript.src;
  const { page, beside = '' } = document.querySelector('main')?.dataset ?? {};
  const asked = new Set();
  let wanted = null; // the last that was chosen: one that was chosen before it may come after it
  function load(name) {
    wanted = name;
    if (!beside.split(' ').includes(name) || asked.has(name)) { show(name); return; }
    asked.add(name);
    const script = document.createElement('script');
    script.src = new URL(`../records/${name}/pages/${page}.js`, here);
    script.addEventListener('error', () => { if (name === wanted) show(name); });
    document.head.append(script);
  }
  // What such a script calls: each piece goes to the end of its quote, given by its number, unless it came with another
  // machine, for which it stands in.
  globalThis.throughputMachine = (name, pieces) => {
    const quotes = document.querySelectorAll('[data-quote]');
    for (const [at, html] of pieces) {
      const whose = /data-machine="[^"]*"/.exec(html)[0];
      if (quotes[at] && !quotes[at].querySelector(`[${whose}]`)) quotes[at].insertAdjacentHTML('beforeend', html);
    }
    if (name === wanted) show(name);
  };

  const show = (name) => {
    for (const element of document.querySelectorAll('[data-machine]')) {
      // One machine's stands in for others that have none.
      const { machine, also = '' } = element.dataset;
      // Not `.hidden`: parts of a drawing have no such property.
      element.toggleAttribute('hidden', machine !== name && !also.split(' ').includes(name));
    }
    const select = document.querySelector('.bar-machine select');
    if (select) select.value = name;
    // On paper, where nothing can be chosen, each page says whose its numbers are.
    for (const place of document.querySelectorAll('.machine-switch')) place.textContent = `Numbers from ${machineLabels.get(name) ?? name}`;
    scrollers();
  };

  const { machines, default: usual } = document.querySelector('.machine-switch')?.dataset ?? {}; // a book on one page has one for all
  for (const pair of machines?.split(';') ?? []) {
    const at = pair.indexOf('=');
    machineLabels.set(pair.slice(0, at), pair.slice(at + 1));
  }
  const bar = document.querySelector('.bar-machine');
  if (machineLabels.size > 1 && bar) {
    const select = Object.assign(document.createElement('select'), { ariaLabel: 'Numbers from' });
    for (const [name, label] of machineLabels) select.add(new Option(label, name));
    select.addEventListener('change', () => { save(select.value); load(select.value); });
    bar.append(select);
  }
  if (machines) load(machineLabels.has(saved()) ? saved() : usual);

  // Where the page is in its chapter, and how much of it has been read.
  const progress = document.querySelector('.bar-progress');
  const [, section, sections] = /(\d+) of (\d+)/.exec(document.querySelector('.chapter-place')?.textContent ?? '') ?? [];
  if (progress && section && !/(^|\/)print\.html$/.test(location.pathname)) {
    progress.append(Object.assign(document.createElement('a'), {
      href: 'index.html', textContent: `${section}/${sections}`, title: `Section ${section} of ${sections}: to the chapter’s first page`,
      ariaLabel: `${section}/${sections}, sections of this chapter: to its first page`,
    }));
  }
  let due = false;
  const read = () => {
    due = false;
    const { scrollHeight, clientHeight, scrollTop } = document.documentElement;
    progress?.style.setProperty('--read', Math.min(1, scrollTop / Math.max(1, scrollHeight - clientHeight)).toFixed(3));
  };
  addEventListener('scroll', () => { if (!due) { due = true; requestAnimationFrame(read); } }, { passive: true });

  // What scrolls sideways can be reached and scrolled with the keyboard, and says where there is more of it. All sizes are
  // asked for at once, when the page is laid out anyway.
  function scrollers() {
    cancelAnimationFrame(asking);
    asking = requestAnimationFrame(sizeUp);
  }
  function sizeUp() {
    const sizes = [...document.querySelectorAll(SCROLLERS)].map((box) => [box, box.scrollWidth - box.clientWidth, box.scrollLeft]);
    for (const [box, over, at] of sizes) {
      if (over > 1) box.tabIndex = 0; else box.removeAttribute('tabindex');
      edges(box, over, at);
    }
  }
  function edges(box, over, at) {
    box.classList.toggle('more-start', over > 1 && at > 1);
    box.classList.toggle('more-end', over > 1 && at < over - 1);
  }
  document.addEventListener('scroll', ({ target: box }) => {
    if (box.matches?.(SCROLLERS)) edges(box, box.scrollWidth - box.clientWidth, box.scrollLeft);
  }, { capture: true, passive: true });
  // mdBook turns the page with these keys.
  document.querySelector('main')?.addEventListener('keydown', (event) => {
    if (/^Arrow(Left|Right)$/.test(event.key) && event.target.matches(`${SCROLLERS}, summary`)) event.stopPropagation();
  });
  // On a narrow screen `data-stack="VIEWBOX"` of a diagram shows that part of it, elements with `data-stack="DX DY"` move
  // by that much, below what they stand beside, and of those with `data-beside="wide"` or "narrow" the others show.
  const narrow = matchMedia('(max-width: 620px)');
  function stack() {
    for (const svg of document.querySelectorAll('svg[data-stack]')) {
      svg.dataset.wide ??= svg.getAttribute('viewBox');
      svg.setAttribute('viewBox', narrow.matches ? svg.dataset.stack : svg.dataset.wide);
      svg.toggleAttribute('data-stacked', narrow.matches);
      for (const part of svg.querySelectorAll('[data-stack]')) part.setAttribute('transform', narrow.matches ? `translate(${part.dataset.stack})` : '');
      for (const part of svg.querySelectorAll('[data-beside]')) part.setAttribute('display', (part.dataset.beside === 'narrow') === narrow.matches ? 'inline' : 'none');
    }
  }
  if (narrow.matches) stack();
  narrow.addEventListener('change', stack);
  // Lines that were printed in columns, with room between them, don't wrap.
  for (const output of document.querySelectorAll('pre.output')) {
    const lines = output.textContent.trimEnd().split('\n');
    const inColumns = lines.filter((line) => /\S {2,}\S/.test(line)).length > 1;
    output.classList.toggle('columns', inColumns && lines.every((line) => line.length <= 110));
  }
  scrollers();
  addEventListener('resize', scrollers);
  document.querySelectorAll('details').forEach((fold) => fold.addEventListener('toggle', scrollers));

  // mdBook's table of contents is opened by a checkbox, which no one can see; the button works it.
  document.getElementById('mdbook-sidebar-toggle')?.addEventListener('click', () => {
    document.getElementById('mdbook-sidebar-toggle-anchor')?.click();
  });

  // mdBook puts a page's headings into the table of contents when the page is whole: the table shows then, and nothing moves.
  document.addEventListener('DOMContentLoaded', () => document.documentElement.classList.add('whole'));

  // The elements that run something: each has a file of its own, which only the pages that use it ask for, behind the
  // file of what they have in common.
  const widgets = ['bit-explorer', 'break-kernel', 'card-calculator', 'descent-playground', 'digit-canvas', 'gpt-count', 'gpt-prompt', 'gpu-product', 'memory-planner', 'pipeline-player', 'product-race', 'ring-all-reduce', 'roofline-explorer', 'step-player', 'warp-viewer'];
  const used = widgets.filter((name) => document.querySelector(name));
  for (const name of used.length ? ['widget', ...used] : []) {
    document.head.append(Object.assign(document.createElement('script'), { src: new URL(`${name}.js`, here), async: false })); // in this order
  }

  // What the machine of a number is, is on the page once: the number's own words get it when somebody asks for them.
  for (const event of ['pointerover', 'focusin']) {
    document.addEventListener(event, ({ target }) => {
      const number = target.closest?.('a.measured[data-machine]:not([data-told])');
      if (!number) return;
      const label = machineLabels.get(number.dataset.machine);
      if (label) number.title = number.title.replace(/[^;]*$/, ` ${label}`);
      number.dataset.told = '';
    });
  }

  // On paper nothing is folded.
  const unfold = () => document.querySelectorAll('details').forEach((fold) => { fold.open = true; });
  addEventListener('beforeprint', unfold);
  if (/(^|\/)print\.html$/.test(location.pathname)) unfold();
})();
