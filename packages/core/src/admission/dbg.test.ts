import { openModelLane } from '../testing/one-job-model/model-lane';
import { commandsFor } from '../testing/one-job-model/model-commands';
import { ModelScene } from '../testing/one-job-model/model-scene';
it('dbg', async () => {
  const lane = await openModelLane();
  const scene = await ModelScene.open(lane, { deliveries: 1, ordering: 'none' });
  const act = async (name: string) => {
    const c = commandsFor(scene).find((x) => x.name.includes(name));
    if (!c)
      throw new Error(
        name +
          ' not in ' +
          commandsFor(scene)
            .map((x) => x.name)
            .join(' | '),
      );
    await c.run();
    await scene.see();
    console.log(
      name,
      JSON.stringify(scene.snapshot),
      scene.runs.map((r) => [r.work.at, r.hasLostLock, r.of]),
      scene.violations,
    );
  };
  for (const n of [
    'publish adds',
    'worker 1 fetches',
    'goes on',
    'goes on',
    'loses its lock',
    'stalled',
    'worker 2 fetches',
    'run 2, at its job: goes on',
    'run 2, at its admission',
    'run 2, at a second',
  ])
    await act(n);
  console.log([...scene.sightings]);
  await lane.close();
});
