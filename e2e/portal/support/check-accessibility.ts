import { readFileSync } from 'node:fs';
import type { AxeResults } from 'axe-core';
import type { Page } from 'playwright-core';

const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
const THEMES = ['light', 'dark'] as const;
const AXE = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
// Half a megabyte, and a page keeps it until it is loaded anew.
const PROVIDE_AXE = `if (!globalThis.axe) { ${AXE} }; undefined`;
// What listens to the change of theme has done its part by then.
const PAINTED = 'new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))';
// An open dialog hides the page behind it, with its heading.
const RUN_AXE = `axe.run({
  runOnly: { type: 'tag', values: ${JSON.stringify(RULES)} },
  rules: { 'page-has-heading-one': { enabled: !document.querySelector('[role="dialog"], [role="alertdialog"]') } },
  resultTypes: ['violations'],
})`;

/**
 * Fails if the page as it is breaks a rule of WCAG 2.2 AA, or a best practice, that axe can check, in either theme.
 *
 * The checker comes in through the debugger, not as a script of the page: the page's own policy stays in force.
 */
export async function checkAccessibility(page: Page): Promise<void> {
  // A page that is being loaded has no heading yet, or hides the one of the page before.
  await page.locator(':is(h1, [role="dialog"], [role="alertdialog"]):visible').first().waitFor();
  await page.evaluate(PROVIDE_AXE);
  for (const theme of THEMES) {
    await page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' });
    await page.evaluate(PAINTED);
    const results = (await page.evaluate(RUN_AXE)) as AxeResults;
    if (results.violations.length > 0) {
      throw new Error(`Not accessible (${theme}):\n${describe(results)}`);
    }
  }
}

function describe({ violations }: AxeResults): string {
  return violations
    .flatMap(({ id, help, nodes }) =>
      nodes.map(({ target, failureSummary }) => `${id}: ${help}\n  ${target.join(' ')}\n  ${failureSummary}`),
    )
    .join('\n');
}
