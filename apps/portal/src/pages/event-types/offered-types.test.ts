import type { EventType } from '../../api/event-type-queries';
import { offeredTypes } from './offered-types';

const typeOf = (name: string, origin: EventType['origin']) => ({ name, origin }) as EventType;
const builtIn = [typeOf('keyword.quick_win', 'built_in'), typeOf('brief.created', 'built_in')];
const raised = typeOf('webhook.disabled', 'operational');
const own = typeOf('order.paid', 'custom');

it.each([
  ['all, while the product has no types of its own', [...builtIn, raised], [], [...builtIn, raised]],
  ['no built-in ones beside them', [own, ...builtIn, raised], [], [own, raised]],
  ['no built-in ones for a filter of all types', [own, ...builtIn, raised], ['*'], [own, raised]],
  ['a built-in one that a webhook names', [own, ...builtIn], ['brief.created'], [own, builtIn[1]]],
  ['those of a group that a webhook names', [own, ...builtIn], ['keyword.*', 'order.*'], [own, builtIn[0]]],
])('offers %s', (_, types, filters, offered) => {
  expect(offeredTypes(types, filters)).toEqual(offered);
});
