/** This service beside the hand-rolled pair: measured in turn, and held against what is aimed at. */
import { median, printTable } from '../report';
import { plainContender } from './stage';

/** What was measured of both, round by round. */
export interface Measured<Figures> {
  readonly plain: readonly Figures[];
  readonly service: readonly Figures[];
}

export interface RoundsOptions<Side, Figures> {
  readonly rounds: number;
  /** What the service is held against, and the service. */
  readonly sides: readonly [Side, Side];
  /** Gives the figures of these sides, in their order. */
  readonly measure: (sides: readonly Side[]) => Promise<readonly Figures[]>;
  /** What is told of each while the rest is measured. */
  readonly inShort: (figures: Figures) => string;
}

/** Measures both again and again. */
export async function inRounds<Side extends { readonly name: string }, Figures>(
  options: RoundsOptions<Side, Figures>,
): Promise<Measured<Figures>> {
  const { rounds, sides, measure, inShort } = options;
  const [plain, service] = sides;
  const plainFigures: Figures[] = [];
  const serviceFigures: Figures[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    // The machine's moods even out when neither is always the first.
    const order = round % 2 === 1 ? sides : [service, plain];
    for (const [i, figures] of (await measure(order)).entries()) {
      const side = order[i] ?? service;
      (side === plain ? plainFigures : serviceFigures).push(figures);
      process.stderr.write(`  round ${round} of ${rounds}: ${side.name}, ${inShort(figures)}\n`);
    }
  }
  return { plain: plainFigures, service: serviceFigures };
}

/** A side that is measured by itself. */
export interface MeasuredSide<Figures> {
  readonly name: string;
  measure(): Promise<Figures>;
}

/** Measures both again and again, one after the other. */
export async function inTurns<Figures>(
  options: Omit<RoundsOptions<MeasuredSide<Figures>, Figures>, 'measure'>,
): Promise<Measured<Figures>> {
  return await inRounds({
    ...options,
    async measure(sides: readonly MeasuredSide<Figures>[]) {
      const measured: Figures[] = [];
      for (const side of sides) measured.push(await side.measure());
      return measured;
    },
  });
}

/** A figure beside its aim. */
export interface Verdict {
  readonly name: string;
  readonly plain: number;
  readonly service: number;
  /** What the aim is about: the ratio of the service's figure to the hand-rolled pair's, or the service's own. */
  readonly value: number;
  /** None: it is there to be looked at. */
  readonly aim: string | null;
  readonly met: boolean | null;
}

/** What is read from results, and its aim if it has one. */
export interface Figure<Result> {
  readonly name: string;
  readonly of: (result: Result) => number;
  readonly kind: 'ratio' | 'own';
  readonly atMost?: number;
  readonly atLeast?: number;
}

/** The medians of both, beside each other and beside the aims. */
export function compareFigures<Result>(
  figures: readonly Figure<Result>[],
  plain: readonly Result[],
  service: readonly Result[],
): readonly Verdict[] {
  return figures.map((figure) =>
    compareFigure(figure, median(plain.map(figure.of)), median(service.map(figure.of))),
  );
}

function compareFigure(
  { name, kind, atMost, atLeast }: Pick<Figure<never>, 'name' | 'kind' | 'atMost' | 'atLeast'>,
  plain: number,
  service: number,
): Verdict {
  const value = kind === 'ratio' ? service / plain : service;
  const both = { name, plain, service, value };
  if (atMost !== undefined) return { ...both, aim: `≤ ${atMost}`, met: value <= atMost };
  if (atLeast !== undefined) return { ...both, aim: `≥ ${atLeast}`, met: value >= atLeast };
  return { ...both, aim: null, met: null };
}

/** The figures of both beside each other, with their aims. */
export function printVerdicts(
  title: string,
  verdicts: readonly Verdict[],
  [plain, service]: readonly [string, string] = [plainContender.name, 'this service'],
): void {
  printTable(title, [['', plain, service, 'ratio', 'aim', 'met'], ...verdicts.map(toRow)]);
}

function toRow({ name, plain, service, value, aim, met }: Verdict): string[] {
  const isOwn = value === service;
  const aimText = aim === null ? '' : `${aim}${isOwn ? ', of its own' : ''}`;
  return [
    name,
    rounded(plain),
    rounded(service),
    plain === 0 ? '' : (service / plain).toFixed(2),
    aimText,
    met === null ? '' : met ? 'yes' : 'no',
  ];
}

function rounded(value: number): string {
  return value.toFixed(value < 100 ? 1 : 0);
}
