// @ts-check
/**
 * Draws the Mermaid diagrams of `pages/` as SVG, in a browser at build time: readers load no program for them, and no diagram comes
 * from elsewhere. Colours are in the theme's `diagrams.css`, so that one drawing serves the light and the dark theme.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { launchBrowser } from '../tools/browser/launch-browser.mjs';

const PAGES = join(import.meta.dirname, 'pages');
const DIAGRAM = /^```mermaid\n([^]*?)^```$/gm;
const require = createRequire(import.meta.url);

// As the site sets text, so that each label fits into its box.
const FONT = join(
  dirname(require.resolve('vitepress/package.json')),
  'dist/client/theme-default/fonts/inter-roman-latin.woff2',
);
const SETTINGS = {
  startOnLoad: false,
  theme: 'base',
  look: 'classic',
  layout: 'dagre',
  fontFamily: 'Inter',
  flowchart: {
    wrappingWidth: 220,
    nodeSpacing: 30,
    rankSpacing: 40,
    padding: 12,
    subGraphTitleMargin: { top: 6, bottom: 10 },
  },
  sequence: {
    wrap: true,
    width: 210,
    actorMargin: 24,
    noteMargin: 8,
    messageMargin: 28,
    mirrorActors: false,
  },
  state: { nodeSpacing: 40, rankSpacing: 40 },
};

const pages = readdirSync(PAGES, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.md'))
  .map((name) => ({ name, text: readFileSync(join(PAGES, name), 'utf8') }))
  .filter(({ text }) => text.search(DIAGRAM) !== -1);
// About as wide as a page.
const WIDEST = 1000;
const browser = await launchBrowser();
try {
  const page = await browser.newPage();
  await page.setContent(
    `<style>@font-face { font-family: Inter; src: url(data:font/woff2;base64,${readFileSync(FONT, 'base64')}); font-weight: 100 900 }</style>`,
  );
  await page.addScriptTag({ path: require.resolve('mermaid/dist/mermaid.min.js') });
  await page.evaluate(async (settings) => {
    await document.fonts.load('16px Inter');
    // @ts-expect-error: the script defines it
    globalThis.mermaid.initialize(settings);
  }, SETTINGS);
  let count = 0;
  for (const { name, text } of pages) {
    /** @type {string[]} */
    const drawings = [];
    for (const [, source = ''] of text.matchAll(DIAGRAM)) {
      // Long lines are wrapped only where nobody has broken them.
      const code = source.startsWith('sequence') ? source.replaceAll('<br>', ' ') : source;
      const id = `diagram-${(count += 1)}`;
      const drawn = await draw(page, code, id).catch((error) => {
        throw new Error(`${name}: ${error.message}`);
      });
      const isWide = widthOf(drawn) > WIDEST && code.startsWith('flowchart LR');
      drawings.push(isWide ? await draw(page, code.replace('LR', 'TB'), id) : drawn);
    }
    writeFileSync(
      join(PAGES, name),
      text.replace(DIAGRAM, () => drawings.shift() ?? ''),
    );
  }
  console.log(`${count} diagrams on ${pages.length} pages`);
} finally {
  await browser.close();
}

/**
 * @param {import('playwright-core').Page} page
 * @param {string} source
 * @param {string} id for its arrows; no other diagram has it
 * @returns HTML for the page: the drawing without its colours
 */
async function draw(page, source, id) {
  const svg = await page.evaluate(
    async ([code, name]) => {
      // @ts-expect-error: the script defines it
      const drawn = await globalThis.mermaid.render(name, code);
      const box = document.createElement('div');
      box.innerHTML = drawn.svg;
      for (const style of box.querySelectorAll('style')) style.remove();
      for (const defined of box.querySelectorAll('marker, symbol, filter'))
        if (!drawn.svg.includes(`#${defined.id})`)) defined.remove();
      for (const element of box.querySelectorAll('*'))
        for (const { name: attribute } of [...element.attributes])
          if (attribute.startsWith('data-')) element.removeAttribute(attribute);
      return new XMLSerializer().serializeToString(box.firstElementChild ?? box);
    },
    [source, id],
  );
  const short = svg.replace(/\d+\.\d{2,}/g, (number) => String(Math.round(Number(number) * 10) / 10));
  // One line, or an empty line would end the HTML within the page.
  return `<div class="diagram" tabindex="0" role="group" aria-label="Diagram">${short
    .replace('width="100%"', `width="${widthOf(short)}"`)
    .replaceAll('\n', ' ')
    .replaceAll('{{', '&#123;&#123;')}</div>`;
}

/** @param {string} drawing @returns in pixels, as Mermaid says */
function widthOf(drawing) {
  return Number(/max-width: ([\d.]+)px/.exec(drawing)?.[1] ?? 0);
}
