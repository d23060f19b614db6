import type { PathContender } from './contender';
import { type LoadFigures, measureSaturated, measureSteady } from './measure-load';
import { measureRest, type RestFigures } from './measure-rest';
import { onStage } from './stage';

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

/** One contender on processes of its own: under load, steadily, and at rest. */
export async function measurePath(contender: PathContender, size: PathSize): Promise<PathResult> {
  return await onStage(contender, async (stage) => {
    await measureSaturated(stage, Math.round(size.saturatedEvents * WARM_UP_SHARE));
    const saturated = await measureSaturated(stage, size.saturatedEvents);
    const at100 = await measureSteady(stage, 100, size.steadySeconds);
    const at20 = await measureSteady(stage, 20, size.steadySeconds);
    return { saturated, at100, at20, rest: await measureRest(stage, size.idleSeconds) };
  });
}
