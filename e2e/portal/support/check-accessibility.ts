import { readFileSync } from 'node:fs';
import type { AxeResults } from 'axe-core';
import type { Page } from 'playwright-core';

const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'];
const THEMES = ['light', 'dark'] as const;
const AXE = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

/**
 * Fails if the page as it is breaks a rule of WCAG 2.2 AA that axe can check, in either theme.
 *
 * The checker comes in through the debugger, not as a script of the page: the page's own policy stays in force.
 */
export async function checkAccessibility(page: Page): Promise<void> {
  for (const theme of THEMES) {
    await page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' });
    await page.evaluate(AXE);
    const results = (await page.evaluate(
      `axe.run({ runOnly: { type: 'tag', values: ${JSON.stringify(RULES)} } })`,
    )) as AxeResults;
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
