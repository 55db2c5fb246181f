// <gpt-prompt> in a real browser: a prompt that is continued, its knobs and its button to stop, and what is said where there
// is no model. Called by browser.mjs for every page that has the element.
import { LOOKS, shoot, sound } from './widget.mjs';

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

/** Looks at the first element of `page`; `fail(where, what)` is told what is wrong. */
export async function gptPrompt({ open, page, axe, rules, shots, fail }) {
  const expect = (where, what, holds) => { if (!holds) fail(where, what); };

  async function visit(options, model, watch = true) {
    const { tab, where, close } = await open({ viewport: { width: 1280, height: 900 }, ...options }, page, watch);
    const element = tab.locator('gpt-prompt').first();
    if (model) await element.evaluate((one, from) => one.setAttribute('data-model', from), model);
    await tab.waitForFunction(() => globalThis.customElements.get('gpt-prompt'));
    const part = (selector) => element.locator(selector);
    return {
      tab, where: `${where} gpt`, element, part, close,
      asked: () => tab.locator('head script[src^="data:"]').count(),
      text: () => part('.text span').last().textContent(),
      /** Waits until the element says this. */
      says: async (text) => {
        await part('.status').filter({ hasText: text }).waitFor({ timeout: 60_000 })
          .catch(async () => fail(`${where} gpt`, `says “${await part('.status').innerText()}”, not “${text}”`));
      },
    };
  }

  for (const [colorScheme, viewport] of LOOKS) {
    const { tab, where, element, part, says, text, asked, close } = await visit({ colorScheme, viewport, reducedMotion: 'reduce' }, echo());
    await says('The model is fetched when it is to write.');
    expect(where, 'asks for the model before it is to write', await asked() === 0);
    // The likeliest token after a byte is that byte: the model repeats the last one.
    await part('textarea').fill('fn é');
    await part('.temperature').fill('0');
    await part('.write').click();
    await says(/^256 tokens, \d+ a second on this machine; no more are asked for\. It has forgotten the beginning, .*\. 0\.94 million weights in 8 bits, trained for 10 min: 1\.29 bits per byte of code that it has not seen\.$/);
    expect(where, `asks ${await asked()} times for the model`, await asked() === 1);
    expect(where, `writes ${(await text()).slice(0, 20)}`, await text() === '\ufffd'.repeat(256));
    expect(where, 'does not show the prompt', await part('.text span').first().textContent() === 'fn é');
    expect(where, 'can be stopped after its end', await part('.stop').getAttribute('aria-disabled') === 'true');
    await sound({ tab, where, element, tag: 'gpt-prompt', axe, rules, fail });
    await shoot({ element, shots, page, name: `gpt-${colorScheme}-${viewport.width}` });
    // The same seed, the same text; another one, another text.
    await part('.temperature').fill('5');
    const drawn = async (seed) => {
      await part('.seed').fill(seed);
      await part('.write').click();
      await says(/^(256 tokens|\d+ tokens.* it ended the text)/);
      await part('.stop[aria-disabled=true]').waitFor();
      return text();
    };
    const [one, other, again] = [await drawn('1'), await drawn('2'), await drawn('1')];
    expect(where, 'draws the same by another seed', one !== other && one.length > 0);
    expect(where, 'draws another text by the same seed', one === again);
    // What is beyond its limits is brought back, and shown so.
    await part('.temperature').fill('99');
    await part('.top-k').fill('');
    await part('.write').click();
    expect(where, 'leaves what is beyond the limits', await part('.temperature').inputValue() === '5' && await part('.top-k').inputValue() === '0');
    await close();
  }

  // By the keyboard; the page neither turns nor scrolls. And stopped.
  {
    const { tab, where, part, says, text, close } = await visit({}, echo(2048));
    await part('textarea').fill('a'.repeat(1500)); // a long way back for attention to look, and it has no layers: only reads
    await part('textarea').focus();
    const address = tab.url();
    await tab.keyboard.press('ArrowRight');
    await tab.keyboard.press('Control+Enter');
    await says(/^256 tokens/);
    expect(where, 'turns the page', tab.url() === address);
    // The loop gives way between its slices: here each is one token, for the clock stands past its end.
    await tab.evaluate(() => { let time = 0; performance.now = () => time += 100; });
    await part('.write').click();
    await tab.waitForFunction(() => document.querySelector('gpt-prompt').shadowRoot.querySelector('.text span:last-child').textContent.length > 2);
    await part('.stop').click();
    await says(/^\d+ tokens, .*; stopped\./);
    const left = await text();
    await tab.waitForTimeout(100);
    expect(where, 'goes on after it was stopped', left.length < 256 && await text() === left);
    await close();
  }

  // No model: the script says so, or is not there at all.
  for (const model of [script('globalThis.gptModel = null;'), 'missing.js']) {
    const one = await visit({ viewport: { width: 360, height: 740 } }, model, model !== 'missing.js');
    await one.part('.write').click();
    await one.says('No language model of yours yet; below is what the book’s wrote. Run cargo run -- train --model gpt, then build the book again.');
    expect(one.where, 'does not show what was recorded', await one.tab.locator('gpt-prompt table').first().isVisible());
    await one.close();
  }

  // The book's own model: there is one, or its script says that there is none.
  {
    const one = await visit({}, undefined);
    await one.part('.write').click();
    await one.says(/^(\d+ tokens.* weights in 8 bits.*|No language model of yours yet; .*)\.$/);
    await one.close();
  }

  // Without JavaScript what it wrote before shows.
  {
    const { tab, where, close } = await open({ javaScriptEnabled: false }, page, false);
    expect(where, 'shows nothing without JavaScript', (await tab.locator('gpt-prompt').first().innerText()).trim() !== '');
    await close();
  }
}
