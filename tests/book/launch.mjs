// The browser that looks at the book: Chromium's shell, which has no window to draw and needs half the time of one that has.
import { chromium } from 'playwright-core';

// Letters as wide as on a screen with a window, and WebGPU by a program that Chromium brings.
const ARGS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync', '--font-render-hinting=none', '--enable-unsafe-webgpu'];

/** A browser. CHROMIUM names another program for it. */
export function launch() {
  return chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium-headless-shell', args: ARGS });
}
