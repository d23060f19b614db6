import { DirectRoute } from '../deliver/egress/routes';
import type { GotTransportOptions } from '../deliver/got-transport';
import { buildGuard } from './build-guard';

const LONG_MS = 30_000;

/** A transport's options that let deliveries go to this machine, with time-outs that no test waits for. */
export function buildTransportOptions(change: Partial<GotTransportOptions> = {}): GotTransportOptions {
  return {
    timeoutMs: LONG_MS,
    connectTimeoutMs: LONG_MS,
    readBytes: 16 * 1024,
    keptBytes: 4 * 1024,
    route: new DirectRoute(buildGuard()),
    ...change,
  };
}
