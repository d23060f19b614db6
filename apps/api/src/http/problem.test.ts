import { serverErrorCodes } from '@hookferry/core/telemetry/prom-signal-metrics';
import { PROBLEMS } from './problem';

it('gives a 5xx to those codes that the metrics count as errors of the service', () => {
  const failures = Object.entries(PROBLEMS).flatMap(([code, { status }]) => (status >= 500 ? [code] : []));
  expect(failures.toSorted()).toEqual(serverErrorCodes.toSorted());
});
