// <card-calculator>: hours, energy and money of a training run on each card of the table.
//
// What stands in the element is for readers without JavaScript, and for paper.
(() => {
  'use strict';

  // ---- The table and the arithmetic of chapter 8's crate: page.rs and calculator.rs. A test of the crate holds both
  // equal; `UPDATE=1 cargo test -p hardware --test card_calculator` writes the next line anew.

  const DATA = null;

  // Bytes that Adam moves and that a step holds for each weight, as in job.rs.
  const ADAM = 28;
  const HELD = 16;

  /** Bytes that a step moves on a card. */
  const stepBytes = (job, card) => (ADAM + 3 * card.bytes) * job.parameters + 4 * card.bytes * job.kept * job.batch;

  /** Bytes that a step holds. */
  const memory = (job, card) => HELD * job.parameters + card.bytes * job.kept * job.batch;

  /** Seconds of a job on so many cards: in the best case and in the worst. */
  function seconds(job, card, cards) {
    const run = (compute, copy, parallel, launch) => {
      const many = cards === 1 ? 1 : cards * parallel;
      const arithmetic = job.operations * job.batch / (compute * card.peak);
      const traffic = stepBytes(job, card) / (copy * card.bandwidth);
      return Math.ceil(job.examples / job.batch) * (Math.max(arithmetic, traffic) / many + job.launches * launch);
    };
    const { launch, parallel } = DATA;
    return [
      run(card.compute[1], card.copy[1], parallel[1], launch[0]),
      run(card.compute[0], card.copy[0], parallel[0], launch[1]),
    ];
  }

  /** Hours until a bought card has cost as much as a rented one; null if it never does. */
  function breakEven(price, rent, watts, perKwh) {
    const saved = rent - watts / 1000 * perKwh;
    return saved > 0 ? price / saved : null;
  }

  /** What the job takes on a card; with `why` if it can't. */
  function line(job, card, cards, perKwh) {
    if (Math.max(Math.ceil(memory(job, card) / card.memory), 1) > cards) return { card, why: 'too little memory' };
    const hours = seconds(job, card, cards).map((s) => s / 3600);
    const pair = (numbers, factor) => numbers && numbers.map((n, i) => n * factor * hours[i]);
    const kwh = card.power && pair(DATA.draw, cards * card.power / 1000);
    const rent = pair(card.rent, cards);
    const even = card.rent && card.price && card.power
      ? [card.rent[1], card.rent[0]].map((one) => breakEven(card.price, one, card.power, perKwh)) : null;
    const bought = card.price && kwh ? kwh.map((n) => cards * card.price + n * perKwh) : null;
    return { card, hours, kwh, rent, cost: rent ?? bought, breakEven: even?.every((n) => n !== null) ? even : null };
  }

  const middle = (range) => (range ? Math.sqrt(range[0] * range[1]) : Infinity);

  /** All cards, the cheapest first; those that can't last. */
  function calculate(job, cards, perKwh) {
    return DATA.cards.map((card) => line(job, card, cards, perKwh))
      .sort((a, b) => Boolean(a.why) - Boolean(b.why) || middle(a.cost) - middle(b.cost) || middle(a.hours) - middle(b.hours) || 0);
  }

  // Without a page, in the tests, there is only the arithmetic.
  if (typeof customElements === 'undefined') {
    module.exports = { DATA, seconds, memory, breakEven, calculate };
    return;
  }

  // ---- The page ------------------------------------------------------------------------------------

  const FIELDS = [
    ['parameters', 'Weights (millions)', 1e6],
    ['operations', 'Operations for one example, forward and backward (10⁹)', 1e9],
    ['kept', 'Numbers kept for one example (millions)', 1e6],
    ['batch', 'Batch', 1],
    ['examples', 'Examples in all (thousands)', 1e3],
  ];
  const READERS = { small: 'Small jobs: chapter 4’s CNN', laptop: 'Laptop: VGG16 on your own pictures', workstation: 'Workstation: VGG16 on ImageNet', cluster: 'Cluster: a language model, in tokens' };

  const STYLE = `
    .desk { display: grid; gap: 1.4rem; margin-block: 1.6rem 2.4rem; }
    .ask { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(24rem, 100%), 1fr)); gap: 1rem 1.4rem; align-items: end; }
    label { display: grid; gap: 0.3rem; font-size: 0.94em; }
    input, select { font: inherit; width: 100%; box-sizing: border-box; min-height: 3.2rem; padding: 0.3rem 0.8rem; color: var(--fg); background: var(--bg); border: 1px solid var(--searchbar-border-color, currentColor); border-radius: 4px; }
    input[aria-invalid="true"] { outline: 2px dashed var(--series-2); }
    input:focus-visible, select:focus-visible, .wide:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
    .hint { margin: 0; color: var(--muted); font-size: 0.9em; }
    .wide { overflow-x: auto; }
    table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; font-size: 0.9em; }
    caption { text-align: start; padding-block-end: 0.6rem; }
    th, td { text-align: end; padding: 0.4rem 0.8rem; border-block-end: 1px solid var(--line, currentColor); white-space: nowrap; }
    th:first-child { text-align: start; font-weight: 600; }
    thead th { color: var(--muted); font-weight: 400; }
    tr.out { color: var(--muted); }
    slot { display: none; }
    @media print { .desk { display: none; } slot { display: contents; } }
  `;

  /** A number for people, of three digits. */
  function text(x) {
    if (x === null || x === undefined) return '–';
    if (x !== 0 && (Math.abs(x) >= 1e7 || Math.abs(x) < 1e-3)) return x.toExponential(1).replace('-', '−').replace('e+', 'e');
    return new Intl.NumberFormat('en', { maximumSignificantDigits: 3 }).format(x);
  }
  const range = (ends) => {
    if (!ends) return '–';
    const [low, high] = ends.map(text);
    return low === high ? low : `${low} to ${high}`;
  };

  class CardCalculator extends HTMLElement {
    connectedCallback() {
      if (this.shadowRoot) return;
      const field = ([name, label]) => `<label>${label}<input name="${name}" inputmode="decimal" autocomplete="off" aria-describedby="problem"></label>`;
      this.attachShadow({ mode: 'open' }).innerHTML = `<style>${STYLE}</style><slot></slot>
        <div class="desk">
          <div class="ask">
            <label>Job<select name="job">${DATA.jobs.map(({ reader }, at) => `<option value="${at}">${READERS[reader] ?? reader}</option>`).join('')}<option value="own">Your own numbers</option></select></label>
            ${FIELDS.map(field).join('')}
            ${field(['cards', 'Cards'])}
            ${field(['electricity', 'US dollars for a kWh'])}
          </div>
          <p id="problem" class="hint" role="status"></p>
          <div class="wide" tabindex="0" role="region" aria-label="Cards for this job"><table>
            <caption></caption>
            <thead><tr>${['Card', 'Hours', 'kWh', 'Rent, USD', 'Price, USD', 'Break-even, hours'].map((name) => `<th scope="col">${name}</th>`).join('')}</tr></thead>
            <tbody></tbody></table></div>
        </div>`;
      this.inputs = [...this.shadowRoot.querySelectorAll('input')];
      this.choice = this.part('select');
      this.choice.addEventListener('change', () => { if (this.choice.value !== 'own') this.choose(Number(this.choice.value)); });
      for (const input of this.inputs) {
        input.addEventListener('input', () => {
          if (FIELDS.some(([name]) => name === input.name)) this.choice.value = 'own';
          this.show();
        });
      }
      // mdBook turns the page with the arrow keys, and opens the search with others.
      this.addEventListener('keydown', (event) => event.stopPropagation());
      this.input('electricity').value = DATA.electricity;
      const start = Math.max(DATA.jobs.findIndex(({ reader }) => reader === this.getAttribute('reader')), 0);
      this.choice.value = String(start);
      this.choose(start);
    }

    part(selector) { return this.shadowRoot.querySelector(selector); }

    input(name) { return this.inputs.find((one) => one.name === name); }

    /** Puts a reader's job into the fields. */
    choose(at) {
      const { job, cards } = DATA.jobs[at];
      this.launches = job.launches;
      for (const [name, , scale] of FIELDS) this.input(name).value = Number((job[name] / scale).toPrecision(6));
      this.input('cards').value = cards;
      this.show();
    }

    show() {
      let wrong = '';
      const number = (name, least) => {
        const input = this.input(name);
        const value = Number(input.value.trim().replace(',', '.'));
        const bad = input.value.trim() === '' || !Number.isFinite(value) || value < least;
        input.setAttribute('aria-invalid', String(bad));
        if (bad) wrong = `${input.closest('label').firstChild.textContent}: a number ${least === 0 ? 'of 0 or more' : 'above 0'}, please.`;
        return value;
      };
      const job = { launches: this.launches };
      for (const [name, , scale] of FIELDS) job[name] = number(name, name === 'kept' ? 0 : Number.MIN_VALUE) * scale;
      const cards = number('cards', 1);
      if (!Number.isInteger(cards) && !wrong) wrong = 'Cards: a whole number, please.';
      const electricity = number('electricity', 0);
      this.part('#problem').textContent = wrong;
      if (wrong) return;
      const lines = calculate(job, cards, electricity);
      const best = lines[0].cost ? lines[0] : null;
      this.part('caption').textContent = best
        ? `Cheapest: ${best.card.name}, ${range(best.hours)} hours for ${range(best.cost)} US dollars. Cloud prices of ${DATA.prices[0]} to ${DATA.prices[1]}.`
        : 'No card of the table can do it with so few of them.';
      const rows = lines.map((one) => {
        const row = document.createElement('tr');
        const cells = one.why ? [one.why, '', '', '', '']
          : [range(one.hours), range(one.kwh), range(one.rent), one.card.price ? new Intl.NumberFormat('en').format(one.card.price * cards) : '–', range(one.breakEven)];
        const name = document.createElement('th');
        name.scope = 'row';
        name.textContent = cards > 1 ? `${cards} × ${one.card.name}` : one.card.name;
        row.append(name, ...cells.map((cell) => Object.assign(document.createElement('td'), { textContent: cell })));
        row.classList.toggle('out', Boolean(one.why));
        return row;
      });
      this.part('tbody').replaceChildren(...rows);
    }
  }

  customElements.define('card-calculator', CardCalculator);
})();
