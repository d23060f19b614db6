import { systemClock } from '@hookferry/core/platform/clock';
import { fullVersion } from '@hookferry/core/platform/revision';
import { RefusedRequests } from '@hookferry/core/telemetry/refused-requests';
import { captureConsole, runProcess, withoutRepeats } from '@hookferry/core/telemetry/run-process';
import { startTracing } from '@hookferry/core/telemetry/start-tracing';
import { SignalLog } from '@hookferry/core/telemetry/winston-signal-log';
import { composeApi } from './compose';
import { readApiConfig } from './config';

void runProcess({ service: 'api', environment: process.env }, async () => {
  const config = readApiConfig(process.env);
  const log = new SignalLog({
    level: config.LOG_LEVEL,
    format: config.LOG_FORMAT ?? (process.stdout.isTTY ? 'pretty' : 'json'),
    service: 'api',
  });
  const refusedRequests = new RefusedRequests(log.listen);
  const listen = withoutRepeats(refusedRequests.listen, systemClock);
  captureConsole(listen);
  const tracing = await startTracing(config, { service: 'api', onWarning: listen });
  const { emit, port, parts } = await composeApi(config, [listen], tracing);
  return {
    emit,
    parts: [...parts, { name: 'log of refused requests', stop: () => refusedRequests.stop() }],
    detail: `API on http://${config.API_HOST}:${port}`,
    version: fullVersion(config.HOOKFERRY_REVISION),
    stopWithinMs: config.DRAIN_DELAY + config.SHUTDOWN_TIMEOUT,
  };
});
