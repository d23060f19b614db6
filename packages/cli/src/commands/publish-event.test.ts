import { bodyText } from './publish-event';

it('keeps the data as they were written', () => {
  const data = '{"a": 1.0, "a": 9007199254740993}';
  expect(bodyText({ type: 'a.b', id: '1' }, data)).toBe(`{"type":"a.b","id":"1","data":${data}}`);
});
