import type { FaultScene } from '../fault-scene';

/** What was broken, and from when to when. */
export interface Strike {
  readonly victim: string;
  readonly startedAt: number;
  /** From when on nothing is withheld any more. For a kill, the moment of the kill. */
  readonly endedAt: number;
  /** Where it is not what its kind says: of a pair, each has its own. */
  readonly mayRepeat?: boolean;
}

export interface FaultKind {
  readonly name: string;
  /** In a sentence, for the list that `--help` prints. */
  readonly what: string;
  /**
   * Whether an attempt that it hits may have to be made again. Where that is false, the service promises that it does
   * not happen.
   */
  readonly mayRepeat: boolean;
  /** How often it is injected in a full run, and in one of its own unless the command line says so. */
  readonly usualCount: number;
  /** Whether it lasts so long that a mixed run of a few minutes has no time for it. */
  readonly isLong?: boolean;
  /** Whether it takes a service with a history. */
  readonly needsHistory?: boolean;
  /** Why it can't be injected on this machine; undefined where it can. */
  readonly obstacle?: () => Promise<string | undefined>;
  /** Breaks something, mends it, and says what was broken; several strikes where one fault breaks several things. */
  readonly inject: (scene: FaultScene) => Promise<Strike | readonly Strike[]>;
}

/** The strike that lasts as long as this takes. */
export async function during(victim: string, breakAndMend: () => Promise<void>): Promise<Strike> {
  const startedAt = Date.now();
  await breakAndMend();
  return { victim, startedAt, endedAt: Date.now() };
}
