// Charts: the value of a point on hover, tap and with the keyboard, and the other scale of an axis.
//
// `data-at` of a chart has for each series its name and its points: position, value and where. Without this script the
// chart is complete: its values are in its words, and each chart is the drawing that fits its width.
(() => {
  'use strict';
  const NEAR = 28; // pixels
  const chartOf = (target) => target.closest?.('svg.chart[data-at]');

  // The points of a chart, in the order of its series.
  const known = new WeakMap();
  function points(chart) {
    if (!known.has(chart)) {
      const { x: over, y: shows } = chart.dataset;
      const all = JSON.parse(chart.dataset.at).flatMap(([name, ...points], series) => points.map(([x, y, value, where]) => {
        const lines = shows === undefined ? [value, where] : [`${shows}: ${value}`, `${over}: ${where}`];
        return { series, x, y, lines: [name, ...lines].filter(Boolean) };
      }));
      known.set(chart, all);
    }
    return known.get(chart);
  }

  const readout = Object.assign(document.createElement('div'), { id: 'readout', role: 'status', hidden: true });
  document.body.append(readout);
  let shown = null; // the chart, and which of its points

  function hide() {
    shown?.chart.querySelector('.asked')?.remove();
    shown = null;
    readout.hidden = true;
  }

  function show(chart, at) {
    const point = points(chart)[at];
    if (!point || (shown?.chart === chart && shown.at === at)) return;
    hide();
    shown = { chart, at };
    const ring = document.createElementNS(chart.namespaceURI, 'circle');
    for (const [name, value] of [['class', 'asked'], ['cx', point.x], ['cy', point.y], ['r', 8]]) ring.setAttribute(name, value);
    chart.append(ring);
    readout.replaceChildren(...point.lines.map((line, i) => Object.assign(document.createElement(i ? 'div' : 'b'), { textContent: line })));
    readout.hidden = false;
    // Beside the point, on the side that has the room.
    const box = ring.getBoundingClientRect();
    const { offsetWidth: wide, offsetHeight: high } = readout;
    const right = box.right + 6 + wide < document.documentElement.clientWidth;
    const left = right ? box.right + 6 : Math.max(4, box.left - 6 - wide);
    const above = box.top - 6 - high;
    const beside = right || box.left - 6 - wide > 4;
    const top = beside ? box.top + box.height / 2 - high / 2 : above > 4 ? above : box.bottom + 6;
    readout.style.left = `${left + scrollX}px`;
    readout.style.top = `${Math.max(4, top) + scrollY}px`;
  }

  function nearest(chart, { clientX, clientY }) {
    const box = chart.getBoundingClientRect();
    const scale = box.width / chart.viewBox.baseVal.width;
    let [best, least] = [-1, NEAR];
    for (const [at, { x, y }] of points(chart).entries()) {
      const far = Math.hypot(box.left + scale * x - clientX, box.top + scale * y - clientY);
      if (far < least) [best, least] = [at, far];
    }
    return best;
  }

  for (const event of ['pointermove', 'pointerdown']) {
    document.addEventListener(event, (pointer) => {
      const chart = chartOf(pointer.target);
      const at = chart ? nearest(chart, pointer) : -1;
      if (at >= 0) show(chart, at);
      else if (shown && document.activeElement !== shown.chart) hide();
    });
  }

  // One stop of the Tab key a chart; the arrows go over its points and do not turn the page.
  document.addEventListener('focusin', ({ target }) => { if (chartOf(target) === target && target.matches(':focus-visible')) show(target, 0); });
  document.addEventListener('focusout', ({ target }) => { if (shown?.chart === target) hide(); });
  document.addEventListener('keydown', (event) => {
    const chart = chartOf(event.target);
    if (chart !== event.target || !chart || event.ctrlKey || event.metaKey || event.altKey) return;
    const all = points(chart);
    const at = shown?.chart === chart ? shown.at : -1;
    const first = (series) => all.findIndex((point) => point.series === series);
    const { series = 0 } = all[at] ?? {};
    const to = {
      ArrowRight: () => Math.min(at + 1, all.length - 1),
      ArrowLeft: () => Math.max(at - 1, 0),
      ArrowDown: () => Math.max(first(series + 1), at),
      ArrowUp: () => Math.max(first(series - 1), 0),
      Home: () => 0,
      End: () => all.length - 1,
      Escape: () => -1,
    }[event.key]?.();
    if (to === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    if (to < 0) hide(); else show(chart, to);
  }, true);
  addEventListener('resize', hide);

  // The other scale: the same figure, drawn when the book was made.
  const scaleOf = (plot) => (/log scale/.test(plot.querySelector('svg').textContent) ? 'Linear' : 'Logarithmic');
  function toggle(plot) {
    const button = Object.assign(document.createElement('button'), { type: 'button', className: 'scale' });
    const name = () => { button.textContent = `${scaleOf(plot)} scale`; };
    button.addEventListener('click', () => {
      hide();
      const kept = document.createElement('template');
      const other = plot.querySelector('template');
      kept.content.append(...plot.querySelectorAll('svg.chart'));
      plot.prepend(other.content);
      other.replaceWith(kept);
      name();
      arm();
    });
    name();
    plot.before(button);
  }

  function arm() {
    for (const chart of document.querySelectorAll('svg.chart[data-at]:not([tabindex])')) chart.setAttribute('tabindex', 0);
    for (const plot of document.querySelectorAll('.plot:has(> template):not([data-armed])')) {
      plot.dataset.armed = '';
      toggle(plot);
    }
  }
  arm();
  // A machine that is chosen later brings its figures.
  const main = document.querySelector('main');
  if (main) new MutationObserver(arm).observe(main, { childList: true, subtree: true });
})();
