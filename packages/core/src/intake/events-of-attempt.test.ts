import { operationalTypes } from '../catalogue/built-in/index';
import { formatTime } from '../kernel/clock';
import { buildAcceptedAttempt, buildAttempt } from '../testing/build-attempt';
import { buildEndpoint } from '../testing/build-endpoint';
import { buildEvent } from '../testing/build-event';
import { type AttemptAftermath, eventsOfAttempt, tellsOfFailing } from './events-of-attempt';

const NOW = 1_700_000_000_000;

function build(change: Partial<AttemptAftermath> = {}): AttemptAftermath {
  return {
    event: buildEvent(),
    endpoint: buildEndpoint(),
    attempt: buildAttempt(),
    isExhausted: false,
    disabledAs: undefined,
    recoveredFrom: undefined,
    ...change,
  };
}

const fourth = buildAttempt({ number: 4, outcome: 'http_5xx', responseStatus: 503 });

describe('eventsOfAttempt', () => {
  it.each([
    ['a success', build({ attempt: buildAcceptedAttempt({ number: 4 }) })],
    ['a third failure', build({ attempt: buildAttempt({ number: 3 }) })],
    ['a fifth failure', build({ attempt: buildAttempt({ number: 5 }) })],
  ])('tells nothing of %s', (_what, aftermath) => {
    expect(eventsOfAttempt(aftermath)).toEqual([]);
  });

  it('tells of the fourth failure of a delivery', () => {
    const { event, endpoint, ...rest } = build({ attempt: fourth });
    expect(eventsOfAttempt({ event, endpoint, ...rest })).toEqual([
      {
        type: 'webhook.failing',
        endpointId: endpoint.id,
        data: {
          webhook_id: endpoint.id,
          url: endpoint.url,
          event_id: event.id,
          delivery_id: `${event.id}.${endpoint.id}`,
          type: event.type,
          attempt_count: 4,
          last_outcome: 'http_5xx',
          last_response_status: 503,
        },
      },
    ]);
  });

  it('tells of a delivery that is exhausted', () => {
    const { event, endpoint, ...rest } = build({ attempt: buildAttempt({ number: 10 }), isExhausted: true });
    expect(eventsOfAttempt({ event, endpoint, ...rest })).toEqual([
      {
        type: 'delivery.exhausted',
        endpointId: endpoint.id,
        data: {
          delivery_id: `${event.id}.${endpoint.id}`,
          event_id: event.id,
          webhook_id: endpoint.id,
          type: event.type,
          attempt_count: 10,
        },
      },
    ]);
  });

  it('tells of an endpoint that was disabled', () => {
    const attempt = buildAttempt({ startedAt: NOW, durationMs: 40 });
    const { endpoint, ...rest } = build({ attempt, disabledAs: 'gone' });
    expect(eventsOfAttempt({ endpoint, ...rest })).toEqual([
      {
        type: 'webhook.disabled',
        endpointId: endpoint.id,
        data: {
          webhook_id: endpoint.id,
          url: endpoint.url,
          reason: 'gone',
          disabled_at: formatTime(NOW + 40),
        },
      },
    ]);
  });

  it('tells of an endpoint that is well again', () => {
    const attempt = buildAcceptedAttempt({ startedAt: NOW, durationMs: 40 });
    const { endpoint, ...rest } = build({ attempt, recoveredFrom: NOW - 60_000 });
    expect(eventsOfAttempt({ endpoint, ...rest })).toEqual([
      {
        type: 'webhook.recovered',
        endpointId: endpoint.id,
        data: {
          webhook_id: endpoint.id,
          url: endpoint.url,
          failing_since: formatTime(NOW - 60_000),
          recovered_at: formatTime(NOW + 40),
        },
      },
    ]);
  });

  it('tells all that there is to tell', () => {
    const aftermath = build({ attempt: fourth, isExhausted: true, disabledAs: 'failing' });
    expect(eventsOfAttempt(aftermath).map(({ type }) => type)).toEqual([
      'webhook.failing',
      'delivery.exhausted',
      'webhook.disabled',
    ]);
  });

  it('tells what its catalogue entry says', () => {
    const told = [
      ...eventsOfAttempt(build({ attempt: fourth, isExhausted: true, disabledAs: 'failing' })),
      ...eventsOfAttempt(build({ attempt: buildAcceptedAttempt(), recoveredFrom: NOW })),
    ];
    expect(told.map(({ type }) => type).toSorted()).toEqual(
      operationalTypes.map(({ name }) => name).toSorted(),
    );
    for (const { type, data } of told) {
      expect(operationalTypes.find(({ name }) => name === type)?.data.parse(data)).toEqual(data);
    }
  });
});

describe.each(operationalTypes.map(({ name }) => name))('the delivery of a %s', (type) => {
  it('is never told of itself, whatever becomes of it', () => {
    const event = buildEvent({ type });
    const aftermath = build({
      event,
      attempt: fourth,
      isExhausted: true,
      disabledAs: 'gone',
      recoveredFrom: NOW,
    });
    expect(eventsOfAttempt(aftermath)).toEqual([]);
    expect(tellsOfFailing(type, fourth)).toBe(false);
  });
});
