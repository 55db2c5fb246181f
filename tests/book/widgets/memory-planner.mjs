// <memory-planner>: plans that fit and that do not, the changes that are offered, invalid numbers. That it counts as the
// crates do is a test of chapter 8's: chapters/08-hardware/tests/it/memory_planner.rs.

export async function tried({ element, part, read, is, says, expect, choose: chosen }) {
  const field = (name) => part(`[name=${name}]`);
  const choose = (name, value) => chosen(`[name=${name}]`, value);
  const bars = () => element.evaluate((e) => [...e.shadowRoot.querySelectorAll('svg text')].filter((t) => / fit(s)?$/.test(t.textContent)).length);

  // What the page says of VGG16: 251 fit into 24 GiB, and 256 do not.
  await says('.says', 'It does not fit: 24.4 GiB, and the card has 24 GiB.');
  const offered = await part('.fixes button').allInnerTexts();
  expect(`offers only ${offered.join(', ')}`, offered.includes('batch 251') && offered.includes('recompute activations'));
  expect(`draws ${await bars()} bars for ${offered.length} changes`, await bars() === offered.length + 1);
  await part('.fixes button').filter({ hasText: 'batch 251' }).click();
  await says('.says', 'It fits: 24 GiB of 24 GiB. The largest batch that does is 251.');
  expect('does not take the change into its field', await field('batch').inputValue() === '251');
  expect('loses the focus with the button', await element.evaluate((e) => e.shadowRoot.activeElement?.name) === 'batch');
  expect('offers changes to a plan that fits', await part('.fixes button').count() === 0);

  // Each of the settings counts: 138,357,544 weights.
  await field('batch').fill('32');
  await is('.weights', '528 MiB');
  await says('.says', 'It fits: 5.04 GiB');
  await choose('precision', 'amp');
  await is('.weights', '264 MiB');
  await is('.masters', '528 MiB');
  await choose('precision', 'f32');
  await choose('moves', 'sgd');
  await is('.optimizer', '0 B');
  await choose('moves', 'adam');
  expect('cuts over one device', !await field('zero').isEnabled());
  await choose('devices', '4');
  await choose('zero', '1');
  await is('.optimizer', '264 MiB');
  await is('.gradients', '528 MiB');
  await choose('zero', '3');
  await is('.gradients', '132 MiB');
  await is('.activations', '512 MiB');
  await choose('devices', '1');
  await choose('pieces', '2');
  await is('.activations', '1 GiB');
  await choose('pieces', '1');
  const kept = await read('.activations');
  await field('recompute').check();
  expect('keeps as much when it computes again', await read('.activations') !== kept);
  await field('recompute').uncheck();

  // A card of the table brings its memory, and a memory of one's own is no card.
  await choose('card', { label: 'NVIDIA H100 SXM' });
  await is('.says', 'It fits: 5.04 GiB of 74.5 GiB. The largest batch that does is 835.');
  await field('gib').fill('2');
  expect('still calls the memory by a card’s name', await field('card').inputValue() === 'own');
  await says('.says', 'It does not fit');

  // A large model: no single change, and two that do.
  await field('gib').fill('24');
  await choose('model', { label: 'gpt-1.3b, 2,048 tokens' });
  await field('batch').fill('8');
  await says('.says', 'It does not fit: 77.9 GiB, and the card has 24 GiB. No single change makes it fit');
  await choose('precision', 'amp');
  await part('.fixes button').first().click();
  expect('does not accumulate over eight pieces', await field('pieces').inputValue() === '8');
  await says('.says', 'It fits: 23.2 GiB');

  // A transformer of one's own, and invalid numbers.
  expect('asks for the sizes of a known model', !await field('layers').isVisible());
  await choose('model', 'own');
  for (const [name, value] of [['layers', '24'], ['width', '2,048'], ['sequence', '2048'], ['vocabulary', '50257']]) await field(name).fill(value);
  await says('.says', 'It fits: 23.2 GiB');
  for (const bad of ['a word', '', '0', '1.5']) {
    await field('width').fill(bad);
    expect(`takes “${bad}” for a width`, await read('#problem') !== '' && await field('width').getAttribute('aria-invalid') === 'true');
  }
  await field('width').fill('2048');
  await is('#problem', '');
  await field('batch').fill('256');
  for (const [name, value] of [['model', { label: 'vgg16' }], ['pieces', '1'], ['precision', 'f32']]) await choose(name, value);
}
