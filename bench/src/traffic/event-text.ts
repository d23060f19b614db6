export const EVENT_TYPE = 'keyword.quick_win';

/** The event's data; its number is found again in what is delivered. */
export function dataOf(event: number) {
  return { keyword: `event ${event}`, position: 3, volume: 2400 };
}

/**
 * What is published of an event over HTTP.
 * @param webhookId of the one that gets it, instead of all that asked for its type.
 */
export function textOf(event: number, webhookId?: string): string {
  const aim = webhookId === undefined ? {} : { webhook_ids: [webhookId] };
  return JSON.stringify({ type: EVENT_TYPE, data: dataOf(event), ...aim });
}

export const EVENT_NUMBER = /"keyword":"event (\d+)"/;
