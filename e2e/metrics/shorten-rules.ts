import type { Rule, RulesFile } from './read-rules';

// Six hours in twelve seconds: so long it takes until nothing is seen any more of what was.
const FACTOR = 1_800;
// What a rate needs at a scrape every other second.
const SHORTEST_WINDOW_S = 6;
const SECONDS = { s: 1, m: 60, h: 3_600, d: 86_400 } as const;

const WINDOW = /(\[|offset )(\d+)([smhd])\b/g;

// The least number of what an alert is about, within a window.
const LEAST = />= \d+$/gm;

/**
 * The rules as they are, but for their windows, how long something has to last, and how much of it there has to be within a window:
 * those are short enough for a test.
 */
export function shortenRules({ groups }: RulesFile): RulesFile {
  return { groups: groups.map(({ name, rules }) => ({ name, rules: rules.map(shorten) })) };
}

function shorten(rule: Rule): Rule {
  const expr = shortenWindows(rule.expr).replaceAll(LEAST, '>= 1');
  if ('record' in rule || rule.for === undefined) return { ...rule, expr };
  return { ...rule, expr, for: '1s' };
}

function shortenWindows(expr: string): string {
  return expr.replaceAll(WINDOW, (_all, before: string, count: string, unit: keyof typeof SECONDS) => {
    const seconds = Math.round((Number(count) * SECONDS[unit]) / FACTOR);
    return `${before}${Math.max(seconds, SHORTEST_WINDOW_S)}s`;
  });
}
