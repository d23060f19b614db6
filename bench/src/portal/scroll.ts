import type { Page } from 'playwright-core';

// About what a quick turn of a wheel moves between two pictures: ten rows.
const STEP_PX = 400;

export interface Scrolled {
  /** Milliseconds from each picture to the next. */
  readonly frames: readonly number[];
  /** How many rows were in the page at most. */
  readonly mostDrawn: number;
}

/** Goes to the end of the list again and again, until so many rows of it have been read. */
export async function readOnTo(page: Page, rows: number): Promise<void> {
  await page.evaluate(`(async () => {
    const table = document.querySelector('table');
    while (Number(table.ariaRowCount) <= ${rows}) {
      scrollTo(0, document.documentElement.scrollHeight);
      await new Promise(requestAnimationFrame);
    }
  })()`);
}

/** From the top to the end, a step for each picture that the browser draws. Throws if a row was not there when it came into view. */
export async function scrollThrough(page: Page): Promise<Scrolled> {
  return (await page.evaluate(`(async () => {
    const picture = () => new Promise(requestAnimationFrame);
    const rowsInPage = () => document.querySelectorAll('tr[data-index]');
    scrollTo(0, 0);
    for (let i = 0; i < 30; i += 1) await picture();
    const frames = [];
    let mostDrawn = 0;
    let last = await picture();
    while (scrollY + innerHeight < document.documentElement.scrollHeight - 1) {
      scrollBy(0, ${STEP_PX});
      const now = await picture();
      frames.push(now - last);
      last = now;
      mostDrawn = Math.max(mostDrawn, rowsInPage().length);
      if (!document.elementFromPoint(innerWidth / 2, innerHeight / 2)?.closest('tr[data-index], thead')) {
        throw new Error('No row was there at ' + scrollY + ' px.');
      }
    }
    return { frames, mostDrawn };
  })()`)) as Scrolled;
}
