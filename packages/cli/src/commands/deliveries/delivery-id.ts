import type { Client } from '@hookferry/client';
import { UsageError } from '../../failures/usage-error';

export const ID_HELP = 'EVENT.WEBHOOK: the id of the event, a dot, the id or uid of the webhook';

/** The id of a delivery whose webhook may be named by its uid. @throws UsageError when the text names no webhook. */
export async function findDeliveryId(client: Client, text: string): Promise<string> {
  const [eventId = '', ...rest] = text.split('.');
  const webhook = rest.join('.');
  if (eventId === '' || webhook === '') {
    throw new UsageError(
      `${text} is no id of a delivery: that is EVENT.WEBHOOK.`,
      `If it is an event, its deliveries are listed by: hookferry explain ${text}`,
    );
  }
  // That of a webhook that is gone still names its deliveries.
  if (webhook.startsWith('wh_')) return text;
  const { id } = await client.GET('/v1/webhooks/{id}', { params: { path: { id: webhook } } });
  return `${eventId}.${id}`;
}
