import type { Bounds } from './one-job-state';
import { ONE_DELIVERY, visitOneJob } from './visit-one-job';

// As large as it can be in a few seconds. With all accidents as well it is 667 128 states and half a minute: nothing
// forbidden is among them either.
const TWO_DELIVERIES: Bounds = {
  deliveries: 2,
  runs: 2,
  attempts: 1,
  faults: 1,
  accidents: 'none',
};

describe('a delivery that has one job for life', () => {
  it('is never lost, never in two places and always found, whatever crashes and however often', () => {
    const findings = visitOneJob('one delivery, any number of faults', ONE_DELIVERY);
    expect(findings.violations).toEqual({});
    expect([...findings.sightings.keys()]).toEqual(
      expect.arrayContaining([
        'a delivery that is held',
        'a delivery that succeeds',
        'two requests in flight',
      ]),
    );
  });

  it('is so beside another one at the same gate', () => {
    expect(visitOneJob('two deliveries, one fault', TWO_DELIVERIES).violations).toEqual({});
  });
});
