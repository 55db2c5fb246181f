// <card-calculator>: a reader's job, numbers of one's own, invalid numbers.

export const still = ['table'];

export async function tried({ part, read, is, expect, choose }) {
  const field = (name) => part(`input[name=${name}]`);
  const names = () => part('tbody th').allInnerTexts();

  const count = (await names()).length;
  expect(`has ${count} cards`, count >= 15);
  expect(`does not name the cheapest: “${await read('caption')}”`, (await read('caption')).startsWith('Cheapest: '));

  // Another job: the fields follow, and so do the rows.
  const before = await read('tbody');
  await choose('select', { index: 3 });
  expect('keeps one card for the cluster', await field('cards').inputValue() !== '1');
  expect('does not follow another job', await read('tbody') !== before);

  // A number of one's own: four times the examples cost about four times as much, and the job is one's own.
  await choose('select', { index: 2 });
  const cost = async () => Number((await read('caption')).match(/for ([\d.,e]+)/)?.[1].replaceAll(',', ''));
  const [once, examples] = [await cost(), Number(await field('examples').inputValue())];
  await field('examples').fill(String(4 * examples));
  const ratio = await cost() / once;
  expect(`four times the examples cost ${ratio} times as much`, ratio > 3.8 && ratio < 4.2);
  expect('still calls the job by its name', await part('select').inputValue() === 'own');
  await field('batch').fill('a word');
  expect('takes a word for a number', await read('#problem') !== '' && await field('batch').getAttribute('aria-invalid') === 'true');
  await field('batch').fill('64');
  await is('#problem', '');
  await field('cards').fill('2');
  expect('does not say how many cards', (await names()).every((name) => name.startsWith('2 × ')));
}
