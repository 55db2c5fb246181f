// <card-calculator>: hours, energy and money of a training run on each card of the table.
//
// What stands in the element is for readers without JavaScript, and for paper.
(() => {
  'use strict';

  // ---- The table and the arithmetic of chapter 8's crate: page.rs and calculator.rs. A test of the crate holds both
  // equal; `UPDATE=1 cargo test -p hardware --test card_calculator` writes the next line anew.

  const DATA = {"cards":[{"bandwidth":320000000000.0,"bytes":2.0,"compute":[0.16987179487179488,0.6598062953995157],"copy":[0.7925453653751839,0.9285714285714286],"format":"f16","id":"t4","memory":16000000000.0,"name":"NVIDIA T4","peak":65000000000000.0,"power":70.0,"price":null,"rent":[0.5904,0.5904]},{"bandwidth":900000000000.0,"bytes":2.0,"compute":[0.288,0.512],"copy":[0.8711111111111111,0.8711111111111111],"format":"f16","id":"v100","memory":16000000000.0,"name":"NVIDIA V100 SXM2","peak":125000000000000.0,"power":300.0,"price":null,"rent":[0.55,0.55]},{"bandwidth":1555000000000.0,"bytes":2.0,"compute":[0.16987179487179488,0.6598062953995157],"copy":[0.7925453653751839,0.9285714285714286],"format":"bf16","id":"a100-40","memory":40000000000.0,"name":"NVIDIA A100 SXM 40 GB","peak":312000000000000.0,"power":400.0,"price":null,"rent":[1.99,2.74470525]},{"bandwidth":2039000000000.0,"bytes":2.0,"compute":[0.16987179487179488,0.4358974358974359],"copy":[0.7925453653751839,0.7925453653751839],"format":"bf16","id":"a100-80","memory":80000000000.0,"name":"NVIDIA A100 SXM 80 GB","peak":312000000000000.0,"power":400.0,"price":null,"rent":[1.39,3.43088125]},{"bandwidth":300000000000.0,"bytes":2.0,"compute":[0.16987179487179488,0.6598062953995157],"copy":[0.7925453653751839,0.9285714285714286],"format":"bf16","id":"l4","memory":24000000000.0,"name":"NVIDIA L4","peak":121000000000000.0,"power":72.0,"price":null,"rent":[0.7992,0.7992]},{"bandwidth":864000000000.0,"bytes":2.0,"compute":[0.16987179487179488,0.6598062953995157],"copy":[0.7925453653751839,0.9285714285714286],"format":"bf16","id":"l40s","memory":48000000000.0,"name":"NVIDIA L40S","peak":362000000000000.0,"power":350.0,"price":null,"rent":[1.9512,1.9512]},{"bandwidth":360000000000.0,"bytes":2.0,"compute":[0.16987179487179488,0.6598062953995157],"copy":[0.7925453653751839,0.9285714285714286],"format":"bf16","id":"rtx-3060","memory":12000000000.0,"name":"NVIDIA GeForce RTX 3060 12 GB","peak":25300000000000.0,"power":170.0,"price":329.0,"rent":null},{"bandwidth":256000000000.0,"bytes":2.0,"compute":[0.16987179487179488,0.6598062953995157],"copy":[0.7925453653751839,0.9285714285714286],"format":"bf16","id":"rtx-4060-laptop","memory":8000000000.0,"name":"NVIDIA GeForce RTX 4060 Laptop","peak":29100000000000.0,"power":115.0,"price":null,"rent":null},{"bandwidth":504000000000.0,"bytes":2.0,"compute":[0.16987179487179488,0.6598062953995157],"copy":[0.7925453653751839,0.9285714285714286],"format":"bf16","id":"rtx-4070","memory":12000000000.0,"name":"NVIDIA GeForce RTX 4070","peak":58300000000000.0,"power":200.0,"price":599.0,"rent":null},{"bandwidth":1008000000000.0,"bytes":2.0,"compute":[0.3268765133171913,0.6598062953995157],"copy":[0.9285714285714286,0.9285714285714286],"format":"bf16","id":"rtx-4090","memory":24000000000.0,"name":"NVIDIA GeForce RTX 4090","peak":165200000000000.0,"power":450.0,"price":1599.0,"rent":[0.29,0.69]},{"bandwidth":1792000000000.0,"bytes":2.0,"compute":[0.16987179487179488,0.6598062953995157],"copy":[0.7925453653751839,0.9285714285714286],"format":"bf16","id":"rtx-5090","memory":32000000000.0,"name":"NVIDIA GeForce RTX 5090","peak":209500000000000.0,"power":575.0,"price":1999.0,"rent":[0.9081,0.9081]},{"bandwidth":768000000000.0,"bytes":2.0,"compute":[0.2454780361757106,0.45219638242894056],"copy":[0.8541666666666666,0.8541666666666666],"format":"bf16","id":"rtx-a6000","memory":48000000000.0,"name":"NVIDIA RTX A6000","peak":154800000000000.0,"power":300.0,"price":null,"rent":[0.8,0.82]},{"bandwidth":3350000000000.0,"bytes":2.0,"compute":[0.16987179487179488,0.6598062953995157],"copy":[0.7925453653751839,0.9285714285714286],"format":"bf16","id":"h100","memory":80000000000.0,"name":"NVIDIA H100 SXM","peak":989000000000000.0,"power":700.0,"price":null,"rent":[2.69,6.88]},{"bandwidth":4800000000000.0,"bytes":2.0,"compute":[0.16987179487179488,0.6598062953995157],"copy":[0.7925453653751839,0.9285714285714286],"format":"bf16","id":"h200","memory":141000000000.0,"name":"NVIDIA H200 SXM","peak":989000000000000.0,"power":700.0,"price":null,"rent":[4.59,4.59]},{"bandwidth":8000000000000.0,"bytes":2.0,"compute":[0.16987179487179488,0.6598062953995157],"copy":[0.7925453653751839,0.9285714285714286],"format":"bf16","id":"b200","memory":180000000000.0,"name":"NVIDIA B200 SXM","peak":2250000000000000.0,"power":1000.0,"price":null,"rent":[6.79,6.79]},{"bandwidth":3280000000000.0,"bytes":2.0,"compute":[0.16987179487179488,0.6598062953995157],"copy":[0.7925453653751839,0.9285714285714286],"format":"bf16","id":"mi250x","memory":128000000000.0,"name":"AMD Instinct MI250X","peak":383000000000000.0,"power":560.0,"price":null,"rent":null},{"bandwidth":5300000000000.0,"bytes":2.0,"compute":[0.16987179487179488,0.5114001530221882],"copy":[0.7925453653751839,0.9285714285714286],"format":"bf16","id":"mi300x","memory":192000000000.0,"name":"AMD Instinct MI300X","peak":1307000000000000.0,"power":750.0,"price":null,"rent":[1.99,1.99]},{"bandwidth":1200000000000.0,"bytes":2.0,"compute":[0.16987179487179488,0.6598062953995157],"copy":[0.7925453653751839,0.9285714285714286],"format":"bf16","id":"tpu-v4","memory":34360000000.0,"name":"Google TPU v4","peak":275000000000000.0,"power":192.0,"price":null,"rent":null},{"bandwidth":819000000000.0,"bytes":2.0,"compute":[0.16987179487179488,0.6598062953995157],"copy":[0.7925453653751839,0.9285714285714286],"format":"bf16","id":"tpu-v5e","memory":16000000000.0,"name":"Google TPU v5e","peak":197000000000000.0,"power":null,"price":null,"rent":[1.2,1.2]},{"bandwidth":2765000000000.0,"bytes":2.0,"compute":[0.16987179487179488,0.6598062953995157],"copy":[0.7925453653751839,0.9285714285714286],"format":"bf16","id":"tpu-v5p","memory":95000000000.0,"name":"Google TPU v5p","peak":459000000000000.0,"power":null,"price":null,"rent":[4.2,4.2]},{"bandwidth":1638000000000.0,"bytes":2.0,"compute":[0.16987179487179488,0.6598062953995157],"copy":[0.7925453653751839,0.9285714285714286],"format":"bf16","id":"tpu-v6e","memory":32000000000.0,"name":"Google TPU v6e","peak":918000000000000.0,"power":null,"price":null,"rent":[2.7,2.7]},{"bandwidth":2460000000000.0,"bytes":2.0,"compute":[0.16987179487179488,0.6598062953995157],"copy":[0.7925453653751839,0.9285714285714286],"format":"bf16","id":"gaudi-2","memory":96000000000.0,"name":"Intel Gaudi 2","peak":432000000000000.0,"power":600.0,"price":null,"rent":null},{"bandwidth":3670000000000.0,"bytes":2.0,"compute":[0.16987179487179488,0.6598062953995157],"copy":[0.7925453653751839,0.9285714285714286],"format":"bf16","id":"gaudi-3","memory":128000000000.0,"name":"Intel Gaudi 3","peak":1835000000000000.0,"power":900.0,"price":15625.0,"rent":null},{"bandwidth":65400000000000.0,"bytes":2.0,"compute":[0.16987179487179488,0.6598062953995157],"copy":[0.7925453653751839,0.9285714285714286],"format":"f16","id":"bow-ipu","memory":900000000.0,"name":"Graphcore Bow IPU","peak":350000000000000.0,"power":null,"price":null,"rent":null},{"bandwidth":460800000000.0,"bytes":2.0,"compute":[0.16987179487179488,0.6598062953995157],"copy":[0.7925453653751839,0.9285714285714286],"format":"bf16","id":"epyc-9654","memory":6144000000000.0,"name":"AMD EPYC 9654","peak":14700000000000.0,"power":360.0,"price":11805.0,"rent":null},{"bandwidth":307200000000.0,"bytes":2.0,"compute":[0.16987179487179488,0.6598062953995157],"copy":[0.7925453653751839,0.9285714285714286],"format":"bf16","id":"xeon-8490h","memory":4096000000000.0,"name":"Intel Xeon Platinum 8490H","peak":117000000000000.0,"power":350.0,"price":17000.0,"rent":null}],"draw":[0.5444444444444444,1.1],"electricity":0.16,"jobs":[{"cards":1,"job":{"batch":128.0,"examples":360000.0,"kept":24666.0,"launches":31.0,"name":"cnn","operations":9556480.0,"parameters":117066.0},"reader":"small"},{"cards":1,"job":{"batch":16.0,"examples":100000.0,"kept":16776168.0,"launches":111.0,"name":"vgg16","operations":92648177664.0,"parameters":138357544.0},"reader":"laptop"},{"cards":1,"job":{"batch":64.0,"examples":94806358.0,"kept":16776168.0,"launches":111.0,"name":"vgg16","operations":92648177664.0,"parameters":138357544.0},"reader":"workstation"},{"cards":64,"job":{"batch":4000000.0,"examples":140000000000.0,"kept":136626.01021279464,"launches":1920.0,"name":"a language model of 7 billion weights","operations":42000000000.0,"parameters":7000000000.0},"reader":"cluster"}],"launch":[5e-7,6.7e-6],"parallel":[0.39,0.9],"prices":["2025-02-18","2026-11-21"]};

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
    const cost = middle(bought) < middle(rent) ? bought : rent;
    return { card, hours, kwh, rent, cost, breakEven: even?.every((n) => n !== null) ? even : null };
  }

  const middle = (range) => (range ? Math.sqrt(range[0] * range[1]) : Infinity);

  /** All cards, the cheapest first; those that can't last. */
  function calculate(job, cards, perKwh) {
    return DATA.cards.map((card) => line(job, card, cards, perKwh))
      .sort((a, b) => Boolean(a.why) - Boolean(b.why) || middle(a.cost) - middle(b.cost) || middle(a.hours) - middle(b.hours) || 0);
  }

  // ---- The page ------------------------------------------------------------------------------------

  const { Widget, field, select } = globalThis.throughputWidgets ?? require('./widget.js');

  const FIELDS = [
    ['parameters', 'Weights (millions)', 1e6],
    ['operations', 'Operations for one example, forward and backward (10⁹)', 1e9],
    ['kept', 'Numbers kept for one example (millions)', 1e6],
    ['batch', 'Batch', 1],
    ['examples', 'Examples in all (thousands)', 1e3],
  ];
  const READERS = { small: 'Small jobs: chapter 4’s CNN', laptop: 'Laptop: VGG16 on your own pictures', workstation: 'Workstation: VGG16 on ImageNet', cluster: 'Cluster: a language model, in tokens' };

  const STYLE = `
    .desk { gap: 1.4rem; }
    .ask { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(24rem, 100%), 1fr)); gap: 1rem 1.4rem; align-items: end; }
    label { font-size: 0.94em; }
    input, select { width: 100%; }
    .wide { overflow-x: auto; container-type: inline-size; }
    table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; font-size: 0.9em; }
    caption { text-align: start; padding-block-end: 0.6rem; inline-size: 100cqi; position: sticky; inset-inline-start: 0; }
    th, td { text-align: end; padding: 0.4rem 0.8rem; border-block-end: 1px solid var(--line, currentColor); white-space: nowrap; }
    th:first-child { text-align: start; font-weight: 600; white-space: normal; }
    thead th { color: var(--muted); font-weight: 400; }
    thead th { white-space: normal; vertical-align: bottom; }
    tr.out { color: var(--muted); }
    /* A phone has no room for six columns: each card is a block, and each number has its name. */
    @media (max-width: 620px) {
      table, caption, tbody { display: block; } thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
      tbody tr { display: grid; grid-template-columns: repeat(2, 1fr); gap: 0 1.4rem; padding-block: 0.6rem; border-block-end: 1px solid var(--line, currentColor); }
      tbody :is(th, td) { padding: 0.1rem 0; border: 0; text-align: start; } tbody th, tr.out td { grid-column: 1 / -1; }
      td { display: flex; flex-wrap: wrap; gap: 0 0.6rem; justify-content: space-between; } td:last-child { grid-column: 1 / -1; justify-content: start; } td:empty { display: none; }
      td[data-name]::before { content: attr(data-name); color: var(--muted); } tr.out td::before { content: none; }
    }
  `;

  const COLUMNS = ['Hours', 'kWh', 'Rent, USD', 'Price, USD', 'Break-even, hours'];

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

  class CardCalculator extends Widget {
    made() {
      this.desk(STYLE, `
        <div class="ask">
          ${select('job', 'Job', [...DATA.jobs.map(({ reader }, at) => [at, READERS[reader] ?? reader]), ['own', 'Your own numbers']])}
          ${[...FIELDS, ['cards', 'Cards'], ['electricity', 'US dollars for a kWh']].map(([name, label]) => field(name, label)).join('')}
        </div>
        <p id="problem" class="hint" role="status"></p>
        <div class="wide" tabindex="0" role="region" aria-label="Cards for this job"><table role="table">
          <caption></caption>
          <thead role="rowgroup"><tr role="row">${['Card', ...COLUMNS].map((name) => `<th scope="col" role="columnheader">${name}</th>`).join('')}</tr></thead>
          <tbody role="rowgroup"></tbody></table></div>`);
      this.on('.ask', 'input', ({ target: { name, value } }) => {
        if (name === 'job' && value !== 'own') this.choose(Number(value));
        if (FIELDS.some(([one]) => one === name)) this.input('job').value = 'own';
        this.show();
      });
      this.input('electricity').value = DATA.electricity;
      const start = Math.max(DATA.jobs.findIndex(({ reader }) => reader === this.getAttribute('reader')), 0);
      this.input('job').value = String(start);
      this.choose(start);
      this.show();
    }

    /** Puts a reader's job into the fields. */
    choose(at) {
      const { job, cards } = DATA.jobs[at];
      this.launches = job.launches;
      for (const [name, , scale] of FIELDS) this.input(name).value = Number((job[name] / scale).toPrecision(6));
      this.input('cards').value = cards;
    }

    show() {
      const [above, whole] = [Number.MIN_VALUE, false];
      const sizes = FIELDS.map(([name]) => [name, { least: name === 'kept' ? 0 : above, whole }]);
      const found = this.numbers({ ...Object.fromEntries(sizes), cards: {}, electricity: { least: 0, whole } });
      if (!found) return;
      const { cards, electricity } = found;
      const job = { launches: this.launches, ...Object.fromEntries(FIELDS.map(([name, , scale]) => [name, scale * found[name]])) };
      const lines = calculate(job, cards, electricity);
      const best = lines[0].cost ? lines[0] : null;
      this.part('caption').textContent = best
        ? `Cheapest: ${best.card.name}, ${range(best.hours)} hours for ${range(best.cost)} US dollars. Cloud prices of ${DATA.prices[0]} to ${DATA.prices[1]}.`
        : 'No card of the table can do it with so few of them.';
      this.part('tbody').innerHTML = lines.map(({ card, why, hours, kwh, rent, breakEven: even }) => {
        const cells = why ? [why, '', '', '', '']
          : [range(hours), range(kwh), range(rent), card.price ? new Intl.NumberFormat('en').format(card.price * cards) : '–', range(even)];
        const name = cards > 1 ? `${cards} × ${card.name}` : card.name;
        return `<tr role="row" class="${why ? 'out' : ''}"><th scope="row" role="rowheader">${name}</th>${
          cells.map((cell, at) => `<td role="cell" data-name="${COLUMNS[at]}">${cell}</td>`).join('')}</tr>`;
      }).join('');
    }
  }

  // Without a page, in the tests, there is only the arithmetic.
  if (globalThis.customElements) customElements.define('card-calculator', CardCalculator);
  else module.exports = { DATA, seconds, memory, breakEven, calculate };
})();
