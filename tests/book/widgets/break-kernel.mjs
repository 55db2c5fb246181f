// <break-kernel>: each way to break each kernel, by clicks and with the keyboard, and what the check says of it.
import { createRequire } from 'node:module';

const { KERNELS, run, check } = createRequire(import.meta.url)('../../../book/theme/break-kernel.js');

const TILED = KERNELS.at(-1); // what the page has at first

export const still = ['p'];

export async function tried({ part, read, expect, choose, keys, sound, shoot }) {
  const says = async (what, wanted, marks) => {
    const [said, wrong, bad] = [await read('.verdict'), await part('td.wrong').count(), await part('pre del, pre ins').count()];
    expect(`${what}: it says “${said}”`, wanted.test(said));
    expect(`${what}: ${wrong} elements are marked, and it says “${said}”`, wrong === Number(said.match(/(\d+) of 35 elements are wrong/)?.[1] ?? 0));
    expect(`${what}: ${bad} lines are marked, not ${marks}`, bad === marks);
  };
  const press = async (at) => {
    await part('.way').nth(at).focus();
    await keys('Enter');
  };
  await says('at first', /^All 35 elements are right\.$/, 0);
  const number = '−?\\d+\\.\\d';
  for (const at of [1, 2]) {
    await press(at);
    await says(TILED.breaks[at].name, new RegExp(`^\\d+ of 35 elements are wrong, the first at \\(\\d, \\d\\): ${number} instead of ${number}\\.$`), 1);
  }
  await press(3);
  await says('no bounds check', /[1-9]\d* numbers were written behind the end of C\.$/, 2);
  await press(4);
  await says('an index swapped', /^35 of 35 .* at \(0, 0\): 8\.0 instead of 1\.2\.$/, 2);
  // Another order changes what a race leaves, and nothing else.
  const another = async () => {
    const before = await read('tbody');
    await part('.order').click();
    return await read('tbody') !== before;
  };
  expect('an index swapped depends on the order', !await another());
  await press(1);
  expect('a race does not depend on the order', await another());
  await press(5);
  await says('a wrong stride', /^30 of 35 .* nothing instead of /, 2);
  await sound();
  await press(0);
  await says('mended', /^All 35 elements are right\.$/, 0);
  // The other kernels have no tiles, and break in other ways.
  for (const kernel of KERNELS.slice(0, -1)) {
    await choose('.kernel', kernel.name);
    await says(kernel.name, /^All 35 elements are right\.$/, 0);
    for (const [at, way] of kernel.breaks.entries()) {
      if (!way.why) continue;
      await press(at);
      await says(`${kernel.name}, ${way.name}`, /elements are wrong|behind the end of C\.$/, way.to ? 2 : 1);
    }
    await shoot(kernel.name);
  }
}

/** Each kernel is right in every order of its threads, and broken it is caught in every one. */
export function moved({ expect }) {
  let lucky = 0;
  for (const kernel of KERNELS) {
    for (const way of kernel.breaks) {
      for (let order = 1; order <= 200; order++) {
        const { faults, past } = check(run(kernel, way, order));
        expect(`${kernel.name}, “${way.name}” in order ${order}: ${faults.length} wrong, ${past} behind the end`, (faults.length + past > 0) === Boolean(way.why));
        if (kernel === TILED && way.why && !faults.length) lucky++;
      }
    }
  }
  expect(`${lucky} of 200 orders leave C right, and the page says about every fifth`, lucky >= 20 && lucky <= 60);
}
