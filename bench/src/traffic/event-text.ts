export const EVENT_TYPE = 'keyword.quick_win';

/** The event's data; its number is found again in what is delivered. */
export function dataOf(event: number) {
  return { keyword: `event ${event}`, position: 3, volume: 2400 };
}

/** What is published of an event over HTTP. */
export function textOf(event: number): string {
  return JSON.stringify({ type: EVENT_TYPE, data: dataOf(event) });
}

export const EVENT_NUMBER = /"keyword":"event (\d+)"/;
