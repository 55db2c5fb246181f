// <step-player>: forth, back, and no further than its ends.

export async function tried({ element, part, expect, keys, narrow }) {
  const state = () => element.evaluate((one) => ({
    step: one.step, end: one.end, moved: one.querySelector('[data-shift]').style.transform,
    shown: [...one.querySelectorAll('[data-show]')].filter((part) => part.getAttribute('visibility') !== 'hidden').map((part) => part.dataset.show),
    current: one.querySelectorAll('li[aria-current]').length, animated: one.querySelector('[data-shift]').style.transition !== '',
    said: one.shadowRoot.querySelector('.aloud').textContent,
  }));
  const first = await state();
  expect(`starts as ${JSON.stringify(first)}`, first.step === 0 && first.shown.join() === '0');
  expect('moves with reduced motion', !first.animated);
  // On a phone the diagram is stacked, and nothing of it is cut or tiny.
  const seen = await part('svg').evaluate((svg) => {
    const { left, right } = svg.closest('.plot').getBoundingClientRect();
    const shown = [...svg.querySelectorAll('rect, path, text')].filter((part) => part.getClientRects().length && part.getBoundingClientRect().width);
    const boxes = shown.map((part) => part.getBoundingClientRect());
    return { cut: boxes.filter((box) => box.left < left - 1 || box.right > right + 1).length, small: shown.filter((part, at) => part.localName === 'text' && boxes[at].height < 12).map((part) => part.textContent) };
  });
  expect(`the diagram has ${seen.cut} parts that are cut, and small: ${seen.small}`, !narrow || !seen.cut && !seen.small.length);
  await part('.next').focus();
  await keys(...Array(first.end + 2).fill('Enter'));
  const last = await state();
  expect(`ends as ${JSON.stringify(last)}`, last.step === last.end && last.moved !== first.moved && last.said.includes('Round') && last.current === 1);
  await part('.back').click();
  expect('does not go back', (await state()).step === last.end - 1);
  await keys('Home', 'ArrowLeft', 'ArrowRight', 's');
  expect(`the arrow keys lead to step ${(await state()).step}`, (await state()).step === 1);
}

/** It plays to its end. */
export async function moved({ tab, element, part, expect }) {
  expect('does not move', await element.evaluate((one) => one.querySelector('[data-shift]').style.transition !== ''));
  await part('.play').click();
  await tab.waitForFunction((one) => one.step === one.end && !one.timer, await element.elementHandle());
}
