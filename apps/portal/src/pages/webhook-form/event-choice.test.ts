import type { EventType } from '../../api/event-type-queries';
import { groupsOf, withChoice } from './event-choice';

const type = (name: string, origin: EventType['origin'] = 'built_in'): EventType => ({
  name,
  origin,
  description: '',
  schema: true,
  example: {},
  deprecated: false,
  version: null,
});

it('groups types by the first word of their names, and what the service tells of itself comes last', () => {
  const types = [
    type('webhook.failing', 'operational'),
    type('keyword.win'),
    type('brief.new'),
    type('keyword.lost'),
  ];
  const groups = groupsOf(types).map(({ filter, types: members }) => [
    filter,
    members.map(({ name }) => name),
  ]);
  expect(groups).toEqual([
    ['keyword.*', ['keyword.win', 'keyword.lost']],
    ['brief.*', ['brief.new']],
    [undefined, ['webhook.failing']],
  ]);
});

it('names no type beside what asks for it already', () => {
  expect(withChoice(['keyword.win', 'brief.new'], 'keyword.*', true)).toEqual(['brief.new', 'keyword.*']);
  expect(withChoice(['brief.new', 'keyword.*'], 'keyword.*', false)).toEqual(['brief.new']);
});
