// <ring-all-reduce>: steps by hand and with the keyboard, what the ranks have at the end, messages on their way.

export async function tried({ element, part, read, says, expect, choose, keys, sound }) {
  const START = '0 0 0 0 1 1 1 1 2 2 2 2 3 3 3 3';
  const cells = () => part('.cell text').allTextContents();
  const holds = async (wanted, what) => {
    const found = (await cells()).join(' ');
    expect(`${what}: the parts are “${found}”, not “${wanted}”`, found === wanted);
  };
  await holds(START, 'at the start');
  await part('.next').click();
  await holds('0 0 3+0 0 1 1 1 0+1 1+2 2 2 2 3 2+3 3 3', 'after a step');
  await part('.back').click();
  await holds(START, 'after a step back');

  await keys('ArrowRight', 'ArrowRight', 'ArrowRight');
  const held = await cells();
  const whole = held.map((one, at) => (one === 'sum' ? at : -1)).filter((at) => at >= 0);
  expect(`after the first half, rank r does not have the sum of part r: ${held.join(' ')}`, whole.join() === '0,5,10,15');
  await keys('End');
  await holds(Array(16).fill('sum').join(' '), 'at the end');
  await says('.words', 'every rank holds the whole sum');
  await keys('ArrowRight', 'Home');
  await holds(START, 'back at the start');

  // What is sent is what the formula says, for every ring.
  for (const [size, n] of [[2, 12e6], [3, 1.2e9], [5, 120e6], [6, 1.2e9]]) {
    await choose('.ranks', `${size}`);
    await choose('.buffer', `${n}`);
    await part('.back').focus();
    for (const steps of [0, 1, 2 * size - 2]) {
      await keys('Home', ...Array(steps).fill('ArrowRight'));
      const said = await read('.bytes');
      const found = [...said.matchAll(/([\d.]+) (MB|GB)/g)].map(([, count, unit]) => Number(count) * (unit === 'GB' ? 1e9 : 1e6));
      const [one, all] = [steps * n / size, 2 * (size - 1) / size * n];
      const wanted = [one, all, size * one, size * all];
      expect(`with ${size} ranks and ${n} bytes, after ${steps} steps it says “${said}”, not ${wanted}`, found.length === 4 && wanted.every((count, at) => Math.abs(found[at] - count) <= 0.001 * count));
    }
    expect(`with ${size} ranks the last step leaves ${(await cells()).join(' ')}`, (await cells()).every((one) => one === 'sum'));
  }
  await sound();
  await choose('.ranks', '4');
  await holds(START, 'with other ranks');
  await choose('.buffer', '120000000');
  await part('.next').click();
  expect('a part travels with reduced motion', await element.locator('.moving').count() === 0);
}

/** Part 3 of rank 0 goes right to rank 1, in between it is between them, and it counts when it is there. */
export async function moved({ element, says, expect }) {
  const travel = await element.evaluate(async (one) => {
    one.go(0);
    one.go(1);
    const message = one.shadowRoot.querySelector('.message');
    const bytes = () => one.shadowRoot.querySelector('.bytes').textContent.match(/sent (\S+ MB)/)[1];
    const x = (part) => part.getBoundingClientRect().left;
    const [begin, shown] = [bytes(), message.getAttribute('visibility')];
    for (const moving of message.getAnimations()) { moving.pause(); moving.currentTime = 300; }
    const cells = [...one.shadowRoot.querySelectorAll('.cell')];
    const [from, at, to] = [x(cells[3]), x(message), x(cells[7])];
    one.go(2);
    one.go(1);
    return { from, at, to, begin, shown, after: bytes(), left: one.shadowRoot.querySelectorAll('.moving').length };
  });
  expect('no message of the ring is on its way', travel.shown === 'visible');
  expect(`half way a part of the ring is at ${travel.at}, from ${travel.from} to ${travel.to}`, travel.from + 20 < travel.at && travel.at < travel.to - 20);
  expect(`counts ${travel.begin} on the way and ${travel.after} after it`, travel.begin === '0 MB' && travel.after === '30 MB');
  expect('a step back of the ring travels', !travel.left);
  await element.evaluate((one) => { one.go(0); one.go(1); });
  await says('.cell text', '3+0'); // it arrives
}
