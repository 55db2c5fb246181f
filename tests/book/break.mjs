// <break-kernel> in a real browser: each way to break the kernel, by clicks and with the keyboard, and what the check
// says of it. Called by browser.mjs for every page that has the element.
import { createRequire } from 'node:module';
import { LOOKS, shoot, sound, withoutScript } from './widget.mjs';

const { KERNELS, run, check } = createRequire(import.meta.url)('../../book/theme/break-kernel.js');

const TILED = KERNELS.at(-1); // what the page has at first

/** Looks at the first element of `page`; `fail(where, what)` is told what is wrong. */
export async function breakKernel({ open, page, axe, rules, shots, fail }) {
  // Each kernel is right in every order of its threads, and broken it is caught in every one.
  let lucky = 0;
  for (const kernel of KERNELS) {
    for (const way of kernel.breaks) {
      for (let order = 1; order <= 200; order++) {
        const { faults, past } = check(run(kernel, way, order));
        if ((faults.length + past > 0) !== Boolean(way.why)) fail(`${page} break`, `${kernel.name}, “${way.name}” in order ${order}: ${faults.length} wrong, ${past} behind the end`);
        if (kernel === TILED && way.why && !faults.length) lucky++;
      }
    }
  }
  if (lucky < 20 || lucky > 60) fail(`${page} break`, `${lucky} of 200 orders leave C right, and the page says about every fifth`);

  for (const [colorScheme, viewport] of LOOKS) {
    const { tab, where: at, close } = await open({ colorScheme, viewport, reducedMotion: 'reduce' }, page);
    const where = `${at} break`;
    const element = tab.locator('break-kernel').first();
    await tab.waitForFunction(() => globalThis.customElements.get('break-kernel'));
    const part = (selector) => element.locator(selector);
    const expect = async (what, wanted, marks) => {
      const [said, wrong, bad] = [await part('.verdict').innerText(), await part('td.wrong').count(), await part('pre del, pre ins').count()];
      if (!wanted.test(said)) fail(where, `${what}: it says “${said}”`);
      if (wrong !== Number(said.match(/(\d+) of 35 elements are wrong/)?.[1] ?? 0)) fail(where, `${what}: ${wrong} elements are marked, and it says “${said}”`);
      if (bad !== marks) fail(where, `${what}: ${bad} lines are marked, not ${marks}`);
    };
    const press = async (at) => {
      await part('.way').nth(at).focus();
      await tab.keyboard.press('Enter');
    };
    const address = tab.url();
    await expect('at first', /^All 35 elements are right\.$/, 0);
    const number = '−?\\d+\\.\\d';
    for (const at of [1, 2]) {
      await press(at);
      await expect(TILED.breaks[at].name, new RegExp(`^\\d+ of 35 elements are wrong, the first at \\(\\d, \\d\\): ${number} instead of ${number}\\.$`), 1);
    }
    await press(3);
    await expect('no bounds check', /[1-9]\d* numbers were written behind the end of C\.$/, 2);
    await press(4);
    await expect('an index swapped', /^35 of 35 .* at \(0, 0\): 8\.0 instead of 1\.2\.$/, 2);
    await shoot({ element, shots, page, name: `break-${colorScheme}-${viewport.width}` });
    // Another order changes what a race leaves, and nothing else.
    const left = () => part('tbody').innerText();
    const swapped = await left();
    await part('.order').click();
    if (await left() !== swapped) fail(where, 'an index swapped depends on the order');
    await press(1);
    const race = await left();
    await part('.order').click();
    if (await left() === race) fail(where, 'a race does not depend on the order');
    await tab.keyboard.press('ArrowRight');
    if (tab.url() !== address) fail(where, 'turns the page');
    await press(5);
    await expect('a wrong stride', /^30 of 35 .* nothing instead of /, 2);
    await sound({ tab, where, element, tag: 'break-kernel', axe, rules, fail });
    await press(0);
    await expect('mended', /^All 35 elements are right\.$/, 0);
    // The other kernels have no tiles, and break in other ways.
    for (const kernel of KERNELS.slice(0, -1)) {
      await part('.kernel').selectOption(kernel.name);
      await expect(kernel.name, /^All 35 elements are right\.$/, 0);
      for (const [at, way] of kernel.breaks.entries()) {
        if (!way.why) continue;
        await press(at);
        await expect(`${kernel.name}, ${way.name}`, /elements are wrong|behind the end of C\.$/, way.to ? 2 : 1);
      }
      await shoot({ element, shots, page, name: `break-${kernel.name}-${colorScheme}-${viewport.width}` });
    }
    await sound({ tab, where, element, tag: 'break-kernel', axe, rules, fail });
    await close();
  }

  await withoutScript({ open, page, tag: 'break-kernel', shows: ['p'], fail });
}
