import { chromium } from 'playwright-core';
import { readdirSync, readFileSync } from 'node:fs';
const dir='/tmp/askwt/target/book/';
const b = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] });
const c = await b.newContext({ viewport: { width: 1280, height: 900 } });
const t = await c.newPage();
const pages = readdirSync(dir,{recursive:true}).filter(p=>p.endsWith('.html')&&p!=='print.html'&&readFileSync(dir+p,'utf8').includes('<span data-ask='));
await t.goto('file://'+dir+'index.html'); await t.evaluate(()=>localStorage.setItem('throughput-ask','{"on":true,"said":{}}'));
for (const p of pages.sort()) {
  await t.goto('file://'+dir+p);
  const names = await t.locator('.machine-switch option').evaluateAll(a=>a.map(o=>o.value));
  const rows = {};
  for (const n of names) { await t.locator('.machine-switch select').selectOption(n); await t.waitForTimeout(30);
    for (const [q,u,x,k] of await t.evaluate(()=>[...document.querySelectorAll('[data-ask]')].map(e=>{const f=[...document.querySelectorAll('form.ask-first')].find(f=>f.textContent.includes(': ')&&f.textContent.includes(e.dataset.ask));const cov=document.querySelectorAll('.covered').length;return [e.dataset.ask,f?f.querySelector('.unit').textContent:'-',e.querySelector('a.measured:not([hidden])')?.textContent,cov]}))) (rows[q]??=[]).push(`${x}${u==='-'?' (not asked)':''}`);
  }
  console.log(p, await t.evaluate(()=>[...document.querySelectorAll('.covered')].map(e=>e.localName+'.'+e.className.split(' ')[0]).join(' ')));
  for (const q in rows) console.log('    ',q,'::',rows[q].join(' | '));
}
await t.goto('file://'+dir+'05-performance/fusion.html');
await t.evaluate(()=>localStorage.setItem('throughput-ask','{"on":true,"said":{"#a":{"text":"1","value":1,"off":1},"#b":{"text":"1","value":1,"off":3}}}'));
for (const [w,s] of [[1280,'light'],[360,'dark']]) { await t.setViewportSize({width:w,height:740}); await t.emulateMedia({colorScheme:s}); await t.reload(); await t.screenshot({path:`/tmp/askshots/bar-${w}.png`}); }
await b.close();
