// <roofline-explorer>: machines, kernels and sizes chosen, the point dragged with the mouse, with a finger and with the
// keyboard. That it counts as the crates do is a test of chapter 8's: chapters/08-hardware/tests/it/roofline_explorer.rs.

export const beside = 'svg';
export const still = ['table', 'svg'];

export async function tried({ tab, element, part, read, is, says, expect, choose, keys, narrow }) {
  // What the page's tables say.
  const tables = await element.evaluate((e) => [...e.querySelectorAll('table')].map((table) => [...table.tBodies[0].rows].map((row) => [...row.querySelectorAll('[data-machine]:not([hidden]) data')].map((d) => Number(d.value)))));
  const near = (found, wanted, what) => expect(`${what} is ${found}, not ${wanted}`, Math.abs(found / wanted - 1) < 0.006);

  // The machine that was measured comes first, with the numbers of the page's record.
  if (tables[0].length) {
    const names = await part('.machine optgroup').first().locator('option').allInnerTexts();
    expect(`has ${names.length} measured machines, the page ${tables[0].length}`, names.length === tables[0].length);
    // The page's switch hides a machine's numbers: the list follows.
    const hide = (hidden) => element.evaluate((e, hidden) => e.querySelector('td [data-machine]').toggleAttribute('hidden', hidden), hidden);
    for (const [hidden, count] of [[true, names.length - 1], [false, names.length]]) {
      await hide(hidden);
      const found = await part('.machine optgroup[label^=Measured] option').count();
      expect(`has ${found} measured machines after the switch, not ${count}`, found === count);
    }
    await choose('.machine', 'm0');
    const [peak, bandwidth] = tables[0][0];
    near(Number(await read('.ridge')), peak / bandwidth, 'the measured ridge');
    await choose('.kernel', 'm0');
    near(Number(await read('.intensity')), tables[1][0][0], 'the naive loops’ intensity');
    await says('.says', 'Measured: ');
  }

  // A card and its formats: 989 TFLOP/s over 4.8 TB/s, and 67 TFLOP/s.
  await choose('.machine', { label: 'NVIDIA H200 SXM' });
  await choose('.format', 'bf16');
  await is('.ridge', '206');
  await choose('.kernel', 'sum');
  await is('.intensity', '0.167');
  await says('.says', /^Bytes limit it/);
  await choose('.format', 'f32');
  await is('.ridge', '14.0');
  await is('.intensity', '0.0833');

  // A layer leaves the slope where the page says: at a batch of 230.
  const slide = (wanted) => part('.size').evaluate((input, size) => {
    const { sizes } = input.getRootNode().host;
    input.value = sizes.findIndex((one) => one >= size);
    input.dispatchEvent(new Event('input'));
  }, wanted);
  await choose('.format', 'bf16');
  await choose('.kernel', 'forward');
  await slide(215);
  await says('.says', /^Bytes limit it/);
  await slide(232);
  await says('.says', /^Operations limit it/);
  await is('.share', '100%');
  await part('.size').focus();
  await keys('ArrowLeft', 'ArrowLeft');
  await says('.says', /^Bytes limit it/);

  // The time of some operations: 9.89·10¹⁴ of them take a second at the peak.
  await choose('.kernel', 'own');
  await part('.view').focus();
  await keys('End');
  await is('.intensity', '10,000');
  await part('.work').fill('989000');
  await is('.time', 'They take at least 1.00 s.');
  await part('.work').fill('much');
  expect('takes a word for a number', await part('.work').getAttribute('aria-invalid') === 'true');
  await part('.work').fill('1');

  // The point, with the keyboard.
  await part('.view').focus();
  for (const [pressed, wanted] of [[['Home'], '0.0100'], [['ArrowLeft'], '0.0100'], [Array(10).fill('ArrowRight'), '0.100']]) {
    await keys(...pressed);
    await is('.intensity', wanted);
  }
  expect('does not say where the point is', (await part('.view').getAttribute('aria-valuetext')).startsWith('Bytes limit it: at 0.100'));

  // With the mouse and with a finger; a kernel that is dragged is one's own.
  await choose('.kernel', 'product');
  await part('.view').scrollIntoViewIfNeeded();
  const box = await part('.view').boundingBox();
  const [left, right, middle] = [box.x + 0.3 * box.width, box.x + 0.9 * box.width, box.y + box.height / 2];
  const here = async () => Number((await read('.intensity')).replaceAll(',', ''));
  const touch = (x) => (narrow ? tab.touchscreen.tap(x, middle) : tab.mouse.click(x, middle));
  if (narrow) {
    await touch(left);
  } else {
    await tab.mouse.move(right, middle);
    await tab.mouse.down();
    await tab.mouse.move(left, middle, { steps: 3 });
    await tab.mouse.up();
  }
  const one = await here();
  expect('still calls a dragged kernel by its name', await part('.kernel').inputValue() === 'own');
  await touch(right);
  expect(`was dragged from ${one} to ${await here()}`, one < 10 && await here() > 1000);
  await tab.mouse.move(left, middle);
  expect('follows a mouse that is not pressed', await here() > 1000);
  await choose('.kernel', 'attention');

  const cut = await part('svg').evaluate((svg) => {
    const frame = svg.getBoundingClientRect();
    return [...svg.querySelectorAll('text')].filter((e) => { const b = e.getBoundingClientRect(); return b.left < frame.left - 1 || b.right > frame.right + 1; }).map((e) => e.textContent);
  });
  expect(`cuts off “${cut[0]}”`, !cut.length);
}
