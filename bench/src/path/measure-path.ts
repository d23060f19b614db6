import type { PathContender } from './contender';
import { type LoadFigures, measureSaturated, measureSteady } from './measure-load';
import { measureRest, type RestFigures } from './measure-rest';
import { inTurn, onStages } from './stage';

export interface PathResult {
  readonly saturated: LoadFigures;
  readonly at100: LoadFigures;
  readonly at20: LoadFigures;
  readonly rest: RestFigures;
}

export interface PathSize {
  readonly saturatedEvents: number;
  readonly steadySeconds: number;
  readonly idleSeconds: number;
}

// Until the processes run at their usual speed.
const WARM_UP_SHARE = 0.5;

/**
 * Contenders on processes of their own: under load, steadily, and at rest, each step in turn, so that what the machine
 * is busy with otherwise is about the same for each.
 */
export async function measurePaths(
  contenders: readonly PathContender[],
  size: PathSize,
): Promise<readonly PathResult[]> {
  return await onStages(contenders, async (stages) => {
    await inTurn(stages, (stage) =>
      measureSaturated(stage, Math.round(size.saturatedEvents * WARM_UP_SHARE)),
    );
    const saturated = await inTurn(stages, (stage) => measureSaturated(stage, size.saturatedEvents));
    const at100 = await inTurn(stages, (stage) => measureSteady(stage, 100, size.steadySeconds));
    const at20 = await inTurn(stages, (stage) => measureSteady(stage, 20, size.steadySeconds));
    const rest = await inTurn(stages, (stage) => measureRest(stage, size.idleSeconds));
    return zip(saturated, at100, at20, rest);
  });
}

function zip(
  saturated: readonly LoadFigures[],
  at100: readonly LoadFigures[],
  at20: readonly LoadFigures[],
  rest: readonly RestFigures[],
): readonly PathResult[] {
  return saturated.flatMap((each, i) => {
    const [steady, slow, resting] = [at100[i], at20[i], rest[i]];
    return steady && slow && resting ? [{ saturated: each, at100: steady, at20: slow, rest: resting }] : [];
  });
}
