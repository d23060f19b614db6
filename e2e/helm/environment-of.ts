import { valueAt } from './render-chart';

/** The variables of a container, by name. */
export function environmentOf(container: unknown): Record<string, string> {
  const variables = valueAt(container, 'env') as { name: string; value: string }[];
  return Object.fromEntries(variables.map(({ name, value }) => [name, value]));
}

/** Of a setting such as `20s`; NaN of anything else. */
export function secondsOf(duration: string | undefined): number {
  return Number(/^(\d+)s$/.exec(duration ?? '')?.[1]);
}
