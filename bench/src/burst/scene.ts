import type { World } from './world';

/** What else there is to know of a scene, by a name that says its unit. */
export type Facts = Readonly<Record<string, number>>;

/** A kind of trouble that others may notice. */
export interface Scene {
  readonly name: string;
  /**
   * Makes all ready in a new world.
   * @returns what makes the trouble, and resolves when it is over
   */
  prepare(world: World): Promise<() => Promise<Facts>>;
}

export function secondsSince(startedAt: number): number {
  return (performance.now() - startedAt) / 1_000;
}
