import type { Page } from 'playwright-core';

/**
 * Runs in the page: letters and words as far apart as WCAG 2.2 has it in 1.4.12, which no page may lose a text by. It also stands for
 * fonts that are wider than those of this machine.
 */
const SPACE_OUT = `(() => {
  const style = new CSSStyleSheet();
  style.replaceSync('* { letter-spacing: 0.12em !important; word-spacing: 0.16em !important }');
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, style];
})()`;

// Of a pixel, by rounding. Signs of a line may reach above and below it.
const TOLERANCE = { inline: 1, block: 3 };

/** Runs in the page: what says a state, names a column or can be pressed, and is not all there. */
const FIND_CUT = `[...document.querySelectorAll('button, a[class*="button"], th, label, legend, nav a, h1, h2, [role="tab"], [class*="_badge"]')]
  .filter((element) => element.checkVisibility({ visibilityProperty: true }))
  .flatMap((element) => {
    const range = document.createRange();
    range.selectNodeContents(element);
    const boxes = [...range.getClientRects()].filter(({ width }) => width > 0);
    const isBeyond = ({ left, right, top, bottom }) => boxes.some((box) =>
      box.left < left - ${TOLERANCE.inline} || box.right > right + ${TOLERANCE.inline} ||
      box.top < top - ${TOLERANCE.block} || box.bottom > bottom + ${TOLERANCE.block});
    for (let each = element; each !== document.body; each = each.parentElement) {
      const { overflowX } = getComputedStyle(each);
      const place = each.getBoundingClientRect();
      // Only for screen readers, or to be scrolled to.
      if (place.width <= 1 || overflowX === 'auto' || overflowX === 'scroll') return [];
      if ((each === element || overflowX !== 'visible') && isBeyond(place))
        return [element.tagName + ' “' + element.textContent + '” has no room in ' + each.tagName + '.' + each.className];
    }
    return [];
  })`;

/** From now on the page's texts are wider, until it is loaded again. */
export async function spaceOut(page: Page): Promise<void> {
  await page.evaluate(SPACE_OUT);
}

/** @returns the states, headings, labels and buttons that are cut or stand beyond their place, in this width */
export async function findCut(page: Page, width: number): Promise<readonly string[]> {
  await page.setViewportSize({ width, height: 900 });
  // The page is laid out again for the width by then, tables by their own means too.
  await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
  return await page.evaluate<readonly string[]>(FIND_CUT);
}
