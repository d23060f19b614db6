import { type Client, WebhooksApiError } from '@hookferry/client';
import { bad, doubtful, type Finding, good } from './finding';

/** What only an operator's admin key may ask: whether a queue is paused, a worker runs, and all have the same settings. Empty for other keys. */
export async function checkOperations(client: Client): Promise<readonly Finding[]> {
  try {
    const [operations, readiness] = await Promise.all([
      client.GET('/v1/operations'),
      client.GET('/v1/operations/readiness'),
    ]);
    return [
      queuesOf(operations.queues),
      workersOf(operations.workers.length),
      ...settingsOf(readiness.checks),
    ];
  } catch (error) {
    // Another key, or an earlier API.
    if (error instanceof WebhooksApiError && [401, 403, 404].includes(error.status)) return [];
    throw error;
  }
}

function queuesOf(queues: readonly { readonly name: string; readonly paused: boolean }[]): Finding {
  const paused = [...new Set(queues.filter((queue) => queue.paused).map(({ name }) => name))];
  if (paused.length === 0) return good('queues', 'none is paused');
  const resume = paused.map((name) => `hookferry-admin queues resume ${name}`).join('; ');
  return bad(
    'queues',
    `paused: ${paused.join(', ')}`,
    `GET /v1/operations says who paused it, and why. To resume: ${resume}`,
  );
}

function workersOf(count: number): Finding {
  if (count > 0) return good('workers', `${count} running`);
  return bad('workers', 'none is running', 'Start a worker: without one, events are accepted and wait.');
}

interface Check {
  readonly check: string;
  readonly state: string;
  readonly detail: string;
  readonly docs: string;
}

function settingsOf(checks: readonly Check[]): readonly Finding[] {
  return checks
    .filter(({ check }) => check === 'same_settings')
    .map(({ state, detail, docs }) => {
      if (state === 'missing') return bad('settings', detail, `More: ${docs}`);
      return state === 'good' ? good('settings', detail) : doubtful('settings', detail, `More: ${docs}`);
    });
}
