import { faultKinds } from './fault-kinds';
import { Random } from './random';
import { formatSchedule, parseSchedule, planSteps, possibleKinds } from './schedule';

it('can be written down and read again', () => {
  const schedule = planSteps(faultKinds, new Random(7));
  expect(parseSchedule(formatSchedule(schedule))).toEqual(schedule);
});

it('names what there is when asked for what there is not', () => {
  expect(() => parseSchedule('worker-kill:1,earthquake:2')).toThrow(
    /no fault "earthquake"; there are: none, worker-kill/,
  );
});

it('leaves out what can not be had here, and says so', async () => {
  const said: string[] = [];
  const [kind] = faultKinds;
  if (!kind) throw new Error('There is no fault at all.');
  const impossible = { ...kind, name: 'disk', obstacle: async () => 'it takes root' };
  expect(await possibleKinds([kind, impossible], (text) => said.push(text))).toEqual([kind]);
  expect(said).toEqual(['LEFT OUT: disk: it takes root']);
});
