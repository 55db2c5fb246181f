// The machine switch, and what makes the page easier for keyboards and paper. Nothing here is needed to
// read: without it the default machine's numbers show.
(() => {
  'use strict';
  const KEY = 'throughput-machine';
  const SCROLLERS = '.table-wrapper, .plot, .route, .diagram > div, .content main > figure, .content pre > code, pre.output, .content math[display="block"]';
  const saved = () => { try { return localStorage.getItem(KEY); } catch { return null; } };
  const save = (name) => { try { localStorage.setItem(KEY, name); } catch { /* private window */ } };

  // Numbers of a machine that a reader sent in are not on the page until they are asked for.
  const here = document.currentScript.src;
  const asked = new Set();
  function load(name) {
    const place = document.querySelector('.machine-switch');
    const has = (machine) => document.querySelector(`[data-machine="${machine}"]:not(tspan)`);
    // A page without the first machine's numbers has drawings alone, from which nothing was taken.
    if (has(name) || !has(place.dataset.anchor) || asked.has(name)) { show(name); return; }
    asked.add(name);
    const script = document.createElement('script');
    const page = /(^|\/)print\.html$/.test(location.pathname) ? 'print' : place.dataset.page;
    script.src = new URL(`../records/${name}/pages/${page}.js`, here);
    script.addEventListener('error', () => show(name));
    document.head.append(script);
  }
  // What such a script calls: each piece goes behind an element of the first machine, given by its number.
  globalThis.throughputMachine = (name, pieces) => {
    const anchors = document.querySelectorAll(`[data-machine="${document.querySelector('.machine-switch').dataset.anchor}"]:not(tspan)`);
    for (const [at, html] of pieces) anchors[at]?.insertAdjacentHTML('afterend', html);
    show(name);
  };

  const show = (name) => {
    for (const element of document.querySelectorAll('[data-machine]')) {
      // One machine's stands in for others that have none.
      const { machine, also = '' } = element.dataset;
      // Not `.hidden`: parts of a drawing have no such property.
      element.toggleAttribute('hidden', machine !== name && !also.split(' ').includes(name));
    }
    for (const select of document.querySelectorAll('.machine-switch select')) select.value = name;
    scrollers();
  };

  const machineLabels = new Map();
  for (const place of document.querySelectorAll('.machine-switch')) {
    const machines = place.dataset.machines.split(';').map((pair) => {
      const at = pair.indexOf('=');
      return { name: pair.slice(0, at), label: pair.slice(at + 1) };
    });
    for (const { name, label } of machines) machineLabels.set(name, label);
    const names = machines.map((machine) => machine.name);
    const first = names.includes(saved()) ? saved() : place.dataset.default;
    if (machines.length > 1) {
      const label = document.createElement('label');
      const select = document.createElement('select');
      for (const machine of machines) select.add(new Option(machine.label, machine.name));
      select.addEventListener('change', () => { save(select.value); load(select.value); });
      label.append('Numbers from ', select);
      place.replaceChildren(label);
    }
    load(first);
  }

  // What scrolls sideways can be reached and scrolled with the keyboard, and says where there is more of it.
  function scrollers() {
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
    if (/^Arrow(Left|Right)$/.test(event.key) && event.target.matches(SCROLLERS)) event.stopPropagation();
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

  // The elements that run something: each has a file of its own, which only the pages that use it ask for, behind the
  // file of what they have in common.
  const widgets = ['bit-explorer', 'break-kernel', 'card-calculator', 'descent-playground', 'digit-canvas', 'gpt-count', 'gpu-product', 'memory-planner', 'pipeline-player', 'product-race', 'ring-all-reduce', 'roofline-explorer', 'step-player', 'warp-viewer'];
  const used = widgets.filter((name) => document.querySelector(name));
  for (const name of used.length ? ['widget', ...used] : []) {
    const script = document.createElement('script');
    script.src = new URL(`${name}.js`, here);
    script.async = false; // in this order
    document.head.append(script);
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
