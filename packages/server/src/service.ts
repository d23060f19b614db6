import { composeApi } from '@hookferry/api/compose';
import { readApiConfig } from '@hookferry/api/config';
import { systemClock } from '@hookferry/core/platform/clock';
import { fullVersion } from '@hookferry/core/platform/revision';
import { RefusedRequests } from '@hookferry/core/telemetry/refused-requests';
import { captureConsole, runProcess, withoutRepeats } from '@hookferry/core/telemetry/run-process';
import { startTracing } from '@hookferry/core/telemetry/start-tracing';
import { SignalLog } from '@hookferry/core/telemetry/winston-signal-log';
import { composeWorker } from '@hookferry/worker/compose';
import { readWorkerConfig } from '@hookferry/worker/config';

const SERVICE = 'server';

/** The API, with the portal, and the worker in one process: for trying, where both are small. */
void runProcess({ service: SERVICE, environment: process.env }, async () => {
  const apiConfig = readApiConfig(process.env);
  const workerConfig = readWorkerConfig(process.env);
  const log = new SignalLog({
    level: apiConfig.LOG_LEVEL,
    format: apiConfig.LOG_FORMAT ?? (process.stdout.isTTY ? 'pretty' : 'json'),
    service: SERVICE,
  });
  const refusedRequests = new RefusedRequests(log.listen);
  const listen = withoutRepeats(refusedRequests.listen, systemClock);
  captureConsole(listen);
  const workerTracing = await startTracing(workerConfig, { service: 'worker', onWarning: listen });
  const worker = await composeWorker(workerConfig, [listen], workerTracing);
  const apiTracing = await startTracing(apiConfig, { service: 'api', onWarning: listen });
  const api = await composeApi(apiConfig, [listen], apiTracing);
  return {
    emit: api.emit,
    // The API first: it takes no more events while the worker ends its attempts.
    parts: [
      ...api.parts,
      ...worker.parts,
      { name: 'log of refused requests', stop: () => refusedRequests.stop() },
    ],
    detail: `API on http://${apiConfig.API_HOST}:${api.port}, worker ${worker.workerId} with its metrics on http://${workerConfig.WORKER_HOST}:${worker.port}/metrics`,
    version: fullVersion(apiConfig.HOOKFERRY_REVISION),
    stopWithinMs: apiConfig.DRAIN_DELAY + apiConfig.SHUTDOWN_TIMEOUT + workerConfig.SHUTDOWN_TIMEOUT,
  };
});
