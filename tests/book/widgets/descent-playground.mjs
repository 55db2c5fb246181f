// <descent-playground>: rates below and above the limit, every rule, the start moved with the pointer and with the keyboard,
// steps by hand.

export const beside = 'svg';

export async function tried({ tab, part, read, says, expect, choose, keys }) {
  const points = async (view = '.plane .way') => (await part(view).getAttribute('points')).split(' ').filter(Boolean);
  expect('draws no lines of equal loss', await part('.level').count() >= 5);

  // A bowl of steepness 20: plain descent has its limit at 0.1, momentum at 0.19.
  await says('.says', 'It arrives');
  await says('.says', '2/λ = 0.1, with λ = 20');
  await part('.rate').fill('-0.98');
  await says('.says', 'It diverges');
  await choose('.rule', 'momentum');
  await part('.rate').fill('-0.98');
  await says('.says', '2(1 + μ)/λ = 0.19');
  await part('.rate').fill('-0.7');
  await says('.says', 'It diverges');
  // What is kept to compare stays when the rule changes, and goes with the loss.
  await part('.keep').click();
  await says('.keep', 'Momentum, η 0.2');
  for (const rule of ['rmsprop', 'adam', 'adamw', 'sgd']) {
    await choose('.rule', rule);
    const found = await read('.says');
    expect(`${rule} at its first rate: ${found}`, /^(It arrives|It jumps|It is on its way)/.test(found));
  }
  expect('forgets what is kept', (await points('.chart .kept')).length >= 20);
  await part('.k').fill('6');
  await says('.says', '2/λ = 0.02, with λ = 100');
  expect('keeps the way of another loss', !(await points('.chart .kept')).length);

  // Batches, and the other losses.
  await choose('.landscape', 'valley');
  expect('asks how steep a valley is that has one shape', !await part('.k').isVisible());
  await choose('.batch', '1');
  await says('.says', 'pull it to and fro');
  await choose('.batch', '8');
  await choose('.rule', 'sgd');
  await part('.rate').fill('-1');
  await says('.says', 'It diverges');
  await choose('.landscape', 'network');
  const before = await points();
  expect(`${before.length} points, not 201`, before.length === 201);

  // Another start: by the keyboard, by the pointer, and by a touch of the map.
  const start = part('.start');
  const begins = async (wanted) => {
    const name = await start.getAttribute('aria-label');
    expect(`begins at ${name}, not at ${wanted}`, name === `Starting point: ${wanted}`);
  };
  await start.focus();
  await begins('x −0.4, y 2.3');
  await keys('ArrowRight', 'ArrowDown', 's');
  await begins('x −0.3, y 2.2');
  expect('another start has the same way', (await points()).join() !== before.join());
  await part('.plane').scrollIntoViewIfNeeded();
  const box = await part('.plane').boundingBox();
  await part('.plane').click({ position: { x: box.width / 4, y: 3 * box.height / 4 } });
  await begins('x −1.5, y −1.5');
  await start.scrollIntoViewIfNeeded();
  const ring = await start.boundingBox();
  await tab.mouse.move(ring.x + ring.width / 2, ring.y + ring.height / 2);
  await tab.mouse.down();
  const drag = await part('.plane').boundingBox();
  await tab.mouse.move(drag.x + drag.width / 2, drag.y + drag.height / 2, { steps: 4 });
  await tab.mouse.up();
  await begins('x 0, y 0');
  await says('.says', 'It stands still');

  // Step by step.
  await part('.first').click();
  expect('has a way before the first step', (await points()).length === 1);
  await part('.next').click();
  await tab.keyboard.press('ArrowRight');
  expect('two steps are not two', (await points()).length === 3);
  await says('.now', 'Step 2:');
  await tab.keyboard.press('End');
  expect('does not go to the end', (await points('.chart .way')).length === 201);
}
