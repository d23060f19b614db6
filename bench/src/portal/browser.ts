import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Browser, Page } from 'playwright-core';

const BROWSER = pathToFileURL(join(__dirname, '../../../tools/browser/launch-browser.mjs')).href;
const SIZE = { width: 1280, height: 900 };

/** A browser while something is measured; each page that is opened knows nothing of the others. */
export async function inBrowser(work: (open: () => Promise<Page>) => Promise<void>): Promise<void> {
  const { launchBrowser } = (await import(BROWSER)) as { launchBrowser: () => Promise<Browser> };
  const browser = await launchBrowser();
  try {
    await work(() => browser.newPage({ viewport: SIZE }));
  } finally {
    await browser.close();
  }
}

/** Signs in once, and leads to a page of the portal. */
export async function linkFor(
  url: string,
  path: string,
  headers: Readonly<Record<string, string>>,
): Promise<string> {
  const response = await fetch(`${url}/v1/portal-sessions`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: '{}',
  });
  const body = await response.text();
  if (response.status !== 201) throw new Error(`A session was answered with ${response.status}: ${body}`);
  const { hash } = new URL((JSON.parse(body) as { readonly url: string }).url);
  return `${url}/portal${path}${hash}`;
}
