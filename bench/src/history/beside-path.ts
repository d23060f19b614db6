import type { PostgresServer } from '@hookferry/core/testing/postgres-server';
import { inTurn } from '../compare';
import { type LoadFigures, measureSaturated, measureSteady } from '../path/measure';
import { onStages, serviceContender } from '../path/stage';
import { median } from '../report';
import { say } from './stage';

export interface BesideFigures {
  /** Processor time for each event of API, worker and Redis, in microseconds. */
  readonly micros: number;
  /** From the request to the receiver, at a hundred a second, in milliseconds. */
  readonly p50: number;
  readonly p99: number;
}

export interface PathBesideMover {
  readonly without: BesideFigures;
  /** With a history, and nothing moves meanwhile. */
  readonly waiting: BesideFigures;
  /** Everything moves at once: what that takes of worker and Redis is in it. */
  readonly moving: BesideFigures;
}

const STEADY_SECONDS = 20;

/** What an event costs from HTTP to its receiver: without a history, and while a mover is at work. */
export async function measurePathBesideMover(
  build: string,
  postgres: PostgresServer,
  events: number,
  rounds: number,
): Promise<PathBesideMover> {
  for (const name of ['waiting', 'moving']) await postgres.query(`CREATE DATABASE ${name}`);
  const withHistory = (name: string, moveAfter: string) => {
    const url = postgres.url.replace(/\/\w+$/, `/${name}`);
    return serviceContender({
      build,
      environment: { HISTORY_DATABASE_URL: url, HISTORY_MOVE_AFTER: moveAfter },
    });
  };
  const contenders = [serviceContender({ build }), withHistory('waiting', '1h'), withHistory('moving', '0s')];
  const steadySeconds = events < 5_000 ? 3 : STEADY_SECONDS;
  return await onStages(contenders, async (stages) => {
    for (const stage of stages) await measureSaturated(stage, Math.round(events / 2));
    const saturated: (readonly LoadFigures[])[] = [];
    for (let round = 0; round < rounds; round += 1) {
      saturated.push(await inTurn(stages, (stage) => measureSaturated(stage, events)));
      say(`the path beside a mover, round ${round + 1}`);
    }
    const steady = await inTurn(stages, (stage) => measureSteady(stage, 100, steadySeconds));
    const of = (i: number): BesideFigures => ({
      micros: median(saturated.map((each) => each[i]?.totalMicros ?? Number.NaN)),
      p50: steady[i]?.p50 ?? Number.NaN,
      p99: steady[i]?.p99 ?? Number.NaN,
    });
    return { without: of(0), waiting: of(1), moving: of(2) };
  });
}
