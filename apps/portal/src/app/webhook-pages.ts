import type { Page } from './page';

/** Webhooks, events and their types. */
export const webhookPages: readonly Page[] = [];
