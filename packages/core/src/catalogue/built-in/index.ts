import type { z } from 'zod';
import { briefCreated } from './brief-created';
import { deliveryExhausted } from './delivery-exhausted';
import { importCompleted } from './import-completed';
import { keywordQuickWin } from './keyword-quick-win';
import { webhookDisabled } from './webhook-disabled';
import { webhookFailing } from './webhook-failing';
import { webhookRecovered } from './webhook-recovered';

/** What clients and producers publish. To add a type, write its file beside this one and name it here. */
export const publishableTypes = [keywordQuickWin, briefCreated, importCompleted] as const;

/** What this service itself tells an account about its webhooks, and nobody else can publish. */
export const operationalTypes = [
  webhookDisabled,
  webhookFailing,
  webhookRecovered,
  deliveryExhausted,
] as const;

/** Every event type there is. */
export const catalogue = [...publishableTypes, ...operationalTypes] as const;

type Publishable = (typeof publishableTypes)[number];
export type KnownEventType = Publishable['name'];

/** What a producer passes as `data` for a type. */
export type EventData<Name extends KnownEventType> = z.input<Extract<Publishable, { name: Name }>['data']>;

export const eventTypeNames: readonly string[] = catalogue.map(({ name }) => name);
export const publishableTypeNames: readonly string[] = publishableTypes.map(({ name }) => name);

const operationalNames: ReadonlySet<string> = new Set(operationalTypes.map(({ name }) => name));

export function isOperational(type: string): boolean {
  return operationalNames.has(type);
}
