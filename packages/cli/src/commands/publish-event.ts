import type { Cli } from '../cli';
import { connect } from '../cli';
import type { Data } from '../input/read-data';

export interface NewEvent {
  readonly type: string;
  readonly data: Data;
  readonly id?: string;
  readonly to?: readonly string[];
  /** When to send it, by RFC 3339. */
  readonly at?: string;
  readonly group?: string;
}

/** Publishes an event, its data byte for byte as they were written. */
export async function publishEvent(event: NewEvent, cli: Cli): Promise<void> {
  const { type, data, id, to, at, group } = event;
  const rest = {
    ...(id === undefined ? {} : { id }),
    ...(to === undefined ? {} : { webhook_ids: [...to] }),
    ...(at === undefined ? {} : { deliver_at: at }),
    ...(group === undefined ? {} : { group }),
  };
  const text = bodyText({ type, ...rest }, data.text);
  // JSON that is parsed and written again is another text: 1.0 becomes 1.
  const client = await connect(cli, { fetch: (request) => fetch(new Request(request, { body: text })) });
  const accepted = await client.POST('/v1/events', { body: { type, data: data.value, ...rest } });
  cli.output.result(accepted, `Published the event ${accepted.id}.`);
  cli.output.note(`See its deliveries: hookferry deliveries list --event ${accepted.id}`);
}

/** The members as JSON, and `data` as it is. */
export function bodyText(members: object, data: string): string {
  return `${JSON.stringify(members).slice(0, -1)},"data":${data}}`;
}
