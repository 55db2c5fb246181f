// What the elements that run something have in common: `Widget`, and `Player` for those that go through steps.
//
// throughput.js asks for this file before theirs, on pages that have such an element. What stands in an element is for
// readers without JavaScript, and for paper.
(() => {
  'use strict';

  // The rules weigh nothing, so that an element's own replace them wherever they differ.
  const STYLE = `
    :where(.desk) { display: grid; gap: 1.2rem; margin-block: 1.6rem 2.4rem; }
    :where(label) { display: grid; gap: 0.3rem; }
    :where(button, select, input:not([type=range], [type=checkbox])) { font: inherit; box-sizing: border-box; min-height: 3.2rem; padding: 0.3rem 0.8rem; color: var(--fg); background: var(--bg); border: 1px solid var(--searchbar-border-color, currentColor); border-radius: 4px; }
    :where(button) { padding-inline: 1.4rem; background: var(--surface); cursor: pointer; }
    :where(select, input[type=range]) { cursor: pointer; }
    :where(input[type=range]) { width: 100%; height: 3.2rem; margin: 0; accent-color: var(--accent); }
    button[aria-disabled=true] { opacity: 0.55; cursor: default; }
    input[aria-invalid=true] { outline: 2px dashed var(--series-2); }
    :focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
    :where(.controls) { display: flex; flex-wrap: wrap; gap: 0.8rem; align-items: center; justify-content: center; }
    :where(output) { color: var(--muted); font-variant-numeric: tabular-nums; }
    :where(.hint) { margin: 0; color: var(--muted); font-size: 0.9em; }
    .aloud { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
    :where(.facts) { display: grid; grid-template-columns: repeat(auto-fit, minmax(var(--fact, min(12rem, 100%)), 1fr)); gap: 0.6rem 1.6rem; margin: 0; font-variant-numeric: tabular-nums; }
    :where(.facts dt) { color: var(--muted); font-size: 0.9em; } :where(.facts dd) { margin: 0; }
    :where(slot) { display: none; }
    [hidden] { display: none !important; }
    @media print { .desk { display: none; } slot { display: contents; } }
  `;

  /** The items of a list, as pairs of a value and a name. */
  const options = (list) => list.map(([value, name = value]) => `<option value="${value}">${name}</option>`).join('');

  /** A list to choose from. */
  const select = (name, label, list) => `<label>${label}<select name="${name}" class="${name}">${options(list)}</select></label>`;

  /** A field for a number; what is wrong with it stands in `#problem`. */
  const field = (name, label, more = '') => `<label ${more}>${label}<input name="${name}" inputmode="decimal" autocomplete="off" aria-describedby="problem"></label>`;

  /** Facts by their names and labels: `Widget.facts` fills them in. */
  const facts = (labels) => `<dl class="facts">${Object.entries(labels).map(([name, label]) => `<div><dt>${label}</dt><dd class="${name}"></dd></div>`).join('')}</dl>`;

  /** Text that is no HTML. */
  const escape = (text) => String(text).replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);

  /** A whole number above the line. */
  const superscript = (n) => String(n).replace('-', '⁻').replace(/\d/g, (digit) => '⁰¹²³⁴⁵⁶⁷⁸⁹'[digit]);

  /** A number for people: three digits. */
  function plain(x) {
    if (x !== 0 && (x < 1e-3 || x >= 1e6)) return x.toExponential(2).replace('e+', 'e').replace('-', '−');
    return new Intl.NumberFormat('en', { maximumSignificantDigits: 3, minimumSignificantDigits: x < 1000 ? 3 : 1 }).format(x);
  }

  /** A number for people, with a prefix before its unit. */
  function scaled(x, unit) {
    const prefixes = ['', 'k', 'M', 'G', 'T', 'P', 'E'];
    let at = 0;
    for (; at + 1 < prefixes.length && Number(x.toPrecision(3)) >= 1000; at += 1) x /= 1000;
    return `${plain(x)} ${prefixes[at]}${unit}`;
  }

  /** Seconds for people: 4.47 s, 12.5 ms. */
  function duration(seconds) {
    const [unit, scale] = [['s', 1], ['ms', 1e-3], ['µs', 1e-6]].find(([, scale]) => Number(seconds.toPrecision(3)) >= scale) ?? ['ns', 1e-9];
    return `${plain(seconds / scale)} ${unit}`;
  }

  /** Bytes for people. */
  function bytes(count) {
    const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
    let at = 0;
    for (; at + 1 < units.length && Math.round(count) >= 1024; at += 1) count /= 1024;
    return `${count >= 1000 ? Math.round(count) : Number(count.toPrecision(3))} ${units[at]}`;
  }

  /** The number that somebody typed: 3,600 and 0,5 have commas of two kinds. */
  const typed = (text) => {
    const grouped = /^[1-9]\d{0,2}(,\d{3})+(\.|$)/.test(text.trim());
    return text.trim() === '' ? NaN : Number(grouped ? text.replaceAll(',', '') : text.replace(',', '.'));
  };

  const scripts = new Map();
  let last = Promise.resolve();
  /** What a script leaves as the global `name`, made ready once; null if there is none. One at a time: they leave it in the same place. */
  function model(from, name, ready) {
    if (!scripts.has(from)) {
      last = last.then(() => new Promise((done) => {
        const script = Object.assign(document.createElement('script'), { src: from, onerror: () => done(null) });
        script.onload = () => done(globalThis[name] && ready(globalThis[name]));
        document.head.append(script);
      }));
      scripts.set(from, last);
    }
    return scripts.get(from);
  }

  class Widget extends (globalThis.HTMLElement ?? Object) {
    /** An element that is put into the page is made once. A widget makes itself in `made`. */
    connectedCallback() {
      if (!this.shadowRoot) this.made();
    }

    /** What the reader sees: the widget's own rules, and its HTML. */
    fill(style, html) {
      this.attachShadow({ mode: 'open' }).innerHTML = `<style>${STYLE}${style}</style>${html}`;
      // mdBook turns the page with the arrow keys, and opens the search with others: in a widget they are the widget's.
      this.addEventListener('keydown', (event) => event.stopPropagation());
    }

    /** The same, beside what stands in the element. */
    desk(style, html) { this.fill(style, `<slot></slot><div class="desk">${html}</div>`); }

    part(selector) { return this.shadowRoot.querySelector(selector); }
    parts(selector) { return [...this.shadowRoot.querySelectorAll(selector)]; }
    on(selector, event, work) { this.part(selector).addEventListener(event, work); }
    input(name) { return this.part(`[name=${name}]`); }

    /** Does `work` when the switch of the page's machines shows other numbers in the element. */
    follow(work) { new MutationObserver(work).observe(this, { subtree: true, childList: true, attributeFilter: ['hidden'] }); }

    /** Does `work` when a part is of another size. */
    sized(selector, work) { new ResizeObserver(work).observe(this.part(selector)); }

    /** Says something in a part. The same words are not said again to those who listen. */
    say(selector, text) {
      const place = this.part(selector);
      if (place.textContent !== text) place.textContent = text;
    }

    /** Fills in facts. */
    facts(all) { for (const [name, text] of Object.entries(all)) this.part(`dd.${name}`).textContent = text; }

    /**
     * The numbers in fields, for each the least and the most that it may be and whether it is whole; null if one is wrong, and
     * `#problem` says which. `also` may find something else wrong: it returns the field and a sentence.
     */
    numbers(wanted, also = () => []) {
      const found = {};
      let wrong = '';
      for (const [name, { least = 1, most = Number.MAX_VALUE, whole = true }] of Object.entries(wanted)) {
        const input = this.input(name);
        const number = found[name] = typed(input.value);
        const bad = !(number >= least && number <= most) || (whole && !Number.isInteger(number));
        input.setAttribute('aria-invalid', bad);
        const from = least > 0 && least < 1 ? 'above 0' : most < Number.MAX_VALUE ? `from ${least} to ${most.toLocaleString('en')}` : `of ${least} or more`;
        if (bad) wrong ||= `${input.parentElement.firstChild.textContent}: a ${whole ? 'whole ' : ''}number ${from}, please.`;
      }
      const [name, why] = wrong ? [] : also(found);
      if (name) this.input(name).setAttribute('aria-invalid', true);
      this.part('#problem').textContent = wrong || (why ?? '');
      return wrong || why ? null : found;
    }

    /** Whether the reader asked for less motion. */
    get still() { return matchMedia('(prefers-reduced-motion: reduce)').matches; }

    /** What `keys` has for a key that was pressed alone, and which then does nothing else. */
    static pressed(event, keys) {
      const found = event.ctrlKey || event.metaKey || event.altKey ? undefined : keys[event.key];
      if (found !== undefined) event.preventDefault();
      return found;
    }
  }

  const BUTTONS = { first: 'Start', back: 'Back', play: 'Play', next: 'Next', last: 'End' };

  /**
   * A widget with steps from 0 to `end`. It has `.controls`, and shows a step in `show(quiet, before)`: `quiet` while it
   * plays, and `before` is the step that was shown until now.
   */
  class Player extends Widget {
    step = 0;

    /** The buttons: `names` of them in their order, and what else stands there. */
    static controls(label, names, more = '<output aria-hidden="true"></output>') {
      const buttons = names.map((name) => `<button type="button" class="${name}">${BUTTONS[name]}</button>`);
      return `<div class="controls" role="group" aria-label="${label}">${buttons.join('')}${more}</div>`;
    }

    /** Lets the buttons and the arrow keys go through the steps; `every` is the time of a step that plays, in ms. */
    plays(every, ...keys) {
      this.every = every;
      this.ways = { first: () => 0, back: () => this.step - 1, next: () => this.step + 1, last: () => this.end };
      for (const [name, to] of Object.entries(this.ways)) this.part(`.${name}`)?.addEventListener('click', () => this.go(to()));
      this.on('.play', 'click', () => (this.timer ? this.pause() : this.play()));
      this.part('.play').hidden = this.still; // it moves by itself, which the reader asked not to have
      for (const selector of ['.controls', ...keys]) this.on(selector, 'keydown', (event) => this.key(event));
    }

    disconnectedCallback() { this.pause(); }

    key(event) {
      const { first: Home, back: ArrowLeft, next: ArrowRight, last: End } = this.ways;
      const to = Widget.pressed(event, { Home, ArrowLeft, ArrowRight, End });
      if (to) this.go(to());
    }

    play() {
      const onward = () => {
        this.move(this.step === this.end ? 0 : this.step + 1, true);
        if (this.step === this.end) this.pause();
      };
      this.timer = setInterval(onward, this.every);
      this.part('.play').textContent = 'Pause';
      onward();
    }

    pause() {
      clearInterval(this.timer);
      this.timer = undefined;
      if (this.shadowRoot) this.part('.play').textContent = BUTTONS.play;
    }

    /** Goes where the reader wants to be. */
    go(to) {
      this.pause();
      this.move(to);
    }

    /** Shows a step, or the last one before the end that it is beyond. */
    move(to, quiet = false) {
      const before = this.step;
      this.step = Math.min(Math.max(to, 0), this.end);
      this.show(quiet, before);
      // A button that is used up keeps the focus: only its look says so.
      for (const [name, used] of [['first', 0], ['back', 0], ['next', this.end], ['last', this.end]]) {
        this.part(`.${name}`)?.setAttribute('aria-disabled', this.step === used);
      }
    }
  }

  // The tests have no page.
  const all = { Widget, Player, bytes, duration, escape, facts, field, model, options, plain, scaled, select, superscript };
  if (globalThis.customElements) globalThis.throughputWidgets = all;
  else module.exports = all;
})();
