import type { PathContender } from './contender';
import { plainContender } from './plain-contender';

/** What was measured of both, round by round. */
export interface Measured<Figures> {
  readonly plain: readonly Figures[];
  readonly service: readonly Figures[];
}

export interface RoundsOptions<Figures> {
  readonly rounds: number;
  readonly service: PathContender;
  /** Gives the figures of these contenders, in their order. */
  readonly measure: (contenders: readonly PathContender[]) => Promise<readonly Figures[]>;
  /** What is told of each while the rest is measured. */
  readonly inShort: (figures: Figures) => string;
}

/** Measures the hand-rolled pair and the service again and again. */
export async function inRounds<Figures>(options: RoundsOptions<Figures>): Promise<Measured<Figures>> {
  const { rounds, service, measure, inShort } = options;
  const plainFigures: Figures[] = [];
  const serviceFigures: Figures[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    // The machine's moods even out when neither is always the first.
    const order = round % 2 === 1 ? [plainContender, service] : [service, plainContender];
    for (const [i, figures] of (await measure(order)).entries()) {
      const contender = order[i] ?? service;
      (contender === plainContender ? plainFigures : serviceFigures).push(figures);
      process.stderr.write(`  round ${round} of ${rounds}: ${contender.name}, ${inShort(figures)}\n`);
    }
  }
  return { plain: plainFigures, service: serviceFigures };
}
