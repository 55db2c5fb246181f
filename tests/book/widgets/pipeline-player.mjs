// <pipeline-player>: schedules chosen, time gone through by clicks and with the keyboard, what is said of it. That its
// schedules are the crate's is a test of the crate: chapters/07-multi-gpu/tests/it/pipeline_player.rs.

export async function tried({ part, is, expect, choose, keys }) {
  // Four stages, four micro-batches: (4 + 4 - 1) units of 1 + 2.
  await is('.time', '21 of 21');
  await is('.peak', '4 · 4 · 4 · 4');
  await is('.waited', '36 of 84 units, 42.9%');
  await is('.idle', '3/7 = 42.9%');
  await choose('.schedule', '1f1b');
  await is('.peak', '4 · 3 · 2 · 1');
  await choose('.micros', '8');
  await is('.time', '33 of 33');
  await is('.peak', '4 · 3 · 2 · 1');
  await choose('.schedule', 'gpipe');
  await is('.peak', '8 · 8 · 8 · 8');
  await choose('.stages', '2');
  await is('.idle', '1/9 = 11.1%');

  // Through time, by clicks, and no further than its ends.
  await part('.first').click();
  await is('.time', '0 of 27');
  expect('shows work before it began', await part('.view :is(.work, .bubble)').count() === 0);
  await part('.back').focus(); // used up, and still focusable
  await keys('Enter');
  await is('.time', '0 of 27');
  await part('.next').click();
  await is('.kept', '1 · 0');
  expect('does not show the first work and that stage 2 waits', await part('.view .work').count() === 1 && await part('.view .bubble').count() === 1);
  await is('.waited', '1 of 2 units, 50.0%');
  await is('.aloud', 'Time 1 of 27: stage 0 forward 1. Bubble so far: 1 of 2 units, 50.0%.');

  // With the keyboard.
  await part('.view').focus();
  for (const [keyed, wanted] of [[['ArrowRight'], 2], [['End'], 27], [['ArrowRight'], 27], [['Home', 'ArrowLeft'], 0]]) {
    await keys(...keyed);
    await is('.time', `${wanted} of 27`);
  }
  // At the end the bubble has the share of the formula, and at its longest the picture is neither cut nor tiny.
  for (const [schedule, stages, micros] of [['gpipe', 2, 1], ['1f1b', 3, 5], ['gpipe', 5, 2], ['1f1b', 6, 8]]) {
    for (const [select, value] of [['.schedule', schedule], ['.stages', `${stages}`], ['.micros', `${micros}`]]) await choose(select, value);
    const [lost, all] = [3 * (stages - 1) * stages, 3 * (micros + stages - 1) * stages];
    await is('.waited', `${lost} of ${all} units, ${(100 * (stages - 1) / (micros + stages - 1)).toFixed(1)}%`);
    const seen = await part('.view').evaluate((view) => {
      const { right } = view.getBoundingClientRect();
      const texts = [...view.querySelectorAll('text')].map((text) => text.getBoundingClientRect());
      return { cut: view.scrollWidth > view.clientWidth || texts.some((text) => text.right > right + 1), small: texts.filter((text) => text.height < 11).length };
    });
    expect(`with ${stages} stages and ${micros} micro-batches the picture is cut: ${seen.cut}, with ${seen.small} small words`, !seen.cut && !seen.small);
  }
}

/** While it plays, time goes on evenly; a step by hand is there at once. */
export async function moved({ tab, element, part, expect }) {
  const moving = () => element.evaluate((one) => one.shadowRoot.querySelector('.now')?.getAnimations().length ?? 0);
  await part('.play').click();
  await tab.waitForFunction((one) => one.shadowRoot.querySelector('.now')?.getAnimations().length === 1, await element.elementHandle());
  await part('.play').click();
  await part('.back').click();
  expect('a step by hand moves by itself', !await moving());
}
