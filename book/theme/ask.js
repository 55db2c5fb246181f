// "Ask me first": the paragraph that answers a prediction stays covered until the reader has predicted the number. What
// was said, and so the tally, is kept on the reader's machine alone. Off at first, and without this file, all shows.
(() => {
  'use strict';
  const KEY = 'throughput-ask';
  // What was said, by the number's name: its `text`, its `value` in the record's unit, and how far `off` it was, over what
  // was measured. Who passed said nothing.
  let memory = { on: false, said: {} };
  // Another window may have changed it.
  const recall = () => { try { memory = { ...memory, ...JSON.parse(localStorage.getItem(KEY)) }; } catch { /* private window */ } };
  const change = (work) => {
    recall();
    work();
    try { localStorage.setItem(KEY, JSON.stringify(memory)); } catch { /* private window */ }
    draw();
  };

  // The warp viewer has the same switch.
  const turn = (on) => { change(() => { memory.on = on; }); document.dispatchEvent(new Event('throughput-ask')); };
  globalThis.throughputAsk = { get on() { return memory.on; }, turn };

  const make = (tag, properties, ...children) => {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...children);
    return element;
  };

  /** The number that the page shows, as it is written and as it was recorded; none if it is another machine's. */
  function shown(span) {
    const link = span.querySelector('a.measured:not([hidden])');
    if (!link || span.querySelector('a.elsewhere:not([hidden])')) return null;
    // A sign is left out: the question asks for a size. 3.84×10⁻⁶ is a number, and no 3.84 of a unit.
    const [text, digits, power, unit] = link.textContent.match(/^−?([\d.,]+)(?:×10([⁻⁰¹²³⁴-⁹]+))?(\D*)$/) ?? [];
    const exponent = [...power ?? ''].map((sign) => '⁻⁰¹²³⁴⁵⁶⁷⁸⁹'.indexOf(sign) - 1).map((digit) => (digit < 0 ? '-' : digit)).join('');
    const number = Number(`${digits?.replaceAll(',', '')}e${exponent || 0}`);
    return number > 0 ? { text, unit, number, exact: Math.abs(Number(link.querySelector('data').value)) } : null;
  }

  const isClose = (off) => Math.abs(off - 1) < 0.1 + 1e-9; // as the page's own verdicts
  const isNear = (off) => off >= 0.5 && off <= 2;

  /** What became of a prediction. */
  function verdict(question, said, found) {
    if (!said.text) return `${question}: you passed${found ? `; measured ${found.text}` : ''}.`;
    const words = `${question}: you said ${said.text}`;
    if (!found) return `${words}, and this machine has no number.`;
    const off = said.value / found.exact;
    if (isClose(off)) return `✔ ${words}, measured ${found.text}: within 10%.`;
    const factor = Number(Math.max(off, 1 / off).toPrecision(2));
    return `✗ ${words}, measured ${found.text}: ${factor < 1e4 ? `${factor.toLocaleString('en')} times` : 'far'} too ${off < 1 ? 'low' : 'high'}.`;
  }

  const BLOCK = ['main', '.claim', 'blockquote', 'details'].map((parent) => `${parent} > *`).join();

  class Asked {
    constructor(span) {
      this.span = span;
      this.question = span.dataset.ask;
      this.name = `${span.querySelector('a.measured').hash} ${this.question}`; // one run answers several questions
      // Figures and tables that stand beside the answer give it away.
      const block = span.closest(BLOCK);
      const drawn = (side) => {
        const all = [];
        for (let next = block[side]; next?.matches('.figure, .measured-table, .table-wrapper'); next = next[side]) all.push(next);
        return all;
      };
      this.answer = [...drawn('previousElementSibling').reverse(), block, ...drawn('nextElementSibling')];
      // The machine switch shows another number, or brings it a moment later.
      new MutationObserver(draw).observe(span, { subtree: true, childList: true, attributeFilter: ['hidden'] });
    }

    draw() {
      const [said, found] = [memory.said[this.name], shown(this.span)];
      this.asks = memory.on && !said && found;
      if (this.asks) this.ask(found);
      else this.note(memory.on && said ? make('p', { className: 'ask-said', tabIndex: -1, textContent: verdict(this.question, said, found) }) : null);
    }

    /** Puts something before the answer, or nothing. */
    note(element) {
      this.noted?.remove();
      this.noted = element;
      if (element) this.answer[0].before(element);
    }

    ask(found) {
      if (!this.noted?.matches('form')) this.note(this.form());
      this.noted.querySelector('.unit').textContent = found.unit.trim();
    }

    form() {
      const input = make('input', { type: 'number', min: 0, step: 'any', required: true, autocomplete: 'off' });
      const pass = make('button', { type: 'button', textContent: 'I pass' });
      const form = make('form', { className: 'ask-first' },
        make('label', {}, make('b', { textContent: 'Your prediction. ' }), `${this.question}: `, input, ' ', make('span', { className: 'unit' })),
        make('button', { textContent: 'Show' }), pass);
      form.addEventListener('submit', (event) => { event.preventDefault(); this.tell(input.valueAsNumber); });
      pass.addEventListener('click', () => this.tell());
      return form;
    }

    /** The reader has predicted a number, or passed. */
    tell(number) {
      const { unit, number: right, exact } = shown(this.span);
      const off = number / right;
      const plain = number?.toLocaleString('en', { maximumSignificantDigits: 6 });
      const text = `${number > 0 && number < 1e-4 ? number.toExponential() : plain}${unit}`;
      change(() => { memory.said[this.name] = number === undefined ? {} : { text, value: off * exact, off }; });
      this.noted.focus(); // what is said there is read aloud
    }
  }

  const switches = [...document.querySelectorAll('.ask-switch')].map((place) => {
    const tick = make('input', { type: 'checkbox' });
    const tally = make('span', {});
    const clear = make('button', { type: 'button', textContent: 'Clear', title: 'Forget all my predictions' });
    tick.addEventListener('change', () => turn(tick.checked));
    clear.addEventListener('click', () => { change(() => { memory.said = {}; }); tick.focus(); });
    place.append(make('label', {}, tick, 'Ask me first'), tally, clear);
    return { tick, tally, clear };
  });

  function draw() {
    const said = Object.values(memory.said);
    const told = said.filter(({ text }) => text).map(({ off }) => off);
    for (const { tick, tally, clear } of switches) {
      tick.checked = memory.on;
      tally.textContent = told.length ? `${told.filter(isNear).length} of ${told.length} within a factor of 2, ${told.filter(isClose).length} within 10%` : '';
      clear.hidden = !said.length;
    }
    for (const asked of all) asked.draw();
    // A figure may stand between two answers.
    for (const element of all.flatMap(({ answer }) => answer)) element.classList.toggle('covered', all.some(({ asks, answer }) => asks && answer.includes(element)));
  }

  recall();
  // The page of all pages is for paper, on which nothing is covered.
  const paper = /(^|\/)print\.html$/.test(location.pathname);
  const all = [...document.querySelectorAll('main [data-ask]:has(a.measured)')].filter(() => !paper).map((span) => new Asked(span));
  draw();
})();
