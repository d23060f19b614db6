import type { Writable } from 'node:stream';
import type { Signal } from '../domain/signal';
import { signalSamples } from '../testing/signal-samples';
import { type LogOptions, SignalLog } from './winston-signal-log';

// winston writes to the stream behind `console`, which under jest is not process.stdout itself.
const { _stdout: standardOutput } = console as unknown as { _stdout: Writable };

/** What the log writes to standard output for these signals. */
function written(signals: readonly Signal[], options: Partial<LogOptions> = {}): string {
  const write = jest.spyOn(standardOutput, 'write').mockReturnValue(true);
  try {
    const log = new SignalLog({ level: 'debug', format: 'json', service: 'api', ...options });
    for (const signal of signals) log.listen(signal);
    return write.mock.calls.map(([chunk]) => String(chunk)).join('');
  } finally {
    write.mockRestore();
  }
}

function writtenFields(signal: Signal): Record<string, unknown> {
  return JSON.parse(written([signal]));
}

describe('SignalLog', () => {
  it.each(Object.values(signalSamples).map((signal) => [signal.name, signal] as const))(
    'writes %s as one line of JSON with its time, its level and the service',
    (name, signal) => {
      const text = written([signal]);
      expect(text.split('\n')).toEqual([expect.any(String), '']);
      expect(JSON.parse(text)).toMatchObject({
        timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        level: expect.stringMatching(/^(error|warn|info|debug)$/),
        message: name.replace('endpoint.', 'webhook.'),
        service: 'api',
      });
    },
  );

  it("writes all of a signal's facts, in snake_case", () => {
    const { deliveryId, accountId, eventId, endpointId } = signalSamples['delivery.attempted'];
    expect(writtenFields(signalSamples['delivery.attempted'])).toEqual({
      timestamp: expect.any(String),
      level: 'debug',
      message: 'delivery.attempted',
      service: 'api',
      delivery_id: deliveryId,
      account_id: accountId,
      event_id: eventId,
      webhook_id: endpointId,
      type: 'order.created',
      attempt: 1,
      outcome: 'delivered',
      response_status: 204,
      duration_ms: 30,
      first_lag_ms: 40,
      connect_ms: 4,
      first_byte_ms: 25,
    });
  });

  it('writes where it belongs in a trace, and no more of its span', () => {
    const context = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), isSampled: true };
    const span = { context, parent: undefined, links: [], startedAt: 0 };
    const fields = writtenFields({ ...signalSamples['event.fanned_out'], span });
    expect(fields).toMatchObject({ trace_id: context.traceId, span_id: context.spanId });
    expect(fields).not.toHaveProperty('span');
    const ended = writtenFields({ ...signalSamples['delivery.ended'], traceId: context.traceId });
    expect(ended).toMatchObject({ trace_id: context.traceId });
  });

  it('writes an error as text, with its stack and its causes', () => {
    const cause = new TypeError('socket closed', { cause: 'cable' });
    const error = new Error('no answer', { cause });
    expect(writtenFields({ name: 'request.failed', requestId: 'req_1', error }).error).toBe(
      `${error.stack} ← ${cause.stack} ← cable`,
    );
  });

  it('writes nothing else that an error carries, such as the arguments of a Redis command', () => {
    const error = Object.assign(new Error('READONLY'), { command: { name: 'hset', args: ['whsec_secret'] } });
    expect(written([{ name: 'redis.error', connection: 'api-store', error }])).not.toContain('whsec_secret');
  });

  it.each<[LogOptions['level'], Signal]>([
    ['debug', signalSamples['request.completed']],
    ['info', { ...signalSamples['request.completed'], status: 422 }],
    ['info', { ...signalSamples['request.completed'], status: 500, code: 'internal_error' }],
    ['debug', { ...signalSamples['request.completed'], status: 503, code: 'storage_unavailable' }],
    ['error', signalSamples['requests.refused']],
    ['debug', signalSamples['event.accepted']],
    ['debug', signalSamples['delivery.attempted']],
    ['warn', { ...signalSamples['delivery.attempted'], outcome: 'http_5xx' }],
    ['debug', signalSamples['delivery.ended']],
    ['warn', { ...signalSamples['delivery.ended'], status: 'exhausted' }],
    ['warn', signalSamples['event.rejected']],
    ['debug', signalSamples['event.fanned_out']],
    ['warn', signalSamples['redis.error']],
    ['error', signalSamples['request.failed']],
    ['error', signalSamples['job.failed']],
    ['error', signalSamples['process.fault']],
  ])('writes with the level %s: %o', (level, signal) => {
    expect(writtenFields(signal)).toMatchObject({ level });
  });

  it('leaves out what is below its level', () => {
    const signals = [signalSamples['process.started'], signalSamples['redis.error']];
    expect(written(signals, { level: 'info' }).split('\n')).toHaveLength(3);
    expect(JSON.parse(written(signals, { level: 'warn' }))).toMatchObject({ message: 'redis.error' });
    expect(written(signals, { level: 'error' })).toBe('');
  });

  it('writes for people as well: the time of day, the level, the name, the facts', () => {
    expect(written([signalSamples['event.rejected']], { format: 'pretty' })).toMatch(
      /^\d\d:\d\d:\d\d\.\d{3} warn {2}event\.rejected job_id=17 code=invalid_request reason=no type\n$/,
    );
  });
});
