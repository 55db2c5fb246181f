// <warp-viewer>: patterns chosen and turned, steps by hand and with the keyboard, a prediction first, words that travel.

export const kinds = ['[memory=global]', '[memory=shared]'];

export async function tried({ tab, part, read, is, says, expect, choose, keys, kind, narrow }) {
  const shared = kind.includes('shared');
  const count = async (selector, wanted, what) => {
    const found = await part(selector).count();
    expect(`${what}: ${found} of ${selector}, not ${wanted}`, found === wanted);
  };
  await says('.total', shared ? '1 wavefront' : '4 sectors of 32 bytes, in 1 line');
  await part('[type=range]').fill('2');
  await says('.total', shared ? '2 wavefronts. Conflicts cost 1 of them.' : '8 sectors of 32 bytes, in 2 lines of 128: 256 bytes are fetched, of which 128 are wanted, 50%');
  await count('.grid .wanted', 32, 'a stride of 2');
  await choose('.type', 'float4');
  await says('.total', shared ? '8 wavefronts' : '32 sectors');
  await choose('.type', 'f32');
  await choose('.pattern', 'column');
  await says('.total', shared ? '32 wavefronts. Conflicts cost 31' : '32 sectors');
  await count('.grid .crowded', shared ? 32 : 0, 'a column');

  // Step by step, and with the keyboard.
  await part('.next').click();
  await says('.step', shared ? 'Wavefront 1: bank 3 gives one word, for thread 0.' : 'Sector 0, bytes 0 to 31, for thread 0.');
  await count('.grid .wanted.now', 1, 'the first step');
  await tab.keyboard.press('ArrowRight');
  await says('.step', 'thread 1.');
  await tab.keyboard.press('End');
  await says('.step', 'thread 31.');
  await says('.tally', shared ? '32 wavefronts so far: 32 of 32 threads' : '32 sectors so far: 1024 bytes fetched, 128 of them wanted, 12.5%.');
  await tab.keyboard.press('ArrowRight');
  expect('goes on after the end', await part('.next').getAttribute('aria-disabled') === 'true');
  await tab.keyboard.press('Home');
  await is('.tally', '');
  await count('.grid .later', 0, 'back at the start');
  await count('.grid .now', 0, 'back at the start');
  await part('.threads button').first().focus();
  await keys('ArrowRight', 'ArrowDown', 's');
  await says('.step', `Thread ${narrow ? 9 : 17} wants bytes`);
  await count('.grid .mine', 1, 'a thread');
  await count('.threads [tabindex="0"]', 1, 'stops of the Tab key');

  if (shared) {
    await part('[type=range]').fill('1');
    await says('.total', '1 wavefront. No bank');
  } else {
    // After the last step the tally is what the load costs, whatever the pattern.
    for (const [pattern, knob, type] of [['stride', '3', 'f32'], ['shift', '5', 'f16'], ['stride', '2', 'float4'], ['scattered', null, 'f32'], ['same', null, 'f16']]) {
      await choose('.pattern', pattern);
      await choose('.type', type);
      if (knob) await part('[type=range]').fill(knob);
      await part('.next').focus();
      await tab.keyboard.press('End');
      const [, sectors, fetched, wanted, share] = (await read('.total')).match(/^(\d+) sectors? .*: (\d+) bytes are fetched, of which (all|\d+) are wanted, ([\d.]+%)/);
      await says('.tally', `${sectors} ${sectors === '1' ? 'sector' : 'sectors'} so far: ${fetched} bytes fetched, ${wanted === 'all' ? fetched : wanted} of them wanted, ${share}.`);
    }
    await choose('.type', 'f32');
    await choose('.pattern', 'column');
  }
  // A prediction first.
  await part('[type=checkbox]').check();
  const ticks = await tab.locator('warp-viewer [type=checkbox]').evaluateAll((all) => all.map((one) => one.checked));
  expect('has a tick that the page does not know', ticks.every(Boolean) && await tab.evaluate(() => globalThis.throughputAsk.on));
  const covered = async () => !await part('.answer').isVisible() && await part('.total').textContent() === '';
  expect('gives the answer before it is asked for', await covered());
  await part('.guess input').fill('3');
  await part('.guess input').press('Enter');
  await says('.total', `You said 3, and it is ${shared ? 1 : 32}.`);
  await choose('.pattern', 'same');
  expect('gives the next answer before it is asked for', await covered());
  await part('.guess input').fill('1');
  await part('.guess button').click();
  await says('.total', 'You said 1: right.');

  await choose('.pattern', 'stride');
  await part('[type=range]').fill('3');
  await part('[type=checkbox]').uncheck();
  await part('.next').click();
}

/** Words come from where they were: from the threads in a step, from their old places with another pattern. */
export async function moved({ element, part, says, expect, choose }) {
  // Counted where they start: on a busy machine they have arrived when somebody asks.
  const moving = (selector, start) => element.evaluate((one, [selector, start]) => {
    one.shadowRoot.getAnimations().forEach((motion) => motion.finish());
    if (start === 'step') { one.go(0); one.go(1); } else Object.assign(one.shadowRoot.querySelector('[type=range]'), { value: start }).dispatchEvent(new Event('input', { bubbles: true }));
    return [...one.shadowRoot.querySelectorAll(selector)].filter((cell) => cell.getAnimations().length).length;
  }, [selector, start]);
  const come = await moving('.wanted.now', 'step');
  expect(`${come} words come from the threads of a sector`, come === 8);
  const move = await moving('.wanted', '2');
  expect(`${move} words move with a stride of 2`, move === 31);
  // The knob turns by itself to its end, and stops when somebody chooses.
  await part('.sweep').click();
  await says('.turn span', 'Stride s: 4');
  await choose('.pattern', 'shift');
  expect('the knob turns on after a choice', await element.evaluate((one) => one.sweeping === undefined));
  await part('[type=range]').fill('30');
  await part('.sweep').click();
  await says('.sweep', 'Sweep');
  expect('the knob does not reach its end', await part('[type=range]').inputValue() === '31');
}
