declare module '*/tools/browser/launch-browser.mjs' {
  import type { Browser } from 'playwright-core';

  /** The browser of the browser tests. */
  export function launchBrowser(): Promise<Browser>;
}
