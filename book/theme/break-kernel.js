// <break-kernel>: a kernel that the reader breaks in one named way, and the check that catches it.
//
// It is an emulation: the text that shows is run as JavaScript, one thread after the other, each up to the next barrier.
// What stands in the element is for readers without JavaScript, and for paper.
(() => {
  'use strict';

  // ---- The kernel, and what it is run on -----------------------------------------------------------

  const TILE = 4;
  // No multiples of a tile: C has 7 rows and 5 columns.
  const [M, N, K] = [7, 5, 6];
  const GUARD = 16; // elements behind C that must stay as they are, and zeros behind A and B

  /** Chapter 2's tiled product, for one thread: `shared.wgsl` with other brackets. */
  const SHARED = `row = blockY * TILE + y
column = blockX * TILE + x
sum = 0
for (let s = 0; s < k; s += TILE) {
  aTile[y][x] = aAt(row, s + x)
  bTile[y][x] = bAt(s + y, column)
  barrier() // both tiles are whole
  for (let p = 0; p < TILE; p++) {
    sum += aTile[y][p] * bTile[p][x]
  }
  barrier() // they are no longer needed
}
if (row < m && column < n) {
  c[row * n + column] = sum
}`;

  /** The product without tiles, `naive.wgsl` and `coalesced.wgsl`: they differ in what x counts. */
  const plain = (rows, columns) => `row = blockY * TILE + ${rows}
column = blockX * TILE + ${columns}
if (row >= m || column >= n) return
sum = 0
for (let p = 0; p < k; p++) {
  sum += a[row * k + p] * b[p * n + column]
}
c[row * n + column] = sum`;

  const AS_IT_IS = { name: 'As it is' };
  const BEYOND = 'Threads beyond the edge write, too: into the next row, and behind the end of C.';
  const TERM = '  sum += a[row * k + p] * b[p * n + column]';
  const PLAIN = [
    AS_IT_IS,
    { name: 'Drop the bounds check', line: 'if (row >= m || column >= n) return', why: BEYOND },
    { name: 'Swap an index', line: TERM, to: '  sum += a[row * k + p] * b[column * n + p]', why: 'Each sum takes a row of B in the place of a column.' },
    { name: 'Wrong stride', line: TERM, to: '  sum += a[row * n + p] * b[p * n + column]', why: 'A has k elements in a row, not n: from the second row on a sum starts elsewhere in A.' },
  ];

  /** The kernels, and the ways to break each: a line, and what it becomes. */
  const KERNELS = [
    { name: 'naive', text: plain('x', 'y'), breaks: PLAIN },
    { name: 'coalesced', text: plain('y', 'x'), breaks: PLAIN },
    { name: 'shared tiles', text: SHARED, breaks: [
      AS_IT_IS,
      { name: 'Leave out the first barrier', line: '  barrier() // both tiles are whole', why: 'A thread reads elements of the tiles that others have not fetched yet.' },
      { name: 'Leave out the second barrier', line: '  barrier() // they are no longer needed', why: 'A thread that is done overwrites the tiles while others still read them.' },
      { name: 'Drop the bounds check', line: 'if (row < m && column < n) {', to: '{', why: BEYOND },
      { name: 'Swap an index', line: '    sum += aTile[y][p] * bTile[p][x]', to: '    sum += aTile[y][p] * bTile[x][p]', why: 'Each sum takes a row of B’s tile in the place of a column.' },
      { name: 'Wrong stride', line: '  c[row * n + column] = sum', to: '  c[row * m + column] = sum', why: 'C has n elements in a row, not m: from the second row on they land elsewhere.' },
    ] },
  ];

  /** The lines of a broken kernel: [text, what happened to it]. */
  const lines = (kernel, { line, to }) => kernel.text.split('\n').flatMap((text) => {
    if (text !== line) return [[text, '']];
    return to === undefined ? [[text, 'out']] : [[text, 'out'], [to, 'in']];
  });

  /** The numbers 0 to `count` - 1 in an order that follows `seed` (xorshift32). */
  function shuffled(count, seed) {
    const all = Array.from({ length: count }, (_, at) => at);
    let x = Math.imul(seed + 1, 0x9e3779b1) | 1;
    for (let at = count - 1; at > 0; at--) {
      x ^= x << 13; x ^= x >>> 17; x ^= x << 5;
      const other = (x >>> 0) % (at + 1);
      [all[at], all[other]] = [all[other], all[at]];
    }
    return all;
  }

  const A = Array.from({ length: M * K }, (_, i) => ((i * 7) % 19 - 8) / 10);
  const B = Array.from({ length: K * N }, (_, i) => (i * 5) % 11 - 4);

  /** Runs a kernel that is broken in one way; `seed` gives the order of blocks and threads. A barrier is where a thread waits for the others. */
  function run(kernel, way, seed) {
    const text = lines(kernel, way).filter(([, mark]) => mark !== 'out').map(([line]) => line).join('\n');
    const Kernel = Object.getPrototypeOf(function* () {}).constructor;
    const thread = new Kernel('x', 'y', 'blockX', 'blockY', 'aTile', 'bTile', 'aAt', 'bAt', 'a', 'b', 'c', 'm', 'n', 'k', 'TILE',
      `let row, column, sum\n${text.replaceAll('barrier()', 'yield')}`);
    const element = (matrix, rows, columns) => (i, j) => (i < rows && j < columns ? matrix[i * columns + j] : 0);
    const [a, b] = [A, B].map((matrix) => [...matrix, ...Array(GUARD).fill(0)]);
    const c = Array(M * N + GUARD).fill(NaN);
    // Shared memory holds what was there before.
    const tile = () => Array.from({ length: TILE }, () => Array(TILE).fill(9));
    const [aTile, bTile] = [tile(), tile()];
    const across = Math.ceil(N / TILE);
    for (const block of shuffled(across * Math.ceil(M / TILE), seed)) {
      let going = shuffled(TILE * TILE, seed + block + 1).map((at) => thread(
        at % TILE, Math.floor(at / TILE), block % across, Math.floor(block / across), aTile, bTile, element(A, M, K), element(B, K, N), a, b, c, M, N, K, TILE));
      while (going.length) going = going.filter((one) => !one.next().done);
    }
    return c;
  }

  /** Holds what a kernel left against the plain sum. */
  function check(c) {
    const faults = [];
    for (let i = 0; i < M; i++) {
      for (let j = 0; j < N; j++) {
        let wanted = 0;
        for (let p = 0; p < K; p++) wanted += A[i * K + p] * B[p * N + j];
        const found = c[i * N + j];
        if (!(Math.abs(found - wanted) < 1e-9)) faults.push({ i, j, found, wanted });
      }
    }
    return { faults, past: c.slice(M * N).filter((one) => !Number.isNaN(one)).length };
  }

  const shown = (x) => (Number.isNaN(x) ? 'nothing' : x.toFixed(1).replace(/^-0\.0$/, '0.0').replace('-', '−'));

  /** The check's verdict as a sentence. */
  function verdict({ faults, past }) {
    if (!faults.length && !past) return `All ${M * N} elements are right.`;
    const [first] = faults;
    const wrong = first ? `${faults.length} of ${M * N} elements are wrong, the first at (${first.i}, ${first.j}): ${shown(first.found)} instead of ${shown(first.wanted)}.` : '';
    return `${wrong}${past ? ` ${past} ${past === 1 ? 'number was' : 'numbers were'} written behind the end of C.` : ''}`.trim();
  }

  // ---- The page ------------------------------------------------------------------------------------

  const { Widget, escape, select } = globalThis.throughputWidgets ?? require('./widget.js');

  const STYLE = `
    .desk { --bad: var(--blockquote-caution-color, #b3202c); }
    .controls { justify-content: start; }
    label { display: inline-flex; gap: 0.8rem; align-items: center; }
    button[aria-pressed=true] { background: var(--accent); border-color: var(--accent); color: var(--bg); }
    .both { display: grid; grid-template-columns: minmax(0, max-content) minmax(0, 1fr); gap: 1.2rem 2.4rem; align-items: start; }
    pre { margin: 0; padding: 1rem 1.2rem; border: 1px solid var(--line); border-radius: var(--radius, 8px); background: var(--code-bg); font-family: var(--mono-font, monospace); font-size: 1.3rem; line-height: 1.5; white-space: pre-wrap; }
    del { color: var(--bad); } ins { color: var(--series-3); text-decoration: none; font-weight: 600; }
    table { width: 100%; max-width: 36rem; border-collapse: separate; border-spacing: 3px; table-layout: fixed; font-variant-numeric: tabular-nums; }
    caption { color: var(--muted); text-align: start; padding-block-end: 0.4rem; font-size: 0.9em; }
    td { height: 3.4rem; padding: 0; border: 1px solid var(--line); border-radius: 4px; text-align: center; font-size: 1.3rem; line-height: 1.25; }
    td.wrong { border: 2px solid var(--bad); background: color-mix(in srgb, var(--bad) 14%, transparent); font-weight: 600; }
    td small { display: block; font-weight: 400; font-size: 1.1rem; }
    p { margin: 0; } .verdict { font-weight: 600; } .wrong.verdict { color: var(--bad); } .why { min-height: 1.5em; }
    @media (max-width: 620px) { .both { grid-template-columns: minmax(0, 1fr); } pre { padding-inline: 0.8rem; font-size: 1.2rem; } }
  `;

  class BreakKernel extends Widget {
    made() {
      this.desk(STYLE, `
        <div class="controls">${select('kernel', 'Kernel ', KERNELS.map(({ name }) => [name]))}</div>
        <div class="controls ways" role="group" aria-label="How the kernel is broken"></div>
        <div><p class="verdict" role="status" aria-live="polite"></p><p class="why"></p></div>
        <div class="both"><pre tabindex="0" aria-label="The kernel, for one thread"></pre>
          <table><caption>What it leaves in C = A·B; of a wrong element also what it should be</caption><tbody></tbody></table></div>
        <div class="controls"><button type="button" class="order">Run in another order</button><output></output></div>
        <p class="hint">This is an emulation in JavaScript, not a GPU: the text is run as it stands here, in blocks of ${TILE}×${TILE} threads, one thread after the other up to the next barrier. A GPU may do that, and may do otherwise.</p>`);
      this.on('.order', 'click', () => this.go(this.way, this.order + 1));
      this.on('.kernel', 'change', () => this.take(KERNELS[this.part('.kernel').selectedIndex]));
      this.part('.kernel').selectedIndex = KERNELS.length - 1;
      this.take(KERNELS.at(-1));
    }

    /** Takes a kernel as it is, and offers the ways to break it. */
    take(kernel) {
      this.kernel = kernel;
      this.part('.ways').innerHTML = kernel.breaks.map(({ name }) => `<button type="button" class="way" aria-pressed="false">${name}</button>`).join('');
      this.parts('.way').forEach((button, at) => button.addEventListener('click', () => this.go(at, 1)));
      this.go(0, 1);
    }

    /** Breaks the kernel in one way, runs it in an order of its threads, and checks it. */
    go(way, order) {
      Object.assign(this, { way, order });
      const broken = this.kernel.breaks[way];
      this.parts('.way').forEach((button, at) => button.setAttribute('aria-pressed', String(at === way)));
      this.part('pre').innerHTML = lines(this.kernel, broken).map(([text, mark]) => {
        const tag = { out: 'del', in: 'ins' }[mark];
        const indent = text.match(/^ */)[0];
        return tag ? `${indent}<${tag}>${escape(text.trim())}</${tag}>` : escape(text);
      }).join('\n');
      const c = run(this.kernel, broken, order);
      const found = check(c);
      const faults = new Map(found.faults.map((fault) => [fault.i * N + fault.j, fault]));
      const cell = (at) => (faults.has(at) ? `<td class="wrong">${shown(c[at])}<small>not ${shown(faults.get(at).wanted)}</small></td>` : `<td>${shown(c[at])}</td>`);
      this.part('tbody').innerHTML = Array.from({ length: M }, (_, i) => `<tr>${Array.from({ length: N }, (_, j) => cell(i * N + j)).join('')}</tr>`).join('');
      this.part('.verdict').classList.toggle('wrong', found.faults.length + found.past > 0);
      this.say('.verdict', verdict(found));
      this.say('.why', broken.why ?? 'Break it.');
      this.part('output').textContent = `Order ${order} of the threads`;
    }
  }

  // Without a page, in the tests, there is only the arithmetic.
  if (globalThis.customElements) customElements.define('break-kernel', BreakKernel);
  else module.exports = { KERNELS, run, check, verdict };
})();
