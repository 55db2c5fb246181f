// <product-race> in a real browser: its arithmetic, what it shows of the record, that it starts once by itself and takes
// the recorded time, and that it stands still for a reader who asked for that. Called by browser.mjs for every page that
// has the element.
import { createRequire } from 'node:module';
import { LOOKS, shoot, sound, withoutScript } from './widget.mjs';

const race = createRequire(import.meta.url)('../../book/theme/product-race.js');

/** The screens whose first view has the whole race, and the most that a page's parts may move while it loads. */
const SCREENS = [{ width: 1280, height: 800 }, { width: 360, height: 740 }];
const SHIFT = 0.02;

function arithmetic(fail) {
  const expect = (what, found, wanted) => { if (JSON.stringify(found) !== JSON.stringify(wanted)) fail('product-race.js', `${what} gives ${JSON.stringify(found)}, not ${JSON.stringify(wanted)}`); };
  expect('the time of 2·10³ operations at 1000 FLOP/s', race.seconds(10, 1000), 2);
  expect('the products of a time', [0, 0.99, 1, 3 * 0.1 / 0.1].map((time) => race.whole(time, 1)), [0, 0, 1, 3]);
  expect('a product that ends at the very moment', race.whole(0.3, 0.1), 3);
  expect('times', [4.4711, 0.9996, 0.9994, 0.0125299, 0.00099951, 4.2e-7].map(race.words), ['4.47 s', '1.00 s', '999 ms', '12.5 ms', '1.00 ms', '0.420 µs']);
  for (const [count, width, height] of [[1, 300, 16], [36, 300, 28], [357, 300, 46], [357, 720, 46], [20_000, 300, 46], [9, 0, 0]]) {
    const { side, columns, per } = race.squares(count, width, height);
    const rows = Math.ceil(Math.ceil(count / per) / columns);
    if (width && (columns * side > width || rows * side > height)) fail('product-race.js', `${count} squares of ${side} do not fit ${width}×${height}`);
  }
  expect('the outline of 7 squares in rows of 5', race.outline(7, { side: 10, columns: 5 }), 'M0 0H50V10H0ZM0 10h20v10H0Z');
  expect('the end', race.verdict([{ name: 'a', each: 4 }, { name: 'b', each: 0.5 }]), 'In the 4.00 s that a took for one product, b made 8.');
}

/** Looks at the first element of `page`; `fail(where, what)` is told what is wrong. */
export async function productRace({ open, page, axe, rules, shots, fail }) {
  arithmetic(fail);

  async function visit(options) {
    const { tab, where: at, close } = await open(options, page);
    await tab.waitForFunction(() => globalThis.customElements.get('product-race'));
    const element = tab.locator('product-race').first();
    const part = (selector) => element.locator(selector);
    return {
      tab, where: `${at} race`, element, part, close,
      counts: () => part('.count').allInnerTexts(),
      times: () => part('.each a').allInnerTexts(),
      clock: () => element.evaluate((one) => one.time),
      /** The rates that the table shows for the chosen machine. */
      rates: () => element.evaluate((one) => [...one.querySelectorAll('tbody tr')].map((row) => Number(row.querySelector('a.measured:not([hidden]) data').value))),
      end: () => tab.waitForFunction(() => { const one = document.querySelector('product-race'); return one.time === one.total && !one.running; }, null, { timeout: 60_000 }),
    };
  }

  for (const [colorScheme, viewport] of LOOKS) {
    const { tab, where, element, part, close, counts, times, clock, rates } = await visit({ colorScheme, viewport, reducedMotion: 'reduce' });
    const n = await element.evaluate((one) => Number(one.dataset.n));
    const holds = async (when) => {
      const each = (await rates()).map((rate) => race.seconds(n, rate));
      const wanted = each.map((one) => `${race.whole(Math.max(...each), one)} made`);
      if ((await counts()).join() !== wanted.join()) fail(where, `${when}: shows ${await counts()}, and the record gives ${wanted}`);
      if ((await times()).join() !== each.map(race.words).join()) fail(where, `${when}: says ${await times()}`);
      if (await part('path.done').count() !== each.length || each.length < 3) fail(where, `${when}: has ${each.length} lanes`);
    };
    await holds('at first');
    if (await part('.play').isVisible()) fail(where, 'offers to move to a reader who asked for less motion');
    if (await clock() === 0 || await element.evaluate((one) => Boolean(one.running))) fail(where, 'is no picture of the end');
    if (await part('.aloud').innerText()) fail(where, 'speaks before anybody asked');
    await sound({ tab, where, element, tag: 'product-race', axe, rules, fail });
    await shoot({ element, shots, page, name: `race-${colorScheme}-${viewport.width}` });
    // Another machine's numbers are another race.
    const names = await tab.locator('.bar-machine option').evaluateAll((all) => all.map((one) => one.value));
    const before = (await times()).join();
    const races = new Set([before]);
    for (const name of names) {
      await tab.locator('.bar-machine select').first().selectOption(name);
      // Its numbers come with a script of their own.
      await tab.waitForFunction((name) => [...document.querySelectorAll('product-race [data-machine]:not([hidden])')].every((e) => [e.dataset.machine, ...(e.dataset.also ?? '').split(' ')].includes(name)), name);
      await tab.waitForTimeout(100);
      await holds(`on ${name}`);
      races.add((await times()).join());
    }
    if (names.length > 1 && races.size < 2) fail(where, 'is the same on every machine');
    await close();
  }

  // By itself, once; with the keyboard it pauses and goes on; it takes the recorded time, and then speaks.
  {
    const { tab, where, element, part, close, counts, clock, end } = await visit({ viewport: SCREENS[0], reducedMotion: 'no-preference' });
    await part('ul').scrollIntoViewIfNeeded();
    await tab.waitForFunction(() => document.querySelector('product-race').time > 0.3, null, { timeout: 60_000 }).catch(() => fail(where, 'does not start by itself'));
    const button = part('.play');
    await button.focus();
    await tab.keyboard.press('Enter');
    const stopped = await clock();
    await tab.waitForTimeout(300);
    if (await clock() !== stopped || await button.innerText() !== 'Go on') fail(where, `does not pause: ${stopped}, ${await clock()}, ${await button.innerText()}`);
    await tab.keyboard.press('Enter');
    await end();
    if (!/^In the .* that .* took for one product, /.test(await part('.aloud').innerText())) fail(where, `says at its end: ${await part('.aloud').innerText()}`);
    if (await button.innerText() !== 'Race again') fail(where, `offers at its end: ${await button.innerText()}`);
    await tab.keyboard.press(' ');
    const began = Date.now();
    if (await part('.aloud').innerText()) fail(where, 'speaks while it runs');
    await tab.waitForFunction(() => document.querySelector('product-race').time > 0.05);
    const half = (await counts())[0];
    if (!/^\d+% of one$/.test(half)) fail(where, `shows ${half} of the slowest`);
    await end();
    const [took, total] = [(Date.now() - began) / 1000, await element.evaluate((one) => one.total)];
    if (took < total - 0.3 || took > total + 3) fail(where, `takes ${took} s, and the record says ${total}`);
    await close();
  }

  // On the first page: all of it on the first screen, and nothing moves while it loads.
  for (const viewport of page === 'index.html' ? SCREENS : []) {
    const { tab, where, part, close } = await visit({ viewport, reducedMotion: 'reduce' });
    const bottom = await part('.desk').evaluate((one) => one.getBoundingClientRect().bottom);
    const start = await tab.locator('.start a').first().evaluate((one) => one.getBoundingClientRect().bottom);
    if (bottom > viewport.height || start > bottom) fail(where, `ends at ${Math.round(bottom)} of ${viewport.height} pixels, the first link at ${Math.round(start)}`);
    const moved = await tab.evaluate(() => new Promise((done) => {
      let sum = 0;
      new PerformanceObserver((list) => { for (const one of list.getEntries()) sum += one.value; }).observe({ type: 'layout-shift', buffered: true });
      setTimeout(() => done(sum), 500);
    }));
    if (moved >= SHIFT) fail(where, `${viewport.width}: its parts move by ${moved.toFixed(3)} while it loads, and ${SHIFT} is allowed`);
    await close();
  }

  await withoutScript({ open, page, tag: 'product-race', shows: ['table'], fail });
}
