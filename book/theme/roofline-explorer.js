// <roofline-explorer>: a kernel is dragged along the roofline of a machine.
//
// What stands in the element is for readers without JavaScript, and for paper. Its first table has machines that were
// measured (peak, bandwidth), its second one kernels (operations per byte, rate): the script takes the numbers from there.
(() => {
  'use strict';

  const { Widget, duration, facts, options, plain, scaled, select } = globalThis.throughputWidgets ?? require('./widget.js');

  // ---- The machines of chapter 8's table, and the operations and bytes of kernels. A test of that crate holds both to
  // the crates; `UPDATE=1 cargo test -p hardware --test roofline_explorer` writes the next line anew.

  const DATA = {"bytes":{"bf16":2.0,"f16":2.0,"f32":4.0,"fp8":1.0,"tf32":4.0},"cards":[{"bandwidth":320000000000.0,"cpu":false,"id":"t4","name":"NVIDIA T4","peaks":{"f16":65000000000000.0,"f32":8100000000000.0}},{"bandwidth":900000000000.0,"cpu":false,"id":"v100","name":"NVIDIA V100 SXM2","peaks":{"f16":125000000000000.0,"f32":15700000000000.0}},{"bandwidth":2039000000000.0,"cpu":false,"id":"a100-80","name":"NVIDIA A100 SXM 80 GB","peaks":{"bf16":312000000000000.0,"f16":312000000000000.0,"f32":19500000000000.0,"tf32":156000000000000.0}},{"bandwidth":300000000000.0,"cpu":false,"id":"l4","name":"NVIDIA L4","peaks":{"bf16":121000000000000.0,"f16":121000000000000.0,"f32":30300000000000.0,"fp8":242500000000000.0,"tf32":60000000000000.0}},{"bandwidth":1008000000000.0,"cpu":false,"id":"rtx-4090","name":"NVIDIA GeForce RTX 4090","peaks":{"bf16":165200000000000.0,"f16":165200000000000.0,"f32":82600000000000.0,"fp8":330300000000000.0,"tf32":82600000000000.0}},{"bandwidth":1792000000000.0,"cpu":false,"id":"rtx-5090","name":"NVIDIA GeForce RTX 5090","peaks":{"bf16":209500000000000.0,"f16":209500000000000.0,"f32":104800000000000.0,"fp8":419000000000000.0,"tf32":104800000000000.0}},{"bandwidth":3350000000000.0,"cpu":false,"id":"h100","name":"NVIDIA H100 SXM","peaks":{"bf16":989000000000000.0,"f16":989000000000000.0,"f32":67000000000000.0,"fp8":1979000000000000.0,"tf32":494500000000000.0}},{"bandwidth":4800000000000.0,"cpu":false,"id":"h200","name":"NVIDIA H200 SXM","peaks":{"bf16":989000000000000.0,"f16":989000000000000.0,"f32":67000000000000.0,"fp8":1979000000000000.0,"tf32":494500000000000.0}},{"bandwidth":8000000000000.0,"cpu":false,"id":"b200","name":"NVIDIA B200 SXM","peaks":{"bf16":2250000000000000.0,"f16":2250000000000000.0,"f32":80000000000000.0,"fp8":4500000000000000.0,"tf32":1125000000000000.0}},{"bandwidth":5300000000000.0,"cpu":false,"id":"mi300x","name":"AMD Instinct MI300X","peaks":{"bf16":1307000000000000.0,"f16":1307000000000000.0,"f32":163400000000000.0,"fp8":2614000000000000.0,"tf32":653700000000000.0}},{"bandwidth":2765000000000.0,"cpu":false,"id":"tpu-v5p","name":"Google TPU v5p","peaks":{"bf16":459000000000000.0}},{"bandwidth":3670000000000.0,"cpu":false,"id":"gaudi-3","name":"Intel Gaudi 3","peaks":{"bf16":1835000000000000.0,"fp8":1835000000000000.0}},{"bandwidth":460800000000.0,"cpu":true,"id":"epyc-9654","name":"AMD EPYC 9654","peaks":{"bf16":14700000000000.0,"f32":7400000000000.0}},{"bandwidth":307200000000.0,"cpu":true,"id":"xeon-8490h","name":"Intel Xeon Platinum 8490H","peaks":{"bf16":117000000000000.0,"f32":7300000000000.0}}],"vgg16":{"kept":16776168.0,"operations":92648177664.0,"parameters":138357544.0}};

  /** The most FLOP/s at so many operations per byte. */
  const bound = (intensity, peak, bandwidth) => Math.min(peak, intensity * bandwidth);

  // Each matrix is read or written once; a number has e bytes.
  const product = (m, k, n, e) => ({ operations: 2 * m * k * n, bytes: e * (m * k + k * n + m * n) });
  const both = (a, b) => ({ operations: a.operations + b.operations, bytes: a.bytes + b.bytes });
  const WIDTH = 4096;
  const HEAD = 128;
  const LENGTH = 2 ** 24;

  const KERNELS = {
    product: { name: 'Product of two n×n matrices', size: 'n', start: 1024, top: 16384, count: (n, e) => product(n, n, n, e) },
    forward: { name: 'Dense layer, 4096 to 4096, forward', size: 'batch', start: 32, top: 16384, count: (b, e) => product(b, WIDTH, WIDTH, e) },
    backward: { name: 'The same layer, backward', size: 'batch', start: 32, top: 16384, count: (b, e) => both(product(WIDTH, b, WIDTH, e), product(b, WIDTH, WIDTH, e)) },
    // A training step, as chapter 8's job.rs counts it.
    vgg16: {
      name: 'VGG16, a training step', size: 'batch', start: 32, top: 1024,
      count: (b, e) => ({ operations: DATA.vgg16.operations * b, bytes: (28 + 3 * e) * DATA.vgg16.parameters + 4 * e * DATA.vgg16.kept * b }),
    },
    // One head of 128 numbers for each token. The softmax between the products is left out.
    scores: { name: 'Attention that stores its scores', size: 'tokens', start: 2048, top: 65536, count: (s, e) => both(product(s, HEAD, s, e), product(s, s, HEAD, e)) },
    attention: { name: 'Attention whose scores stay on the chip', size: 'tokens', start: 2048, top: 65536, count: (s, e) => ({ operations: 4 * s * s * HEAD, bytes: 4 * s * HEAD * e }) },
    token: { name: 'Attention of one new token to all before', size: 'tokens', start: 2048, top: 65536, count: (s, e) => both(product(1, HEAD, s, e), product(1, s, HEAD, e)) },
    // Two numbers are read and one is written for each addition.
    sum: { name: 'Sum of two arrays, as in an all-reduce', count: (_, e) => ({ operations: LENGTH, bytes: 3 * e * LENGTH }) },
  };

  /** Operations per byte of a kernel whose numbers have a format. */
  function intensity(kernel, size, format) {
    const { operations, bytes } = KERNELS[kernel].count(size, DATA.bytes[format]);
    return operations / bytes;
  }

  // ---- The drawing -----------------------------------------------------------------------------------

  const [LOW, HIGH] = [0.01, 1e4];
  const SIDE = { left: 52, right: 14, top: 14, bottom: 44 };

  /** Where an intensity is drawn in a picture so wide, and back. */
  const across = (x, width) => SIDE.left + (width - SIDE.left - SIDE.right) * Math.log(x / LOW) / Math.log(HIGH / LOW);
  const along = (px, width) => LOW * (HIGH / LOW) ** Math.min(Math.max((px - SIDE.left) / (width - SIDE.left - SIDE.right), 0), 1);

  /** The roofline as SVG. The first of the points is the one that is dragged; one with a rate of its own has been measured. */
  function picture({ peak, bandwidth, points }, width = 640, height = 400, desc = '') {
    const top = 3 * peak;
    const bottom = top / 10 ** 5.5;
    const [right, floor] = [width - SIDE.right, height - SIDE.bottom];
    const px = (x) => across(x, width).toFixed(1);
    const py = (y) => (SIDE.top + (floor - SIDE.top) * Math.log(top / Math.max(y, bottom)) / Math.log(top / bottom)).toFixed(1);
    const ridge = peak / bandwidth;
    const out = [`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="inherit" font-size="13" fill="currentColor">`];
    if (desc) out.push(`<desc>${desc}</desc>`);
    out.push(`<path d="M${px(LOW)} ${floor}V${py(LOW * bandwidth)}L${px(ridge)} ${py(peak)}V${floor}Z" fill="var(--series-2, #b04a00)" fill-opacity="0.1"/>`);
    out.push(`<path d="M${px(ridge)} ${floor}V${py(peak)}H${right}V${floor}Z" fill="var(--series-1, #2a52d4)" fill-opacity="0.1"/>`);
    for (let log = -2; log <= 4; log += 1) {
      const x = px(10 ** log);
      out.push(`<path d="M${x} ${SIDE.top}V${floor}" stroke="currentColor" stroke-opacity="0.15"/><text x="${log === 4 ? right : x}" y="${floor + 17}" text-anchor="${log === 4 ? 'end' : 'middle'}">${log > 2 && width < 480 ? `${10 ** (log - 3)}k` : Number((10 ** log).toPrecision(1)).toLocaleString('en')}</text>`);
    }
    for (let log = Math.ceil(Math.log10(bottom)); 10 ** log <= top; log += 1) {
      const y = py(10 ** log);
      out.push(`<path d="M${SIDE.left} ${y}H${right}" stroke="currentColor" stroke-opacity="0.15"/><text x="${SIDE.left - 6}" y="${Number(y) + 4}" text-anchor="end">${scaled(10 ** log, '').replace(/\.0+(?= )/, '').trim()}</text>`);
    }
    out.push(`<text x="${(SIDE.left + right) / 2}" y="${height - 6}" text-anchor="middle">operations per byte</text>`);
    out.push(`<path d="M${px(LOW)} ${py(LOW * bandwidth)}L${px(ridge)} ${py(peak)}H${right}" fill="none" stroke="currentColor" stroke-width="2.5" stroke-linejoin="round"/>`);
    out.push(`<path d="M${px(ridge)} ${py(peak)}V${floor}" stroke="currentColor" stroke-width="1.5" stroke-dasharray="3 4"/>`);
    const beside = px(ridge) > SIDE.left + 110;
    out.push(`<text x="${beside ? Number(px(ridge)) - 12 : right}" y="${Number(py(peak)) + (beside ? -3 : -7)}" text-anchor="end">${scaled(peak, 'FLOP/s')}</text>`);
    out.push(`<text x="${Number(px(0.02)) + 6}" y="${Number(py(0.02 * bandwidth)) + 16}">${scaled(bandwidth, 'B/s')}</text>`);
    const under = floor - 10;
    const [bytes, operations] = [Number(px(ridge)) - 8, Number(px(ridge)) + 8];
    out.push(`<text x="${bytes}" y="${under}" text-anchor="end" fill="var(--series-2, #b04a00)">bytes limit</text>`);
    if (operations + 70 < right) out.push(`<text x="${operations}" y="${under}" fill="var(--series-1, #2a52d4)">operations${operations + 110 < right ? ' limit' : ''}</text>`);
    points.forEach(({ x, name, rate }, at) => {
      const [cx, cy] = [px(Math.min(Math.max(x, LOW), HIGH)), py(bound(x, peak, bandwidth))];
      const colour = x < ridge ? 'var(--series-2, #b04a00)' : 'var(--series-1, #2a52d4)';
      out.push(`<path d="M${cx} ${floor}V${cy}" stroke="${colour}" stroke-width="1.5"/>`);
      if (rate) {
        const y = py(rate);
        out.push(`<path d="M${cx} ${Number(y) - 7}l6 7l-6 7l-6 -7Z" fill="var(--series-3, #00785a)"/><text x="${Number(cx) + (Number(cx) > width / 2 ? -11 : 11)}" y="${Number(y) + 4}" text-anchor="${Number(cx) > width / 2 ? 'end' : 'start'}" fill="var(--series-3, #00785a)">measured</text>`);
      }
      out.push(`<circle cx="${cx}" cy="${cy}" r="${at === 0 ? 9 : 6}" fill="${colour}"/>`);
      if (name) out.push(`<text x="${cx}" y="${Number(cy) - 14}" text-anchor="${x < ridge ? 'end' : 'middle'}">${name}</text>`);
    });
    return `${out.join('\n')}\n</svg>`;
  }

  /** What readers without JavaScript see: a dense layer in bf16 on an H200, at some batches. */
  function still() {
    const card = DATA.cards.find(({ id }) => id === 'h200');
    const machine = { peak: card.peaks.bf16, bandwidth: card.bandwidth };
    const batches = [1, 16, 256, 4096];
    const points = batches.map((b) => ({ x: intensity('forward', b, 'bf16'), name: b === 1 ? 'batch 1' : `${b}` }));
    const says = points.map(({ x }, at) => `at batch ${batches[at]} ${plain(x)} operations per byte, at most ${scaled(bound(x, machine.peak, machine.bandwidth), 'FLOP/s')}`);
    return picture({ ...machine, points }, 640, 400, `The roofline of an ${card.name} in bf16 on two logarithmic axes: ${scaled(machine.bandwidth, 'B/s')} meet ${scaled(machine.peak, 'FLOP/s')} at ${plain(machine.peak / machine.bandwidth)} operations per byte. A dense layer from 4096 to 4096 units: ${says.join('; ')}.`);
  }

  // ---- The page ------------------------------------------------------------------------------------

  const STYLE = `
    .ask { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(24rem, 100%), 1fr)); gap: 1rem 1.4rem; align-items: end; }
    label:has(.machine) { grid-column: 1 / -1; } label { font-size: 0.94em; } input, select { width: 100%; }
    .view { cursor: ew-resize; touch-action: pan-y; user-select: none; -webkit-user-select: none; border-radius: 4px; max-width: 76rem; }
    .view svg { display: block; width: 100%; }
    dl { --fact: min(15rem, 100%); } dd { font-weight: 600; }
    .says { margin: 0; min-height: 4.8rem; }
  `;

  /** Sizes that a slider goes through: sixteen for each doubling. */
  const sizes = (top) => [...new Set(Array.from({ length: 16 * Math.log2(top) + 1 }, (_, i) => Math.round(2 ** (i / 16))))];

  class RooflineExplorer extends Widget {
    made() {
      this.desk(STYLE, `
        <div class="ask">
          ${select('machine', 'Machine', [])}${select('format', 'Numbers', [])}${select('kernel', 'Kernel', [])}
          <label class="sized"><span></span><input class="size" type="range" min="0" step="1"></label>
        </div>
        <div class="view" role="slider" tabindex="0" aria-label="Operations per byte of the kernel" aria-orientation="horizontal" aria-valuemin="${LOW}" aria-valuemax="${HIGH}" aria-describedby="how"></div>
        <p class="says"></p>
        ${facts({ intensity: 'operations per byte', ridge: 'the ridge is at', most: 'at most', share: 'of the peak' })}
        <div class="ask"><label>Operations to do (10⁹)<input name="work" class="work" inputmode="decimal" autocomplete="off"></label><p class="time" id="problem" role="status"></p></div>
        <p id="how" class="hint">Drag the point, or choose a kernel. With the keyboard: Tab to the picture, then the arrow keys, Home and End.</p>
        <p class="aloud" role="status"></p>`);
      this.x = 1;
      for (const name of ['machine', 'format', 'kernel']) this.part(`.${name}`).addEventListener('change', () => this.chosen(name));
      this.part('.size').addEventListener('input', () => this.draw());
      this.part('.work').addEventListener('input', () => { this.own = true; this.draw(); });
      const view = this.part('.view');
      view.addEventListener('keydown', (event) => this.key(event));
      view.addEventListener('pointerdown', (event) => { view.setPointerCapture(event.pointerId); this.drag(event); });
      view.addEventListener('pointermove', (event) => { if (view.hasPointerCapture(event.pointerId)) this.drag(event); });
      this.list();
      const known = this.measured.kernels.findLastIndex(({ rate }) => rate);
      this.part('.kernel').value = known < 0 ? 'forward' : `m${known}`;
      this.chosen('kernel');
      this.sized('.view', () => this.draw());
      this.follow(() => { this.list(); this.chosen('machine'); });
    }

    /** What the tables in the element hold, of the machine that the page shows. */
    read() {
      const tables = [...this.querySelectorAll('table')].map((table) => [...table.tBodies[0].rows].map(({ cells: [name, ...rest] }) => {
        const shown = rest.map((cell) => cell.querySelector('[data-machine]:not([hidden])'));
        const value = (at) => Number(shown[at]?.querySelector('data')?.value) || undefined;
        return { name: name.textContent.trim(), on: shown[0]?.dataset.machine, values: rest.map((_, at) => value(at)) };
      }).filter(({ values }) => values[0]));
      return {
        machines: (tables[0] ?? []).filter(({ values }) => values[1]).map(({ name, on, values: [peak, bandwidth] }) => ({ name: `${name} (${on})`, bandwidth, peaks: { f32: peak } })),
        kernels: (tables[1] ?? []).map(({ name, values: [x, rate] }) => ({ name, x, rate })),
      };
    }

    /** Fills a list, and keeps what is chosen if it is still there. */
    offer(name, html, other = '') {
      const select = this.input(name);
      const { value } = select;
      select.innerHTML = html;
      select.value = value;
      if (select.selectedIndex < 0) select.value = other;
      if (select.selectedIndex < 0) select.selectedIndex = 0;
    }

    /** Fills the lists of machines and of kernels. */
    list() {
      this.measured = this.read();
      const { machines, kernels } = this.measured;
      const group = (name, list) => (list.length ? `<optgroup label="${name}">${options(list)}</optgroup>` : '');
      const cards = DATA.cards.map((card, at) => [`c${at}`, card.name, card.cpu]);
      this.offer('machine', group('Measured for this book', machines.map(({ name }, at) => [`m${at}`, name.replace('bytes from ', '').replace('the second-level cache', 'L2')]))
        + group('Accelerators, by datasheet', cards.filter(([, , cpu]) => !cpu)) + group('CPUs, by datasheet', cards.filter(([, , cpu]) => cpu)));
      this.offer('kernel', options([['own', 'Your own: drag the point']]) + group('By their sizes', Object.entries(KERNELS).map(([id, { name }]) => [id, name]))
        + group('Counted by a simulator', kernels.map(({ name }, at) => [`m${at}`, name])));
      this.formats();
    }

    get machine() {
      const { value } = this.part('.machine');
      return (value[0] === 'm' ? this.measured.machines : DATA.cards)[value.slice(1)];
    }

    /** The formats that the machine has a peak for. */
    formats() {
      this.offer('format', options(Object.keys(this.machine.peaks).map((name) => [name])), 'bf16');
    }

    chosen(what) {
      if (what === 'machine') this.formats();
      if (what === 'kernel') {
        this.own = false;
        const kernel = KERNELS[this.part('.kernel').value];
        if (kernel?.size) {
          this.sizes = sizes(kernel.top);
          this.part('.size').max = this.sizes.length - 1;
          this.part('.size').value = this.sizes.findIndex((size) => size >= kernel.start);
        }
      }
      this.draw();
      this.part('.aloud').textContent = this.part('.says').textContent;
    }

    drag(event) {
      const { left, width } = this.part('.view').getBoundingClientRect();
      this.go(along(event.clientX - left, width));
    }

    /** The arrow keys move the point by a tenth of a factor of ten; with Page Up and Page Down, by all of it. */
    key(event) {
      const to = Widget.pressed(event, { ArrowLeft: this.x / 10 ** 0.1, ArrowDown: this.x / 10 ** 0.1, ArrowRight: this.x * 10 ** 0.1, ArrowUp: this.x * 10 ** 0.1, PageDown: this.x / 10, PageUp: this.x * 10, Home: LOW, End: HIGH });
      if (to !== undefined) this.go(to);
    }

    go(x) {
      this.x = Math.min(Math.max(x, LOW), HIGH);
      this.part('.kernel').value = 'own';
      this.draw();
    }

    draw() {
      const { value: chosen } = this.part('.kernel');
      const { value: format } = this.part('.format');
      const { bandwidth, peaks: { [format]: peak } } = this.machine;
      const kernel = KERNELS[chosen];
      const known = chosen[0] === 'm' ? this.measured.kernels[chosen.slice(1)] : undefined;
      this.part('.sized').hidden = !kernel?.size;
      let operations = 1e12;
      if (kernel) {
        const size = kernel.size ? this.sizes[this.part('.size').value] : 1;
        operations = kernel.count(size, DATA.bytes[format]).operations;
        this.x = intensity(chosen, size, format);
        if (kernel.size) this.part('.sized span').textContent = `${kernel.size} = ${size.toLocaleString('en')}`;
        this.part('.size').setAttribute('aria-valuetext', `${kernel.size} ${size}, ${plain(this.x)} operations per byte`);
      }
      if (known) this.x = known.x;
      const rate = this.part('.machine').value[0] === 'm' ? known?.rate : undefined;
      const ridge = peak / bandwidth;
      const most = bound(this.x, peak, bandwidth);
      const limit = this.x < ridge ? 'Bytes' : 'Operations';
      const width = Math.round(this.part('.view').clientWidth) || 640;
      this.part('.view').innerHTML = picture({ peak, bandwidth, points: [{ x: this.x, rate }] }, width, Math.round(Math.min(Math.max(0.6 * width, 280), 420)));
      this.part('.view svg').setAttribute('aria-hidden', 'true');
      const says = `${limit} limit it: at ${plain(this.x)} operations per byte this machine can reach ${scaled(most, 'FLOP/s')}. ${this.x < ridge ? `Its peak is out of reach below ${plain(ridge)}.` : `Above ${plain(ridge)} more operations per byte gain nothing.`}${rate ? ` Measured: ${scaled(rate, 'FLOP/s')}.` : ''}`;
      this.part('.says').textContent = says;
      this.part('.view').setAttribute('aria-valuenow', Number(this.x.toPrecision(3)));
      this.part('.view').setAttribute('aria-valuetext', says);
      this.facts({
        intensity: plain(this.x), ridge: plain(ridge), most: scaled(most, 'FLOP/s'),
        share: `${(100 * most / peak).toPrecision(3)}%`.replace('100.%', '100%'),
      });
      if (!this.own) this.input('work').value = Number((operations / 1e9).toPrecision(4));
      const found = this.numbers({ work: { least: Number.MIN_VALUE, whole: false } });
      if (found) this.part('.time').textContent = `They take at least ${duration(1e9 * found.work / most)}.`;
    }
  }

  // Without a page, in the tests, there is only the arithmetic.
  if (globalThis.customElements) customElements.define('roofline-explorer', RooflineExplorer);
  else module.exports = { DATA, KERNELS, bound, intensity, still };
})();
