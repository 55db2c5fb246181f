// <bit-explorer>: a number typed, a bit turned over by a click and with the keyboard, a block's scale, what is said of it.

export async function tried({ part, is, read, expect, keys }) {
  const row = (name) => part('.row').filter({ hasText: new RegExp(`^\\s*${name}\\b`) });
  const fact = async (name, fact, wanted) => {
    const found = await row(name).locator(`dd.${fact}`).innerText();
    expect(`${name} ${fact} is “${found}”, not “${wanted}”`, found === wanted);
  };
  await fact('bf16', 'value', '0.100097656');

  await part('input').fill('70000');
  await fact('f16', 'value', 'infinity');
  await fact('f16', 'error', 'too large');
  await fact('f16', 'below', '65504');
  await fact('E4M3', 'value', 'NaN');
  await part('input').fill('a word');
  expect('takes a word for a number', await read('#problem') !== '' && await part('input').getAttribute('aria-invalid') === 'true');

  // A click on the lowest bit of f16's 1: the next number, to which the others follow.
  await part('input').fill('1');
  await row('f16').locator('.bits button').last().click();
  await fact('f16', 'value', '1.00097656');
  await fact('bf16', 'value', '1');
  expect('keeps the old number after a bit was turned', await part('input').inputValue() === '1.00097656');

  // With the keyboard: the sign of bf16, then its highest exponent bit.
  await part('input').fill('1');
  await row('bf16').locator('.bits button').first().focus();
  await keys('Enter');
  await fact('bf16', 'value', '−1');
  await is('.aloud', 'bf16 is −1');
  await keys('ArrowRight', 'Enter');
  await fact('bf16', 'value', '−infinity');
  await keys('ArrowRight');
  expect('is more than one stop of the Tab key', await row('bf16').locator('.bits button[tabindex="0"]').count() === 1);

  // Four bits with a scale: one large number in the block leaves none of them for a small one.
  await part('input').fill('0.1');
  await fact('E2M1', 'value', '0.09375');
  await fact('E2M1', 'scale', '0.015625');
  await part('select').selectOption('100');
  await fact('E2M1', 'value', '0');
  await fact('E2M1', 'above', '8');
  await fact('bf16', 'value', '0.100097656');
}
