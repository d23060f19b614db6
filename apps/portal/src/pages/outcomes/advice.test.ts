import { adviceOn, byOutcome, byStatus } from './advice';

it('is by the status where that says more than its class', () => {
  expect(adviceOn({ outcome: 'http_4xx', response_status: 413 }).happened).toContain('too large');
  expect(adviceOn({ outcome: 'http_4xx', response_status: 418 })).toBe(byOutcome.http_4xx);
});

it('leads to the signature where the sender was refused', () => {
  const ofSignature = Object.keys(byStatus).filter((status) => byStatus[Number(status)]?.isOfSignature);
  expect(ofSignature).toEqual(['401', '403']);
});

it('is by the outcome where the status is not to blame', () => {
  expect(adviceOn({ outcome: 'rejected_in_batch', response_status: 404 })).toBe(byOutcome.rejected_in_batch);
});

it('names no setting of the service, and ends its sentences', () => {
  const all = [...Object.values(byOutcome), ...Object.values(byStatus)];
  expect(all.filter(({ happened, toDo }) => /[A-Z]_[A-Z]/.test(`${happened} ${toDo}`))).toEqual([]);
  expect(all.filter(({ happened, toDo }) => !/[.?]$/.test(happened) || !/^$|\.$/.test(toDo))).toEqual([]);
});
