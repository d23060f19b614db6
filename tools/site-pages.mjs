// @ts-check
/**
 * `npm run site:pages`: looks at every page of the built site (`npm run site`) in a browser, at the width of a desk and of a phone: no table
 * is cut, no page scrolls sideways, no diagram is left as its source, and nothing is asked of another host. On a page of each kind it looks
 * for faults of accessibility, in both themes, and that paper gets the page alone. Exits with 1 if it found something.
 */
import { createRequire } from 'node:module';
import { launchBrowser } from './browser/launch-browser.mjs';
import { describeError } from './problem.mjs';
import { say } from './say.mjs';
import { pagesOfSite, serveSite } from './site-server.mjs';

const WIDTHS = [1440, 390];
/** A page of each kind: home, a guide, a reference, diagrams. */
const EXAMPLES = ['/', '/guides/receiving', '/reference/webhooks', '/deliveries'];
// Beside the page itself, a printer shall get none of these.
const NOT_ON_PAPER = '.VPNav, .VPLocalNav, .VPSidebar, .VPDocFooter, .VPDoc .aside';
const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js');
const AXE_RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa'];

if (process.argv[1] === import.meta.filename) {
  try {
    const faults = await lookAtAll();
    for (const fault of faults) say('pages', fault);
    say('pages', `${pagesOfSite().length} pages, ${faults.length} faults`);
    if (faults.length > 0) process.exitCode = 1;
  } catch (error) {
    say('pages', describeError(error));
    process.exitCode = 1;
  }
}

/** @returns {Promise<string[]>} */
async function lookAtAll() {
  const { url, close } = await serveSite();
  const browser = await launchBrowser();
  /** @type {string[]} */
  const faults = [];
  try {
    const page = await browser.newPage();
    page.on('request', (request) => {
      if (!request.url().startsWith(url) && !request.url().startsWith('data:'))
        faults.push(`${page.url()}: asks ${request.url()}`);
    });
    for (const path of pagesOfSite()) {
      await page.goto(url + path, { waitUntil: 'domcontentloaded' });
      for (const width of WIDTHS) {
        await page.setViewportSize({ width, height: 900 });
        for (const fault of await page.evaluate(findCuts)) faults.push(`${path} at ${width} px: ${fault}`);
      }
    }
    for (const path of EXAMPLES) {
      for (const colorScheme of /** @type {const} */ (['light', 'dark'])) {
        await page.emulateMedia({ colorScheme });
        await page.setViewportSize({ width: 1440, height: 900 });
        await page.goto(url + path);
        await page.addScriptTag({ path: AXE });
        const found = await page.evaluate(async (tags) => {
          // @ts-expect-error: the script defines it
          const { violations } = await globalThis.axe.run({
            runOnly: tags,
            // An experiment of axe's: it reads the keys that VitePress draws beside the word on its own button.
            rules: { 'label-content-name-mismatch': { enabled: false } },
          });
          return violations.map(
            (/** @type {any} */ { id, nodes }) =>
              `${id}, ${nodes.length} times: ${nodes[0].html.slice(0, 120)}`,
          );
        }, AXE_RULES);
        for (const fault of found) faults.push(`${path}, ${colorScheme}: ${fault}`);
      }
      await page.emulateMedia({ media: 'print' });
      for (const element of await page.locator(NOT_ON_PAPER).all())
        if (await element.isVisible())
          faults.push(`${path}: paper has ${await element.getAttribute('class')}`);
      await page.emulateMedia({ media: 'screen' });
    }
  } finally {
    await browser.close();
    close();
  }
  return faults;
}

/** What of the page can't be seen. In the browser, whose names tools have no types of. @returns {string[]} */
function findCuts() {
  /** @type {any} */
  const { document } = globalThis;
  const faults = [];
  const { scrollWidth, clientWidth } = document.documentElement;
  if (scrollWidth > clientWidth) faults.push(`scrolls sideways by ${scrollWidth - clientWidth} px`);
  const main = document.querySelector('main .vp-doc')?.getBoundingClientRect();
  for (const table of document.querySelectorAll('.vp-doc table')) {
    const { right } = table.getBoundingClientRect();
    const name = table.textContent?.trim().replace(/\s+/g, ' ').slice(0, 40);
    if (table.scrollWidth > table.clientWidth + 1) faults.push(`a table scrolls: ${name}`);
    if (main !== undefined && right > main.right + 1) faults.push(`a table is cut: ${name}`);
    for (const cell of table.querySelectorAll('td'))
      if (cell.scrollWidth > cell.clientWidth + 1)
        faults.push(`a cell is cut: ${cell.textContent?.slice(0, 40)}`);
  }
  if (document.querySelector('.language-mermaid')) faults.push('shows the source of a diagram');
  return faults;
}
