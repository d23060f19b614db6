import type { EventTypes } from '../accounts/event-types/event-types';
import type { AccountId } from '../domain/account';
import { type AcceptedEvent, EVENT_ID_PREFIX, type EventId } from '../domain/event';
import { invalidRequest } from '../platform/app-error';
import type { Clock } from '../platform/clock';
import type { CodeRunner } from '../transform/code-runner';
import {
  runTransformation,
  type TransformResult,
  type TransformSource,
} from '../transform/run-transformation';
import { findEvent, type TryFilterContext } from './try-filter';

/** The event to try code on. */
export type TryTransformationSource =
  | { readonly kind: 'given'; readonly type: string; readonly data: unknown }
  /** The catalogue's example of a type. */
  | { readonly kind: 'example'; readonly type: string }
  | { readonly kind: 'event'; readonly id: EventId };

export interface TryTransformationContext extends Pick<TryFilterContext, 'history'> {
  readonly transformPool: CodeRunner;
  readonly eventTypes: EventTypes;
  readonly clock: Clock;
}

export interface TryTransformationInput {
  readonly code: string;
  readonly source: TryTransformationSource;
  /** Absent: the code belongs to none yet. */
  readonly endpoint?: TransformSource['endpoint'];
}

/**
 * Run code on an event, as for its first attempt. Nothing is sent, and nothing changes.
 *
 * @throws AppError `invalid_request` for an unknown event or type, or an event whose payload was erased.
 */
export async function tryTransformation(
  context: TryTransformationContext,
  accountId: AccountId,
  { code, source, endpoint }: TryTransformationInput,
): Promise<TransformResult> {
  const event = await eventOf(context, accountId, source);
  return await runTransformation(context, code, { event, endpoint, attempt: 1 });
}

async function eventOf(
  context: TryTransformationContext,
  accountId: AccountId,
  source: TryTransformationSource,
): Promise<TransformSource['event']> {
  switch (source.kind) {
    case 'given':
      return madeUp(context, accountId, source.type, source.data);
    case 'example': {
      const { name, example } = await context.eventTypes.readNamed(source.type, '/type');
      return madeUp(context, accountId, name, example);
    }
    case 'event': {
      const event = await findEvent(context, accountId, source.id);
      if (event.body !== undefined) return event;
      throw invalidRequest([{ pointer: '/event_id', detail: 'names an event whose payload was erased' }]);
    }
  }
}

function madeUp(
  { clock }: TryTransformationContext,
  accountId: AccountId,
  type: string,
  data: unknown,
): Pick<AcceptedEvent, 'id' | 'accountId' | 'acceptedAt' | 'body'> {
  const id = `${EVENT_ID_PREFIX}_example` as EventId;
  return { id, accountId, acceptedAt: clock(), body: JSON.stringify({ type, data }) };
}
