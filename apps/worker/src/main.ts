import { systemClock } from '@webhooks/core/kernel/clock';
import { captureConsole } from '@webhooks/core/telemetry/capture-console';
import { runProcess } from '@webhooks/core/telemetry/run-process';
import { createWinstonSignalLog } from '@webhooks/core/telemetry/winston-signal-log';
import { withoutRepeats } from '@webhooks/core/telemetry/without-repeats';
import { composeWorker } from './compose';
import { readWorkerConfig } from './config';

void runProcess(async () => {
  const config = readWorkerConfig(process.env);
  const log = createWinstonSignalLog({
    level: config.LOG_LEVEL,
    format: config.LOG_FORMAT ?? (process.stdout.isTTY ? 'pretty' : 'json'),
    service: 'worker',
  });
  const listen = withoutRepeats(log, systemClock);
  captureConsole(listen);
  const { emit, workerId, port, parts } = await composeWorker(config, [listen]);
  return {
    emit,
    parts,
    detail: `worker ${workerId}, with its metrics on http://${config.WORKER_HOST}:${port}/metrics`,
    stopWithinMs: config.SHUTDOWN_TIMEOUT,
  };
});
