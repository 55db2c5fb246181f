// <product-race>: its arithmetic, what it shows of the record, that it starts once by itself and takes the recorded time, and
// that it stands still for a reader who asked for that.
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
const race = require('../../../book/theme/product-race.js');
const { duration } = require('../../../book/theme/widget.js');

export const still = ['table'];

/** The screens whose first view has the whole race. */
const SCREENS = [{ width: 1280, height: 800 }, { width: 360, height: 740 }];

function arithmetic(fail) {
  const expect = (what, found, wanted) => { if (JSON.stringify(found) !== JSON.stringify(wanted)) fail(`${what} gives ${JSON.stringify(found)}, not ${JSON.stringify(wanted)}`); };
  expect('the time of 2·10³ operations at 1000 FLOP/s', race.seconds(10, 1000), 2);
  expect('the products of a time', [0, 0.99, 1, 3 * 0.1 / 0.1].map((time) => race.whole(time, 1)), [0, 0, 1, 3]);
  expect('a product that ends at the very moment', race.whole(0.3, 0.1), 3);
  expect('times', [4.4711, 0.9996, 0.9994, 0.0125299, 0.00099951, 4.2e-7].map(duration), ['4.47 s', '1.00 s', '999 ms', '12.5 ms', '1.00 ms', '420 ns']);
  for (const [count, width, height] of [[1, 300, 16], [36, 300, 28], [357, 300, 46], [357, 720, 46], [20_000, 300, 46], [9, 0, 0]]) {
    const { side, columns, per } = race.squares(count, width, height);
    const rows = Math.ceil(Math.ceil(count / per) / columns);
    if (width && (columns * side > width || rows * side > height)) fail(`${count} squares of ${side} do not fit ${width}×${height}`);
  }
  expect('the outline of 7 squares in rows of 5', race.outline(7, { side: 10, columns: 5 }), 'M0 0H50V10H0ZM0 10h20v10H0Z');
  expect('the end', race.verdict([{ name: 'a', each: 4 }, { name: 'b', each: 0.5 }]), 'In the 4.00 s that a took for one product, b made 8.');
}

const counts = ({ part }) => part('.count').allInnerTexts();
const clock = ({ element }) => element.evaluate((one) => one.time);

export async function tried(kit) {
  const { tab, element, part, is, expect } = kit;
  const times = async () => (await part('.each a').allInnerTexts()).join();
  const n = await element.evaluate((one) => Number(one.dataset.n));
  const holds = async (when) => {
    // The rates that the table shows for the chosen machine.
    const rates = await element.evaluate((one) => [...one.querySelectorAll('tbody tr')].map((row) => Number(row.querySelector('a.measured:not([hidden]) data').value)));
    const each = rates.map((rate) => race.seconds(n, rate));
    const wanted = each.map((one) => `${race.whole(Math.max(...each), one)} made`);
    const [shown, told] = [await counts(kit), await times()];
    expect(`${when}: shows ${shown}, and the record gives ${wanted}`, shown.join() === wanted.join());
    expect(`${when}: says ${told}`, told === each.map(duration).join());
    expect(`${when}: has ${each.length} lanes`, await part('path.done').count() === each.length && each.length >= 3);
  };
  await holds('at first');
  expect('is no picture of the end', await clock(kit) > 0 && !await element.evaluate((one) => Boolean(one.running)));
  await is('.aloud', ''); // nobody asked
  // Another machine's numbers are another race.
  const names = await tab.locator('.bar-machine option').evaluateAll((all) => all.map((one) => one.value));
  const races = new Set([await times()]);
  for (const name of names) {
    await tab.locator('.bar-machine select').first().selectOption(name);
    // Its numbers come with a script of their own.
    await tab.waitForFunction((name) => [...document.querySelectorAll('product-race [data-machine]:not([hidden])')].every((e) => [e.dataset.machine, ...(e.dataset.also ?? '').split(' ')].includes(name)), name);
    await tab.waitForTimeout(100);
    await holds(`on ${name}`);
    races.add(await times());
  }
  expect('is the same on every machine', names.length < 2 || races.size > 1);
}

/** By itself, once; with the keyboard it pauses and goes on; it takes the recorded time, and then speaks. */
export async function moved(kit) {
  const { tab, element, part, read, is, expect, fail } = kit;
  arithmetic(fail);
  const end = () => tab.waitForFunction(() => { const one = document.querySelector('product-race'); return one.time === one.total && !one.running; }, null, { timeout: 60_000 });
  await part('ul').scrollIntoViewIfNeeded();
  await tab.waitForFunction(() => document.querySelector('product-race').time > 0.3, null, { timeout: 60_000 }).catch(() => fail('does not start by itself'));
  const button = part('.play');
  await button.focus();
  // On a busy machine the race may be over before the key comes, which then starts it again.
  let stopped = 0;
  while (stopped < 0.3) {
    await tab.waitForFunction(() => document.querySelector('product-race').time > 0.3);
    await tab.keyboard.press('Enter');
    stopped = await clock(kit);
  }
  await tab.waitForTimeout(300);
  expect(`does not pause: ${stopped}, ${await clock(kit)}`, await clock(kit) === stopped);
  await is('.play', 'Go on');
  await tab.keyboard.press('Enter');
  await end();
  expect(`says at its end: ${await read('.aloud')}`, /^In the .* that .* took for one product, /.test(await read('.aloud')));
  await is('.play', 'Race again');
  await tab.keyboard.press(' ');
  const began = Date.now();
  await is('.aloud', ''); // while it runs
  await tab.waitForFunction(() => document.querySelector('product-race').time > 0.05);
  const half = (await counts(kit))[0];
  expect(`shows ${half} of the slowest`, /^\d+% of one$/.test(half));
  await end();
  const [took, total] = [(Date.now() - began) / 1000, await element.evaluate((one) => one.total)];
  expect(`takes ${took} s, and the record says ${total}`, took >= total - 0.3 && took <= total + 3);
}

/** On the first page: all of it on the first screen. That nothing moves while it loads is known of every page. */
export async function visited(visit) {
  for (const viewport of SCREENS) {
    const { tab, part, expect } = await visit({ viewport, reducedMotion: 'reduce' });
    const bottom = await part('ul').evaluate((one) => one.closest('.desk').getBoundingClientRect().bottom);
    const start = await tab.locator('.start a').first().evaluate((one) => one.getBoundingClientRect().bottom);
    expect(`ends at ${Math.round(bottom)} of ${viewport.height} pixels, the first link at ${Math.round(start)}`, bottom <= viewport.height && start <= bottom);
  }
}
