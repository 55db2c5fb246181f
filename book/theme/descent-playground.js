// <descent-playground>: five optimizers on a loss of two weights, with a learning rate to turn.
//
// What stands in the element is for readers without JavaScript, and for paper.
(() => {
  'use strict';

  // ---- The losses, each the mean over eight examples ---------------------------------------------------

  const EXAMPLES = 8;
  const ALL = Array.from({ length: EXAMPLES }, (_, i) => i);
  // Where the examples would have the bottom, and at what a neuron of the network looks. Each list sums to zero.
  const ACROSS = [0.5, -0.3, 0.7, -0.6, 0.1, -0.4, 0.2, -0.2];
  const ALONG = [-0.1, 0.15, 0.05, -0.2, 0.2, -0.05, -0.15, 0.1];
  const INPUTS = [-2, -1.5, -1, -0.5, 0.5, 1, 1.5, 2];
  const TRUTHS = [-1.5, -1.2, -1.3, -0.6, 0.8, 1, 1.45, 1.35];
  const VALLEY = 10; // 100 in the original: its valley is too narrow for a picture

  const mean = (batch, of) => batch.reduce((sum, i) => sum + of(i), 0) / batch.length;

  /**
   * What there is to go down: `loss(w, k)` above its least value, or as it is, and the `gradient(w, k, batch)` of
   * the examples in a batch. `k` is how much steeper the steep way is; only the bowl has it.
   */
  const LANDSCAPES = [
    {
      id: 'bowl',
      name: 'A bowl',
      formula: '½(x² + κy²)',
      view: [-2.5, 2.5, -2.5, 2.5],
      start: [-2, 1.2],
      decades: [-8, 4],
      loss: ([x, y], k) => (x * x + k * y * y) / 2,
      gradient: ([x, y], k, batch) => [x - mean(batch, (i) => ACROSS[i]), k * (y - mean(batch, (i) => ALONG[i]))],
    },
    {
      id: 'valley',
      name: 'A curved valley (Rosenbrock’s)',
      formula: `(1 − x)² + ${VALLEY}(y − x²)²`,
      view: [-2, 2, -1, 3],
      start: [-1.4, 0.3],
      decades: [-6, 4],
      gentle: 0.05,
      loss: ([x, y]) => (1 - x) ** 2 + VALLEY * (y - x * x) ** 2,
      gradient([x, y], k, batch) {
        const off = y + mean(batch, (i) => ALONG[i]) - x * x;
        return [-2 * (1 + mean(batch, (i) => ACROSS[i]) - x) - 4 * VALLEY * x * off, 2 * VALLEY * off];
      },
    },
    {
      id: 'network',
      name: 'A network with two weights',
      formula: 'the mean of (y·tanh(x·input) − truth)²',
      view: [-3, 3, -3, 3],
      start: [-0.4, 2.3],
      decades: [-2, 2],
      loss: ([x, y]) => mean(ALL, (i) => (y * Math.tanh(x * INPUTS[i]) - TRUTHS[i]) ** 2),
      gradient([x, y], k, batch) {
        const part = (of) => mean(batch, (i) => {
          const tanh = Math.tanh(x * INPUTS[i]);
          return 2 * (y * tanh - TRUTHS[i]) * of(tanh, INPUTS[i]);
        });
        return [part((tanh, input) => y * (1 - tanh * tanh) * input), part((tanh) => tanh)];
      },
    },
  ];

  /** The largest curvature at a point: the larger eigenvalue of the second derivatives. */
  function curvature(landscape, [x, y], k) {
    const h = 1e-4;
    const slope = (to) => landscape.gradient(to, k, ALL);
    const [a, b] = slope([x + h, y]).map((up, i) => (up - slope([x - h, y])[i]) / (2 * h));
    const d = (slope([x, y + h])[1] - slope([x, y - h])[1]) / (2 * h);
    return (a + d) / 2 + Math.hypot((a - d) / 2, b);
  }

  // ---- The rules, the same as in chapter 4's crate: optimizer.rs. All in f32, as there --------------------

  const f = Math.fround;
  const MOMENTUM = f(0.9);
  const RMSPROP = f(0.9);
  const BETAS = [f(0.9), f(0.999)];
  const EPSILON = f(1e-8);
  const DECAY = f(0.1);

  /** A whole power in f32, by squares. */
  function power(base, exponent) {
    let [result, square] = [1, base];
    for (let left = exponent; left > 0; left = Math.floor(left / 2)) {
      if (left % 2) result = f(result * square);
      square = f(square * square);
    }
    return result;
  }

  /** A running mean: what it keeps of itself, and what it takes. */
  const running = (old, keep, taken) => f(f(keep * old) + taken);

  function adam(lr, t, w, [m, v], g) {
    const [beta1, beta2] = BETAS;
    const [part1, part2] = [f(1 - power(beta1, t)), f(1 - power(beta2, t))];
    w.forEach((_, i) => {
      m[i] = running(m[i], beta1, f(f(1 - beta1) * g[i]));
      v[i] = running(v[i], beta2, f(f(f(1 - beta2) * g[i]) * g[i]));
      w[i] -= f(f(lr * f(m[i] / part1)) / f(f(Math.sqrt(f(v[i] / part2))) + EPSILON));
    });
  }

  /** Each takes a step on the weights `w`, with two lists of numbers `kept` from step to step. */
  const RULES = [
    { id: 'sgd', name: 'Plain descent (SGD)', rate: 0.08, step: (lr, t, w, kept, g) => w.forEach((_, i) => { w[i] -= f(lr * g[i]); }) },
    {
      id: 'momentum',
      name: 'Momentum',
      rate: 0.02,
      step: (lr, t, w, [v], g) => w.forEach((_, i) => {
        v[i] = running(v[i], MOMENTUM, g[i]);
        w[i] -= f(lr * v[i]);
      }),
    },
    {
      id: 'rmsprop',
      name: 'RMSprop',
      rate: 0.05,
      step: (lr, t, w, [s], g) => w.forEach((_, i) => {
        s[i] = running(s[i], RMSPROP, f(f(f(1 - RMSPROP) * g[i]) * g[i]));
        w[i] -= f(f(lr * g[i]) / f(Math.sqrt(f(s[i] + EPSILON))));
      }),
    },
    { id: 'adam', name: 'Adam', rate: 0.1, step: adam },
    {
      id: 'adamw',
      name: 'AdamW, weight decay 0.1',
      rate: 0.1,
      step(lr, t, w, kept, g) {
        w.forEach((_, i) => { w[i] -= f(f(lr * DECAY) * w[i]); });
        adam(lr, t, w, kept, g);
      },
    },
  ];

  /** The learning rate from which on a rule runs away in a bowl of this largest curvature; null if it has none. */
  function limit(rule, lambda) {
    return { sgd: 2, momentum: 2 * (1 + MOMENTUM) }[rule.id] / lambda || null;
  }

  const STEPS = 200;
  const FAR = 1e6;

  /** The examples in the order of the batches: shuffled anew in each epoch, by a generator of 32 bits. */
  function* batches(size) {
    let state = 1;
    const below = (count) => {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      return Math.floor(state / 2 ** 32 * count);
    };
    for (;;) {
      const order = [...ALL];
      for (let at = EXAMPLES - 1; at > 0; at--) {
        const other = below(at + 1);
        [order[at], order[other]] = [order[other], order[at]];
      }
      for (let at = 0; at < EXAMPLES; at += size) yield order.slice(at, at + size);
    }
  }

  /** A whole descent: where it was after each step, and the gradient that it took there. Ends where it runs away. */
  function descend({ landscape, k, rule, rate, start, batch }) {
    const w = Float32Array.from(start);
    const kept = [new Float32Array(2), new Float32Array(2)];
    const path = [{ w: [...w], loss: landscape.loss(w, k), g: null }];
    const order = batches(batch);
    for (let t = 1; t <= STEPS; t++) {
      const g = Float32Array.from(landscape.gradient(w, k, order.next().value));
      rule.step(f(rate), t, w, kept, g);
      path.push({ w: [...w], loss: landscape.loss(w, k), g: [...g] });
      if (!w.every((one) => Math.abs(one) < FAR)) break;
    }
    return path;
  }

  // ---- The page ------------------------------------------------------------------------------------

  const SIDE = 340;
  const CHART = { left: 44, right: 322, top: 24, bottom: 296 };
  const STEEP = [1, 2, 5, 10, 20, 50, 100];
  const GRID = 80;
  const LEVELS = 9;

  const { Player, select, superscript } = globalThis.throughputWidgets ?? require('./widget.js');

  const STYLE = `
    .desk { font-size: 0.94em; font-variant-numeric: tabular-nums; }
    .ask { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(20rem, 100%), 1fr)); gap: 0.8rem 1.6rem; align-items: end; }
    label b { font-weight: 600; }
    select { width: 100%; } .controls button { padding-inline: 1.2rem; }
    button[aria-pressed=true] { border-color: var(--series-4); box-shadow: inset 0 0 0 2px var(--series-4); }
    .views { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(29rem, 100%), 1fr)); gap: 1.2rem; }
    .map { position: relative; max-width: 48rem; width: 100%; margin-inline: auto; }
    svg { display: block; width: 100%; max-width: 48rem; margin-inline: auto; overflow: hidden; }
    text { fill: var(--fg); font-size: 13px; }
    .frame { fill: none; stroke: var(--line); } .muted { fill: var(--muted); }
    .level { fill: none; stroke: var(--series-6); stroke-opacity: 0.75; } .grid { stroke: var(--line); }
    .way { fill: none; stroke: var(--series-1); stroke-width: 1.6; } .dots { fill: var(--series-1); }
    .kept { fill: none; stroke: var(--series-4); stroke-width: 1.6; stroke-dasharray: 5 3; }
    .here { fill: var(--series-2); stroke: var(--bg); stroke-width: 2; }
    .start { position: absolute; width: 3.2rem; height: 3.2rem; min-height: 0; margin: -1.6rem; padding: 0; border-radius: 50%; border: 3px solid var(--series-3); background: transparent; cursor: grab; touch-action: none; }
    .start::after { content: ''; position: absolute; inset: 0.95rem; border-radius: 50%; background: var(--series-3); }
    output { min-width: 10.5rem; }
    p { margin: 0; } .says { font-weight: 600; min-height: 4.8rem; } .now { color: var(--muted); }
  `;

  const power10 = (n) => `10${superscript(n)}`;

  /** A number for people, of three digits. */
  function text(x) {
    if (!Number.isFinite(x)) return 'beyond all numbers';
    if (x === 0 || (Math.abs(x) < 1e5 && Math.abs(x) >= 1e-4)) return String(Number(x.toPrecision(3))).replace('-', '−');
    const [digits, exponent] = x.toExponential(1).split('e');
    return `${digits.replace('-', '−')}·${power10(Number(exponent))}`;
  }

  /** Lines of equal loss: for each level the pieces that cross the cells of a grid. */
  function contours({ view: [left, right, low, high], loss }, k) {
    const at = (i, from, to) => from + (to - from) * i / GRID;
    const field = Array.from({ length: GRID + 1 }, (_, j) => Array.from({ length: GRID + 1 }, (_, i) => loss([at(i, left, right), at(j, low, high)], k)));
    const all = field.flat();
    const [least, most] = [Math.min(...all), Math.max(...all)];
    const cell = SIDE / GRID;
    return Array.from({ length: LEVELS }, (_, n) => {
      const level = least + (most - least) * 0.5 / 2.2 ** n;
      let path = '';
      for (let j = 0; j < GRID; j++) {
        for (let i = 0; i < GRID; i++) {
          const corners = [[i, j], [i + 1, j], [i + 1, j + 1], [i, j + 1]];
          const cuts = corners.flatMap(([x, y], side) => {
            const [u, v] = corners[(side + 1) % 4];
            const [a, b] = [field[y][x] - level, field[v][u] - level];
            if (a < 0 === b < 0) return [];
            const share = a / (a - b);
            return [`${((x + (u - x) * share) * cell).toFixed(1)} ${(SIDE - (y + (v - y) * share) * cell).toFixed(1)}`];
          });
          for (let c = 0; c + 1 < cuts.length; c += 2) path += `M${cuts[c]}L${cuts[c + 1]}`;
        }
      }
      return `<path class="level" d="${path}"></path>`;
    }).join('');
  }

  class DescentPlayground extends Player {
    made() {
      const named = (all) => all.map(({ id, name }) => [id, name]);
      this.desk(STYLE, `
        <div class="ask">
          ${select('landscape', 'Loss', named(LANDSCAPES))}${select('rule', 'Rule', named(RULES))}
          ${select('batch', 'Examples in a batch', [[8, 'all 8: no noise'], [2], [1, '1: most noise']])}
          <label><span>Learning rate η: <b class="eta"></b></span><input class="rate" type="range" min="-4" max="1" step="0.01"></label>
          <label class="steep"><span>Steepness κ: <b class="kappa"></b></span><input class="k" type="range" min="0" max="${STEEP.length - 1}" step="1" value="4"></label>
        </div>
        <div class="views">
          <div class="map"><svg viewBox="0 0 ${SIDE} ${SIDE}" role="img" class="plane"><g class="levels"></g><polyline class="kept"></polyline><polyline class="way"></polyline><path class="dots"></path><circle class="here" r="6"></circle><rect class="frame" x="0.5" y="0.5" width="${SIDE - 1}" height="${SIDE - 1}"></rect><text x="${SIDE - 8}" y="${SIDE - 8}" text-anchor="end">x</text><text x="8" y="18">y</text></svg>
            <button type="button" class="start" aria-describedby="how"></button></div>
          <svg viewBox="0 0 ${SIDE} ${SIDE}" role="img" class="chart"><g class="axes"></g><polyline class="kept"></polyline><polyline class="way"></polyline></svg>
        </div>
        ${Player.controls('Steps of the descent', ['first', 'next', 'play', 'last'], '<button type="button" class="keep" aria-pressed="false">Keep to compare</button><output aria-hidden="true"></output>')}
        <p class="says" role="status" aria-live="polite"></p>
        <p class="now"></p>
        <p class="now"><span class="formula"></span> <span id="how">Drag the green ring to begin elsewhere, or touch the map; with the keyboard the arrow keys move it.</span></p>`);
      this.on('.landscape', 'change', () => { this.start = null; this.usual(); this.change(true); });
      this.on('.rule', 'change', () => { this.usual(); this.change(); });
      this.on('.batch', 'change', () => this.change());
      this.on('.rate', 'input', () => this.change());
      this.on('.k', 'input', () => this.change(true));
      this.on('.keep', 'click', () => this.keep());
      this.on('.start', 'keydown', (event) => this.nudge(event));
      this.on('.plane', 'click', (event) => this.place(event));
      this.on('.start', 'pointerdown', ({ target, pointerId }) => target.setPointerCapture(pointerId));
      this.on('.start', 'pointermove', (event) => { if (event.target.hasPointerCapture(event.pointerId)) this.place(event); });
      this.plays(80);
      this.usual();
      this.change(true);
    }

    chosen(name, all) { return all.find(({ id }) => id === this.part(name).value); }

    /** Begins with a rate that suits the rule and the loss. */
    usual() {
      const rule = this.chosen('.rule', RULES);
      const gentle = limit(rule, 1) ? this.chosen('.landscape', LANDSCAPES).gentle ?? 1 : 1;
      this.part('.rate').value = Math.log10(rule.rate * gentle);
    }

    /** The reader has chosen something: the whole way is computed anew. */
    change(redraw = false) {
      const landscape = this.chosen('.landscape', LANDSCAPES);
      const rate = Number((10 ** Number(this.part('.rate').value)).toPrecision(3));
      const k = landscape.id === 'bowl' ? STEEP[Number(this.part('.k').value)] : 1;
      this.start ??= [...landscape.start];
      this.set = { landscape, k, rate, rule: this.chosen('.rule', RULES), start: this.start, batch: Number(this.part('.batch').value) };
      this.part('.eta').textContent = text(rate);
      this.part('.rate').setAttribute('aria-valuetext', text(rate));
      this.part('.steep').hidden = landscape.id !== 'bowl';
      this.part('.kappa').textContent = k;
      this.part('.k').setAttribute('aria-valuetext', k);
      if (redraw) {
        this.kept = null;
        this.mark();
        this.part('.levels').innerHTML = contours(landscape, k);
        this.axes();
      }
      this.path = descend(this.set);
      const [x, y] = this.at(this.start);
      const ring = this.part('.start');
      [ring.style.left, ring.style.top] = [`${100 * x / SIDE}%`, `${100 * y / SIDE}%`];
      ring.setAttribute('aria-label', `Starting point: x ${text(this.start[0])}, y ${text(this.start[1])}`);
      this.part('.says').textContent = this.verdict();
      this.go(STEPS);
    }

    /** Where a point is on the map. Far outside is only outside. */
    at([x, y]) {
      const [left, right, low, high] = this.set.landscape.view;
      const inside = (z) => Math.min(Math.max(z, -9 * SIDE), 9 * SIDE);
      return [inside(SIDE * (x - left) / (right - left)), inside(SIDE * (high - y) / (high - low))];
    }

    /** Where a loss is on the chart. */
    height(loss) {
      const [low, high] = this.set.landscape.decades;
      const decade = Number.isNaN(loss) ? high : Math.min(Math.max(Math.log10(loss), low), high);
      return CHART.bottom - (CHART.bottom - CHART.top) * (decade - low) / (high - low);
    }

    axes() {
      const { landscape } = this.set;
      const [low, high] = landscape.decades;
      let lines = `<text x="4" y="13">loss</text><text x="${CHART.right}" y="${CHART.bottom + 36}" text-anchor="end">step</text>`;
      for (let n = low; n <= high; n += high - low > 6 ? 2 : 1) {
        const y = this.height(10 ** n);
        lines += `<path class="grid" d="M${CHART.left} ${y}H${CHART.right}"></path><text class="muted" x="${CHART.left - 6}" y="${y + 4}" text-anchor="end">${power10(n)}</text>`;
      }
      for (let step = 0; step <= STEPS; step += 50) {
        lines += `<text class="muted" x="${this.across(step)}" y="${CHART.bottom + 19}" text-anchor="middle">${step}</text>`;
      }
      this.part('.axes').innerHTML = lines;
      this.part('.formula').textContent = `The loss is ${landscape.formula}; x and y are the weights.`;
      this.part('.plane').setAttribute('aria-label', `Map of the loss ${landscape.formula}, with lines of equal loss and the way of the weights`);
      this.part('.chart').setAttribute('aria-label', 'The loss after each step, on a logarithmic axis');
    }

    across(step) { return CHART.left + (CHART.right - CHART.left) * step / STEPS; }

    /** How it ended, and why, in words. */
    verdict() {
      const { path, set: { landscape, k, rule, rate, batch } } = this;
      const bound = landscape.id === 'bowl' ? limit(rule, k) : null;
      const why = bound ? ` The limit in this bowl is ${rule.id === 'sgd' ? '2/λ' : '2(1 + μ)/λ'} = ${text(bound)}, with λ = ${k}, its largest curvature.` : '';
      if (path.length <= STEPS) return `It diverges: after ${path.length - 1} steps it is more than ${text(FAR)} away.${why || ' Where the walls are steep, η is too long: each step overshoots by more than the one before.'}`;
      if (rate > bound && bound) return `It diverges: across the steep way each step overshoots by more than the one before.${why}`;
      const least = landscape.id === 'network' ? this.floor() : 0;
      const left = path.map(({ loss }) => (loss - least) / (path[0].loss - least));
      const late = left.findLastIndex((share) => !(share <= 1e-3));
      if (late < STEPS) return `It arrives: from step ${late + 1} on, less than a thousandth of the way down is left.${why}`;
      const share = `${text(100 * left[STEPS])}% of the way down is left.`;
      if (batch < EXAMPLES) return `After ${STEPS} steps ${share} The batches pull it to and fro: only a smaller η comes closer.${why}`;
      const recent = left.slice(-40);
      if (Math.abs(recent[0] / recent[39] - 1) < 1e-3) return `It stands still: ${share} Where it stands there is no slope.${why}`;
      if (recent.some((one, at) => at > 0 && one > recent[at - 1])) return `It jumps about: ${share}${bound ? why : ' With this rule a step is about η long even where the slope is small.'}`;
      return `It is on its way: after ${STEPS} steps ${share}${why}`;
    }

    /** The least loss of the network: where small steps without noise end. */
    floor() {
      const landscape = LANDSCAPES.find(({ id }) => id === 'network');
      this.least ??= (() => {
        let start = [1, 1];
        for (let run = 0; run < 5; run++) start = descend({ landscape, k: 1, rule: RULES[0], rate: 0.2, start, batch: EXAMPLES }).pop().w;
        return landscape.loss(start);
      })();
      return this.least;
    }

    /** Leaves this way on the map while others are tried, or takes it away. */
    keep() {
      this.kept = this.kept ? null : this.path;
      this.mark();
      this.move(this.step);
    }

    /** Says on the button what is kept. */
    mark() {
      const { kept, set: { rule, rate } } = this;
      this.part('.keep').setAttribute('aria-pressed', String(Boolean(kept)));
      this.part('.keep').textContent = kept ? `Kept: ${rule.name}, η ${text(rate)}` : 'Keep to compare';
    }

    /** The pointer moves the start. */
    place({ clientX, clientY }) {
      const box = this.part('.plane').getBoundingClientRect();
      const [left, right, low, high] = this.set.landscape.view;
      this.begin([left + (right - left) * (clientX - box.left) / box.width, high - (high - low) * (clientY - box.top) / box.height]);
    }

    /** The arrow keys move the start. */
    nudge(event) {
      const by = Player.pressed(event, { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] });
      if (by) this.begin(this.start.map((one, i) => one + by[i] / 10));
    }

    begin(point) {
      const [left, right, low, high] = this.set.landscape.view;
      // On a grid of twentieths, so that a saddle can be hit.
      const inside = (z, from, to) => Math.round(20 * Math.min(Math.max(z, from), to)) / 20;
      this.start = [inside(point[0], left, right), inside(point[1], low, high)];
      this.change();
    }

    get end() { return this.path.length - 1; }

    /** Draws the way as far as a step. */
    show() {
      const { path, end, set: { landscape, k } } = this;
      const gone = path.slice(0, this.step + 1);
      const onMap = (all) => all.map(({ w }) => this.at(w).map((z) => z.toFixed(1)).join()).join(' ');
      const onChart = (all) => all.map(({ loss }, at) => `${this.across(at).toFixed(1)},${this.height(loss).toFixed(1)}`).join(' ');
      this.part('.plane .way').setAttribute('points', onMap(gone));
      this.part('.chart .way').setAttribute('points', onChart(gone));
      this.part('.plane .kept').setAttribute('points', onMap(this.kept ?? []));
      this.part('.chart .kept').setAttribute('points', onChart(this.kept ?? []));
      this.part('.dots').setAttribute('d', gone.map(({ w }) => `M${this.at(w).map((z) => z.toFixed(1)).join(' ')}m-2.4 0a2.4 2.4 0 1 0 4.8 0a2.4 2.4 0 1 0 -4.8 0`).join(''));
      const { w, loss } = path[this.step];
      const [x, y] = this.at(w);
      this.part('.here').setAttribute('cx', x);
      this.part('.here').setAttribute('cy', y);
      const lambda = curvature(landscape, w, k);
      const stable = lambda > 0 && landscape.id !== 'bowl' ? `The largest curvature here is λ = ${text(lambda)}: plain descent needs η below 2/λ = ${text(2 / lambda)}.` : '';
      this.part('.now').textContent = `Step ${this.step}: x = ${text(w[0])}, y = ${text(w[1])}, loss ${text(loss)}. ${stable}`;
      this.part('output').textContent = `Step ${this.step} of ${end}`;
    }
  }

  // Without a page, in the tests, there is only the arithmetic.
  if (globalThis.customElements) customElements.define('descent-playground', DescentPlayground);
  else module.exports = { LANDSCAPES, RULES, ALL, STEPS, DECAY, INPUTS, TRUTHS, curvature, limit, descend };
})();
