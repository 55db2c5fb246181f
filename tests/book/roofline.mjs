// <roofline-explorer> in a real browser: machines, kernels and sizes chosen, the point dragged with the mouse, with a
// finger and with the keyboard. Called by browser.mjs for every page that has the element. That it counts as the crates
// do is a test of chapter 8's: chapters/08-hardware/tests/it/roofline_explorer.rs.
import { shoot, sound, withoutScript } from './widget.mjs';

/** Looks at the first element of `page`; `fail(where, what)` is told what is wrong. */
export async function rooflineExplorer({ open, page, axe, rules, shots, fail }) {
  for (const [colorScheme, viewport, hasTouch] of [['light', { width: 1280, height: 900 }, false], ['dark', { width: 360, height: 740 }, true]]) {
    const { tab, where: at, close } = await open({ colorScheme, viewport, hasTouch, reducedMotion: 'reduce' }, page);
    const where = `${at} roofline`;
    const element = tab.locator('roofline-explorer').first();
    await tab.waitForFunction(() => globalThis.customElements.get('roofline-explorer'));
    // What the page's tables say, before they are left out of what is looked for.
    const tables = await element.evaluate((e) => [...e.querySelectorAll('table')].map((table) => [...table.tBodies[0].rows].map((row) => [...row.querySelectorAll('[data-machine]:not([hidden]) data')].map((d) => Number(d.value)))));
    const part = (selector) => element.locator(`.desk ${selector}`);
    const read = async (selector) => (await part(selector).innerText()).trim();
    const expect = async (selector, wanted) => {
      const found = await read(selector);
      if (found !== wanted) fail(where, `${selector} is “${found}”, not “${wanted}”`);
    };
    const near = (found, wanted, what) => { if (!(Math.abs(found / wanted - 1) < 0.006)) fail(where, `${what} is ${found}, not ${wanted}`); };

    // The machine that was measured comes first, with the numbers of the page's record.
    if (tables[0].length) {
      const names = await part('.machine optgroup').first().locator('option').allInnerTexts();
      if (names.length !== tables[0].length) fail(where, `has ${names.length} measured machines, the page ${tables[0].length}`);
      // The page's switch hides a machine's numbers: the list follows.
      const hide = (hidden) => element.evaluate((e, hidden) => e.querySelector('td [data-machine]').toggleAttribute('hidden', hidden), hidden);
      for (const [hidden, count] of [[true, names.length - 1], [false, names.length]]) {
        await hide(hidden);
        const found = await part('.machine optgroup[label^=Measured] option').count();
        if (found !== count) fail(where, `has ${found} measured machines after the switch, not ${count}`);
      }
      await part('.machine').selectOption('m0');
      const [peak, bandwidth] = tables[0][0];
      near(Number(await read('.ridge')), peak / bandwidth, 'the measured ridge');
      await part('.kernel').selectOption('m0');
      near(Number(await read('.intensity')), tables[1][0][0], 'the naive loops’ intensity');
      if (!(await read('.says')).includes('Measured: ')) fail(where, 'does not say what was measured');
    }

    // A card and its formats: 989 TFLOP/s over 4.8 TB/s, and 67 TFLOP/s.
    await part('.machine').selectOption({ label: 'NVIDIA H200 SXM' });
    await part('.format').selectOption('bf16');
    await expect('.ridge', '206');
    await part('.kernel').selectOption('sum');
    await expect('.intensity', '0.167');
    if (!(await read('.says')).startsWith('Bytes limit it')) fail(where, 'does not see that a sum is limited by bytes');
    await part('.format').selectOption('f32');
    await expect('.ridge', '14.0');
    await expect('.intensity', '0.0833');

    // A layer leaves the slope where the page says.
    const slide = (wanted) => part('.size').evaluate((input, size) => {
      const { sizes } = input.getRootNode().host;
      input.value = sizes.findIndex((one) => one >= size);
      input.dispatchEvent(new Event('input'));
    }, wanted);
    await part('.format').selectOption('bf16');
    await part('.kernel').selectOption('forward');
    await slide(215);
    if (!(await read('.says')).startsWith('Bytes limit it')) fail(where, 'leaves the slope before a batch of 230');
    await slide(232);
    if (!(await read('.says')).startsWith('Operations limit it')) fail(where, 'is on the slope above a batch of 230');
    await expect('.share', '100%');
    await part('.size').focus();
    await tab.keyboard.press('ArrowLeft');
    await tab.keyboard.press('ArrowLeft');
    if (!(await read('.says')).startsWith('Bytes limit it')) fail(where, 'the size does not move with the keyboard');

    // The time of some operations: 9.89·10¹⁴ of them take a second at the peak.
    await part('.kernel').selectOption('own');
    await part('.view').focus();
    await tab.keyboard.press('End');
    await expect('.intensity', '10,000');
    await part('.work').fill('989000');
    await expect('.time', 'They take at least 1.00 s.');
    await part('.work').fill('much');
    if (await part('.work').getAttribute('aria-invalid') !== 'true') fail(where, 'takes a word for a number');
    await part('.work').fill('1');

    // The point, with the keyboard: the page neither scrolls nor turns.
    await part('.view').focus();
    const [address, top] = [tab.url(), await tab.evaluate(() => scrollY)];
    await tab.keyboard.press('Home');
    await expect('.intensity', '0.0100');
    await tab.keyboard.press('ArrowLeft');
    await expect('.intensity', '0.0100');
    for (let i = 0; i < 10; i += 1) await tab.keyboard.press('ArrowRight');
    await expect('.intensity', '0.100');
    if (tab.url() !== address || await tab.evaluate(() => scrollY) !== top) fail(where, 'scrolls or turns the page');
    if (!(await part('.view').getAttribute('aria-valuetext')).startsWith('Bytes limit it: at 0.100')) fail(where, 'does not say where the point is');

    // With the mouse and with a finger; a kernel that is dragged is one's own.
    await part('.kernel').selectOption('product');
    await part('.view').scrollIntoViewIfNeeded();
    const box = await part('.view').boundingBox();
    const [left, right, middle] = [box.x + 0.3 * box.width, box.x + 0.9 * box.width, box.y + box.height / 2];
    const here = async () => Number((await read('.intensity')).replaceAll(',', ''));
    if (hasTouch) {
      await tab.touchscreen.tap(left, middle);
    } else {
      await tab.mouse.move(right, middle);
      await tab.mouse.down();
      await tab.mouse.move(left, middle, { steps: 3 });
      await tab.mouse.up();
    }
    const one = await here();
    if (await part('.kernel').inputValue() !== 'own') fail(where, 'still calls a dragged kernel by its name');
    if (hasTouch) await tab.touchscreen.tap(right, middle);
    else await tab.mouse.click(right, middle);
    if (!(one < 10 && await here() > 1000)) fail(where, `was dragged from ${one} to ${await here()}`);
    await tab.mouse.move(left, middle);
    if (!(await here() > 1000)) fail(where, 'follows a mouse that is not pressed');
    await part('.kernel').selectOption('attention');

    const cut = await element.evaluate((all) => {
      const frame = all.shadowRoot.querySelector('svg').getBoundingClientRect();
      return [...all.shadowRoot.querySelectorAll('svg text')].filter((e) => { const b = e.getBoundingClientRect(); return b.left < frame.left - 1 || b.right > frame.right + 1; }).map((e) => e.textContent);
    });
    if (cut.length) fail(where, `cuts off “${cut[0]}”`);
    await sound({ tab, where, element, tag: 'roofline-explorer', beside: 'svg', axe, rules, fail });
    await shoot({ element, shots, page, name: `roofline-${colorScheme}-${viewport.width}` });
    await close();
  }

  await withoutScript({ open, page, tag: 'roofline-explorer', shows: ['table', 'svg'], fail });
}
