import { systemClock } from '@hookferry/core/platform/clock';
import { fullVersion } from '@hookferry/core/platform/revision';
import { captureConsole, runProcess, withoutRepeats } from '@hookferry/core/telemetry/run-process';
import { startTracing } from '@hookferry/core/telemetry/start-tracing';
import { SignalLog } from '@hookferry/core/telemetry/winston-signal-log';
import { composeWorker } from './compose';
import { readWorkerConfig } from './config';

void runProcess({ service: 'worker', environment: process.env }, async () => {
  const config = readWorkerConfig(process.env);
  const log = new SignalLog({
    level: config.LOG_LEVEL,
    format: config.LOG_FORMAT ?? (process.stdout.isTTY ? 'pretty' : 'json'),
    service: 'worker',
  });
  const listen = withoutRepeats(log.listen, systemClock);
  captureConsole(listen);
  const tracing = await startTracing(config, { service: 'worker', onWarning: listen });
  const { emit, workerId, port, parts } = await composeWorker(config, [listen], tracing);
  return {
    emit,
    parts,
    detail: `worker ${workerId}, with its metrics on http://${config.WORKER_HOST}:${port}/metrics`,
    version: fullVersion(config.HOOKFERRY_REVISION),
    stopWithinMs: config.SHUTDOWN_TIMEOUT,
  };
});
