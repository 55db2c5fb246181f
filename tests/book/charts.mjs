// Charts in the browser: whether what they say can be read, and whether they tell their values.

/** What is wrong with the charts that show, in words. */
function look() {
  const wrong = [];
  for (const old of document.querySelectorAll('main svg.chart:not([width])')) wrong.push(`${old.closest('[id]')?.id ?? ''}: a chart of another time; run the notebook again`);
  const apart = (a, b) => a.right <= b.left || b.right <= a.left || a.bottom <= b.top || b.bottom <= a.top;
  for (const chart of document.querySelectorAll('svg.chart[width]')) {
    const outer = chart.getBoundingClientRect();
    if (!outer.width || !chart.checkVisibility()) continue;
    const name = `${chart.closest('[data-machine]')?.dataset.machine ?? ''} ${chart.closest('[id]')?.id ?? ''}`;
    const at = (text, what) => wrong.push(`${name}: "${text.words}" ${what}`);
    const matrix = chart.getScreenCTM();
    const onScreen = ({ x, y }) => ({ x: matrix.a * x + matrix.e, y: matrix.d * y + matrix.f });
    const boxOf = (element) => {
      const { x, y, width, height } = element.getBBox();
      const [from, to] = [onScreen({ x, y }), onScreen({ x: x + width, y: y + height })];
      return { left: from.x, top: from.y, right: to.x, bottom: to.y };
    };
    // A line of text is higher than its letters.
    const texts = [...chart.querySelectorAll('text')].filter((text) => text.textContent.trim()).map((text) => {
      const box = boxOf(text);
      const rim = 0.18 * (box.bottom - box.top);
      return { words: text.textContent, size: parseFloat(getComputedStyle(text).fontSize) * matrix.a, ...box, top: box.top + rim, bottom: box.bottom - rim };
    });
    const plot = chart.closest('.plot');
    const frame = plot && plot.scrollWidth <= plot.clientWidth + 1 ? plot.getBoundingClientRect() : outer;
    for (const [i, text] of texts.entries()) {
      // A phone's figure is a little smaller inside a box of the page.
      if (text.size < 11.5 || text.size > 14) at(text, `is ${text.size.toFixed(1)} px high`);
      const edge = { left: Math.max(outer.left, frame.left), right: Math.min(outer.right, frame.right) };
      if (text.left < edge.left - 1 || text.right > edge.right + 1 || text.top < outer.top - 1 || text.bottom > outer.bottom + 1) at(text, 'is cut');
      for (const other of texts.slice(i + 1)) if (!apart(text, other)) at(text, `overlaps "${other.words}"`);
    }
    for (const shape of chart.querySelectorAll('line, polyline, path:not(.grid)')) {
      // A path of many marks takes seconds to follow: of each mark its four ends.
      const marks = [...shape.getAttribute('d')?.matchAll(/M([-\d.]+),([-\d.]+)m/g) ?? []].map(([, x, y]) => [Number(x), Number(y)]);
      const points = marks.flatMap(([x, y]) => [{ x: x - 4, y }, { x: x + 4, y }, { x, y: y - 4 }, { x, y: y + 4 }]);
      const length = marks.length ? 0 : shape.getTotalLength();
      const step = Math.max(1.5, length / 4000);
      for (let far = 0; far < length; far += step) points.push(shape.getPointAtLength(far));
      const hit = new Set();
      for (const point of points.map(onScreen)) {
        for (const text of texts) {
          if (point.x > text.left + 0.5 && point.x < text.right - 0.5 && point.y > text.top && point.y < text.bottom) hit.add(text);
        }
      }
      for (const text of hit) at(text, `lies on a ${shape.localName} ${shape.getAttribute('stroke-dasharray') ? 'that is dashed' : shape.getAttribute('stroke') ?? shape.getAttribute('fill')}`);
    }
    // A bar or a cell that is filled in full; a band and a tint are behind their text.
    for (const shape of chart.querySelectorAll('polygon:not([opacity]), rect')) {
      const box = boxOf(shape);
      for (const text of texts) if (!apart(text, box)) at(text, 'lies on a bar');
    }
  }
  return wrong;
}

/**
 * No text of a chart overlaps another, lies on a line or is cut: of all charts on an open page, also in its hints, with the
 * numbers of every machine that has been chosen there, and with their other scales.
 */
export async function charts({ tab, where, fail }) {
  const found = new Set();
  const all = async () => (await tab.evaluate(look)).forEach((what) => found.add(what));
  // All hints and machines show at once, and then no longer.
  const unfold = (open) => tab.evaluate((open) => {
    document.querySelectorAll('details').forEach((fold) => { fold.open = open; });
    for (const one of document.querySelectorAll(open ? '[data-machine][hidden]' : '[data-unfolded]')) {
      for (const name of ['hidden', 'data-unfolded']) one.toggleAttribute(name);
    }
  }, open);
  await unfold(true);
  await all();
  const scales = await tab.evaluate(() => {
    const buttons = [...document.querySelectorAll('button.scale')].filter((button) => button.checkVisibility());
    buttons.forEach((button) => button.click());
    return buttons.length;
  });
  if (scales) await all();
  await unfold(false);
  for (const what of found) fail(where, what);
}

/** A chart tells its values to a pointer and to the keyboard, and changes its scale. */
export async function values({ open, page, fail, shots }) {
  for (const colorScheme of ['light', 'dark']) {
    const { tab, where } = await open({ viewport: { width: 1280, height: 900 }, colorScheme, reducedMotion: 'reduce' }, page);
    const chart = tab.locator('svg.chart[data-at]:visible').first();
    await chart.scrollIntoViewIfNeeded();
    const told = await chart.evaluate((svg) => JSON.parse(svg.dataset.at));
    const readout = tab.locator('#readout');
    const [[name, [x, y, value]]] = told;
    const box = await chart.boundingBox();
    await tab.mouse.move(box.x + x, box.y + y);
    const said = await readout.innerText();
    if (!said.includes(name) || !said.includes(value)) fail(where, `says "${said}" of ${name}, ${value}`);
    if (shots) await tab.screenshot({ path: `${shots}/chart-value-${colorScheme}.png` });
    await tab.mouse.move(2, 2);
    if (await readout.isVisible()) fail(where, 'still tells a value when the pointer has gone');

    await chart.evaluate((svg) => {
      const before = document.createElement('span');
      before.tabIndex = -1;
      svg.closest('.plot').before(before);
      before.focus();
    });
    await tab.keyboard.press('Tab');
    if (!(await chart.evaluate((svg) => svg === document.activeElement))) fail(where, 'is not reached with Tab');
    const walked = [await readout.innerText()];
    for (const key of ['ArrowRight', 'ArrowRight', 'End']) {
      await tab.keyboard.press(key);
      walked.push(await readout.innerText());
    }
    if (new Set(walked.slice(0, 2)).size < 2) fail(where, `the arrow key does not move: ${walked}`);
    const [last, ...points] = told.at(-1);
    if (!walked.at(-1).includes(last) || !walked.at(-1).includes(points.at(-1)[2])) fail(where, `End leads to ${walked.at(-1)}`);
    if (!tab.url().includes(page)) fail(where, 'an arrow key turns the page');
    await tab.keyboard.press('Escape');
    if (await readout.isVisible()) fail(where, 'Escape does not close the value');

    const words = () => tab.locator('.plot:has(> template):visible svg.chart:visible').first().textContent();
    const scale = tab.locator('button.scale:visible').first();
    const before = await words();
    const label = await scale.innerText();
    await scale.click();
    const after = await words();
    if (/log scale/.test(before) === /log scale/.test(after)) fail(where, 'the scale does not change');
    if ((await scale.innerText()) === label) fail(where, 'the button does not say what it does next');
    await scale.click();
    if ((await words()) !== before) fail(where, 'the scale does not change back');
  }
}
