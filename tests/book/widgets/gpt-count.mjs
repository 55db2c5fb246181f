// <gpt-count>: known models and one's own, invalid sizes, the measured rate of the page's machine. That it counts as the
// crates do is a test of chapter 9's: chapters/09-language-model/tests/it/gpt_count.rs.

export const still = ['table'];

export async function tried({ element, part, read, is, expect, choose }) {
  const field = (name) => part(`[name=${name}]`);

  // What the page derives for `small`: 5,344,512 parameters, 7% for attention, 277 MiB and some 8 between the layers.
  await is('.parameters', '5.34 million');
  await is('.share', '6.9%');
  await is('.longer', '22.8%, 54.1%, 82.5%');
  await is('.activations', '285 MiB');
  await is('.cache', '3 MiB');
  expect('does not take 20 tokens a parameter', await field('tokens').inputValue() === '106890240');

  // The time is that of the rate in the page, of the machine that is shown.
  const rate = await element.evaluate((e) => Number(e.querySelector('.rate [data-machine]:not([hidden]) data')?.value));
  expect(`finds no measured rate: ${rate}`, rate > 1e9);
  const here = await read('dd.here');
  expect(`says “${here}” of this machine`, /[ \u00a0](min|h|days) on \S+$/.test(here));
  const exchange = () => element.evaluate((e) => [...e.querySelectorAll('.rate [data-machine]')].forEach((one) => one.toggleAttribute('hidden')));
  if (await element.locator('.rate [data-machine]').count() > 1) {
    await exchange();
    expect('does not follow the page’s machine', await read('dd.here') !== here);
    await exchange();
  }

  // Known models; the large one fits into one card and not into another.
  await choose('[name=model]', 'tiny');
  await is('.parameters', '935 thousand');
  await choose('[name=model]', '7b');
  await is('td.h100', 'does not fit into its memory');
  expect('knows no time for the H200', / to /.test(await read('td.h200')));

  // Attention takes half of the operations at some 3,500 tokens of `small`, and tokens of one's own stay.
  await choose('[name=model]', 'small');
  await field('context').fill('3,600');
  expect('still calls changed sizes by a known name', await field('model').inputValue() === 'own');
  expect(`gives attention ${await read('.share')}`, Math.abs(Number.parseFloat(await read('.share')) - 50) <= 3);
  await field('tokens').fill('1000000');
  await field('layers').fill('12');
  expect('replaces the reader’s tokens', await field('tokens').inputValue() === '1000000');
  await part('.fit').click();
  expect('does not go back to 20 tokens a parameter', await field('tokens').inputValue() !== '1000000');

  // Sizes that no model has.
  for (const [name, bad] of [['width', 'a word'], ['layers', '0'], ['context', ''], ['batch', '1.5'], ['heads', '7']]) {
    const good = await field(name).inputValue();
    await field(name).fill(bad);
    expect(`takes “${bad}” for ${name}`, await read('#problem') !== '');
    await field(name).fill(good);
    await is('#problem', '');
  }
  await choose('[name=model]', 'small');
}
