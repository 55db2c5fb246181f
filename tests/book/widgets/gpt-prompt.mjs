// <gpt-prompt>: a prompt that is continued, its knobs and its button to stop, and what is said where there is no model.

const script = (text) => `data:text/javascript,${encodeURIComponent(text)}`;

/**
 * A model without layers, whose likeliest token is the last one: a byte has a 1 for each of its two hexadecimal digits, so its
 * product with itself is 2, with bytes that share one digit 1, and with others and the end of a text 0.
 */
function echo(context = 64) {
  const [vocabulary, width] = [257, 32];
  const bytes = Buffer.alloc(4 * vocabulary + vocabulary * width + 4 * width);
  for (let token = 0; token < vocabulary; token++) {
    bytes.writeFloatLE(1 / 127, 4 * token);
    if (token === 256) continue;
    bytes.writeInt8(127, 4 * vocabulary + token * width + (token >> 4));
    bytes.writeInt8(127, 4 * vocabulary + token * width + 16 + (token & 15));
  }
  for (let i = 0; i < width; i++) bytes.writeFloatLE(0.5, 4 * vocabulary + vocabulary * width + 4 * i);
  const config = { vocabulary, context, width, heads: 2, layers: 0, hidden: 2 };
  const model = { config, parameters: 940_000, merges: [], trained: { seconds: 601, bits_per_byte: 1.288 }, weights: bytes.toString('base64') };
  return script(`globalThis.gptModel = ${JSON.stringify(model)};`);
}

export const set = { 'data-model': echo() };
export const still = ['table'];

const textOf = ({ part }) => part('.text span').last().textContent();

export async function tried(kit) {
  const { tab, part, says, expect, sound, shoot } = kit;
  const [asked, text] = [() => tab.locator('head script[src^="data:"]').count(), () => textOf(kit)];
  await says('.status', 'The model is fetched when it is to write.');
  expect('asks for the model before it is to write', await asked() === 0);
  // The likeliest token after a byte is that byte: the model repeats the last one.
  await part('textarea').fill('fn é');
  await part('.temperature').fill('0');
  await part('.write').click();
  await says('.status', /^256 tokens, \d+ a second on this machine; no more are asked for\. It has forgotten the beginning, .*\. 0\.94 million weights in 8 bits, trained for 10 min: 1\.29 bits per byte of code that it has not seen\.$/);
  expect(`asks ${await asked()} times for the model`, await asked() === 1);
  expect(`writes ${(await text()).slice(0, 20)}`, await text() === '\ufffd'.repeat(256));
  expect('does not show the prompt', await part('.text span').first().textContent() === 'fn é');
  expect('can be stopped after its end', await part('.stop').getAttribute('aria-disabled') === 'true');
  await sound();
  await shoot('written');
  // The same seed, the same text; another one, another text.
  await part('.temperature').fill('5');
  const drawn = async (seed) => {
    await part('.seed').fill(seed);
    await part('.write').click();
    await says('.status', /^(256 tokens|\d+ tokens.* it ended the text)/);
    await part('.stop[aria-disabled=true]').waitFor();
    return text();
  };
  const [one, other, again] = [await drawn('1'), await drawn('2'), await drawn('1')];
  expect('draws the same by another seed', one !== other && one.length > 0);
  expect('draws another text by the same seed', one === again);
  // What is beyond its limits is brought back, and shown so.
  await part('.temperature').fill('99');
  await part('.top-k').fill('');
  await part('.write').click();
  expect('leaves what is beyond the limits', await part('.temperature').inputValue() === '5' && await part('.top-k').inputValue() === '0');
  await says('.status', / tokens/);
}

export async function visited(visit) {
  // By the keyboard. And stopped.
  const kit = await visit({ set: { 'data-model': echo(2048) } });
  const { tab, part, says, expect, keys } = kit;
  await part('textarea').fill('a'.repeat(1500)); // a long way back for attention to look, and it has no layers: only reads
  await part('textarea').focus();
  await keys('ArrowRight', 'Control+Enter');
  await says('.status', /^256 tokens/);
  // The loop gives way between its slices: here each is one token, for the clock stands past its end.
  await tab.evaluate(() => { let time = 0; performance.now = () => time += 100; });
  await part('.write').click();
  await tab.waitForFunction(() => document.querySelector('gpt-prompt').shadowRoot.querySelector('.text span:last-child').textContent.length > 2);
  await part('.stop').click();
  await says('.status', /^\d+ tokens, .*; stopped\./);
  const left = await textOf(kit);
  await tab.waitForTimeout(100);
  expect('goes on after it was stopped', left.length < 256 && await textOf(kit) === left);

  // No model: the script says so, or is not there at all.
  for (const model of [script('globalThis.gptModel = null;'), 'missing.js']) {
    const one = await visit({ viewport: { width: 360, height: 740 }, set: { 'data-model': model }, watch: model !== 'missing.js' });
    await one.part('.write').click();
    await one.says('.status', 'No language model of yours yet; below is what the book’s wrote. Run cargo run -- train --model gpt, then build the book again.');
    one.expect('does not show what was recorded', await one.element.locator('table').first().isVisible());
  }
  // The book's own model: there is one, or its script says that there is none.
  const own = await visit();
  await own.part('.write').click();
  await own.says('.status', /^(\d+ tokens.* weights in 8 bits.*|No language model of yours yet; .*)\.$/);
}
