import type { components } from '@hookferry/client';
import { t } from '@lingui/core/macro';
import type { Delivery, DeliveryWithAttempts } from '../../api/delivery-queries';
import { type Step, stepsOf } from '../delivery/story';

type Event = components['schemas']['Event'];

/** The steps of one delivery of an event, past and future. */
export interface Lane {
  readonly delivery: Delivery;
  readonly steps: readonly Step[];
}

/** Its acceptance, and when it is due, was, or would have been. */
export function stepsOfEvent({
  created_at: createdAt,
  deliver_at: dueAt,
  status,
}: Pick<Event, 'created_at' | 'deliver_at' | 'status'>): readonly Step[] {
  const accepted: Step = { kind: 'accepted', at: Date.parse(createdAt), lengthMs: 0, text: t`Accepted` };
  if (dueAt === null) return [accepted];
  const due: Step =
    status === 'accepted'
      ? { kind: 'accepted', at: Date.parse(dueAt), lengthMs: 0, text: t`Was due` }
      : { kind: 'due', at: Date.parse(dueAt), lengthMs: 0, text: DUE[status] };
  return [accepted, due];
}

const DUE = { scheduled: t`Is due`, cancelled: t`Would be due; it was cancelled before` } as const;

/**
 * Acceptance is the event's.
 * @param delivery as a list has it
 * @param read the same, with its attempts, as soon as it was read
 */
export function laneOf(delivery: Delivery, read: DeliveryWithAttempts | undefined, now: number): Lane {
  const { attempts = [], hold = delivery.hold } = read ?? {};
  const steps = stepsOf({ ...delivery, hold, attempts }, now, delivery.attempt_count + 1);
  return { delivery, steps: steps.filter(({ kind }) => kind !== 'accepted') };
}
