import { describeRefusal } from './rejected-job';

describe('describeRefusal', () => {
  it('names each fault, and what it is about, in one line', () => {
    const errors = [
      { pointer: '/type', detail: 'is not known' },
      { pointer: '', detail: 'must be an object' },
    ];
    expect(describeRefusal('The job is not an event: see "errors".', errors)).toBe(
      "/type is not known; the job's data must be an object",
    );
  });

  it('gives the reason when there is nothing more to say', () => {
    expect(describeRefusal('The event has 300000 bytes.', [])).toBe('The event has 300000 bytes.');
  });
});
