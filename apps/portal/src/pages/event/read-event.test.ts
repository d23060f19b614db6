import { readEvent } from './read-event';

it('keeps data as it was published, also what JavaScript would change', () => {
  const text = '{"id":"evt_1","type":"a.b","data":{"n":12345678901234567890, "data":{"x":1.0}}}';
  const { event, dataText } = readEvent(text);
  expect(event.id).toBe('evt_1');
  expect(dataText).toBe('{"n":12345678901234567890, "data":{"x":1.0}}');
});
