import type { components } from '@hookferry/client';
import type { StreamEvent } from './read-events';

type Schemas = components['schemas'];
type Told<Event extends string> = Extract<Schemas['StreamedChange'], { event: Event }>['data'];

/** The members of a delivery that a change contains. */
export type DeliveryChange = Pick<Schemas['Delivery'], 'id' | 'event_id' | 'webhook_id'> &
  Partial<Schemas['Delivery']>;

export type LiveMessage =
  /** From now on every change comes. */
  | { readonly kind: 'ready' }
  /** Changes were missed: what is shown is to be read again. */
  | { readonly kind: 'reset' }
  /** Nothing tells of changes just now: it is time to look. */
  | { readonly kind: 'poll' }
  | {
      readonly kind: 'delivery';
      readonly change: Told<'delivery'>['change'];
      readonly delivery: DeliveryChange;
    }
  | { readonly kind: 'webhook'; readonly change: Told<'webhook'>['change']; readonly webhookId: string }
  | {
      readonly kind: 'replay';
      readonly change: Told<'replay'>['change'];
      readonly replayId: string;
      readonly webhookId: string;
    };

/** undefined: a later version of the service has kinds that this page does not know. */
export function messageOf({ name, data }: StreamEvent): LiveMessage | undefined {
  switch (name) {
    case 'ready':
    case 'reset':
      return { kind: name };
    case 'delivery': {
      const { change, delivery } = JSON.parse(data) as Told<'delivery'>;
      return { kind: name, change, delivery };
    }
    case 'webhook': {
      const { change, webhook_id } = JSON.parse(data) as Told<'webhook'>;
      return { kind: name, change, webhookId: webhook_id };
    }
    case 'replay': {
      const parsed = JSON.parse(data) as Told<'replay'>;
      return {
        kind: name,
        change: parsed.change,
        replayId: parsed.replay_id,
        webhookId: parsed.webhook_id,
      };
    }
    default:
      return undefined;
  }
}
