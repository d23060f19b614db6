import type { components } from '@hookferry/client';

/** What the API responds with, as its document describes it. */
type Schemas = components['schemas'];

export type Account = Schemas['Account'];
export type AccountUsage = Schemas['AccountUsage'];
export type ApiKey = Schemas['ApiKey'];
export type Capability = Schemas['Capability'];
export type Attempt = Schemas['Attempt'];
export type AuditEntry = Schemas['AuditEntry'];
export type Contact = Schemas['Contact'];
export type NewContact = Schemas['NewContact'];
export type Notification = Schemas['Notification'];
export type DeadLetter = Schemas['ListedDeadLetter'];
export type Delivery = Schemas['Delivery'];
export type DeliveryMetricsPoint = Schemas['DeliveryMetricsPoint'];
export type DeliveryWithAttempts = Schemas['DeliveryWithAttempts'];
export type EventType = Schemas['EventType'];
export type Explanation = Schemas['Explanation'];
export type ExportedAttempt = Schemas['ExportedAttempt'];
export type FilterResult = Schemas['FilterResult'];
export type FilterTried = Schemas['FilterTried'];
export type PayloadFilter = Schemas['PayloadFilter'];
export type Replay = Schemas['Replay'];
export type ReplayWithResults = Schemas['ReplayWithResults'];
export type SigningKey = Schemas['SigningKey'];
export type SigningKeyPage = Schemas['SigningKeyPage'];
export type TransformationTried = Schemas['TransformationTried'];
export type TransformationVersion = Schemas['TransformationVersion'];
export type Webhook = Schemas['Webhook'];
export type WebhookWarning = Schemas['WebhookWarning'];
export type WebhookWithHealth = Schemas['WebhookWithHealth'];
export type ListenerResponse = Schemas['ListenerResponse'];
export type ForwardFailure = NonNullable<ListenerResponse['outcome']>;
export type NewListener = Schemas['NewListener'];
export type NewWebhook = Schemas['NewWebhook'];
