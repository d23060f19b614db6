/** Two sides that are measured in turn, such as this service and the hand-rolled pair, and held against what is aimed at. */
import { median, printTable } from './report';

/** What is read from what was measured, and its aim if it has one. */
export interface Figure<Measured> {
  readonly name: string;
  readonly of: (measured: Measured) => number;
  /** Whether the aim is for the service's own figure: otherwise it is for the ratio to the other side's. */
  readonly isOwn?: true;
  readonly atMost?: number | undefined;
  readonly atLeast?: number | undefined;
  /** By how much the service's figure may be above the other side's, in its own unit. */
  readonly atMostMore?: number | undefined;
}

interface Comparison<Side, Measured> {
  readonly title: string;
  readonly rounds: number;
  /** What the service is held against, and the service. */
  readonly sides: readonly [Side, Side];
  readonly figures: readonly Figure<Measured>[];
  /** Gives what was measured of these sides, in their order. */
  measure(sides: readonly Side[]): Promise<readonly Measured[]>;
  /** What is told of each while the rest is measured. */
  inShort(measured: Measured): string;
}

/**
 * Measures both sides again and again, and prints the medians beside each other and beside the aims.
 * @returns that, and all that was measured, round by round
 */
export async function compare<Side extends { readonly name: string }, Measured>({
  title,
  rounds,
  sides,
  figures,
  measure,
  inShort,
}: Comparison<Side, Measured>) {
  const [plain, service] = sides;
  const raw = { plain: [] as Measured[], service: [] as Measured[] };
  for (let round = 1; round <= rounds; round += 1) {
    // The machine's moods even out when neither is always the first.
    const order = round % 2 === 1 ? sides : [service, plain];
    for (const [i, measured] of (await measure(order)).entries()) {
      const side = order[i] ?? service;
      (side === plain ? raw.plain : raw.service).push(measured);
      process.stderr.write(`  round ${round} of ${rounds}: ${side.name}, ${inShort(measured)}\n`);
    }
  }
  const ratios = figures.map((figure) =>
    judge(figure, median(raw.plain.map(figure.of)), median(raw.service.map(figure.of))),
  );
  printTable(`${title} (median of ${rounds})`, [
    ['', plain.name, service.name, 'ratio', 'aim', 'met'],
    ...ratios.map(toRow),
  ]);
  return { ratios, raw };
}

/** Works on one after the other. */
export async function inTurn<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<readonly Result[]> {
  const results: Result[] = [];
  for (const item of items) results.push(await work(item));
  return results;
}

/** A figure beside its aim. */
interface Verdict {
  readonly name: string;
  readonly plain: number;
  readonly service: number;
  /** What the aim is about: the ratio of the service's figure to the other side's, their difference, or the service's own. */
  readonly value: number;
  /** None: it is there to be looked at. */
  readonly aim: string | null;
  readonly met: boolean | null;
}

function judge<Measured>(figure: Figure<Measured>, plain: number, service: number): Verdict {
  const { name, isOwn, atMost, atLeast, atMostMore } = figure;
  const value = isOwn ? service : service / plain;
  const both = { name, plain, service, value };
  if (atMost !== undefined) return { ...both, aim: `≤ ${atMost}`, met: value <= atMost };
  if (atMostMore !== undefined) {
    const more = service - plain;
    return { ...both, value: more, aim: `≤ ${atMostMore} more`, met: more <= atMostMore };
  }
  if (atLeast !== undefined) return { ...both, aim: `≥ ${atLeast}`, met: value >= atLeast };
  return { ...both, aim: null, met: null };
}

function toRow({ name, plain, service, value, aim, met }: Verdict): string[] {
  return [
    name,
    rounded(plain),
    rounded(service),
    plain === 0 ? '' : (service / plain).toFixed(2),
    aim === null ? '' : `${aim}${value === service ? ', of its own' : ''}`,
    met === null ? '' : met ? 'yes' : 'no',
  ];
}

function rounded(value: number): string {
  return value.toFixed(value < 100 ? 1 : 0);
}
