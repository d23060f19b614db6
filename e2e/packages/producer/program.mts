// Type-checked and run as an ES module: the types are part of what is promised.
import { createRequire } from 'node:module';
import { createEventPublisher, PublishError, type PublishErrorCode } from '@hookferry/producer';
import { Redis } from 'ioredis';

interface Events {
  'invoice.paid': { readonly total: number };
}

const redisUrl = process.env.REDIS_URL ?? '';
const required = createRequire(import.meta.url)(
  '@hookferry/producer',
) as typeof import('@hookferry/producer');

const publisher = createEventPublisher<Events>({ redisUrl });
const { id } = await publisher.publish({ type: 'invoice.paid', data: { total: 12 }, id: 'from-import' });
// @ts-expect-error: its data is another.
export const wrongData = () => publisher.publish({ type: 'invoice.paid', data: { total: '12' } });
// @ts-expect-error: there is no such type.
export const unknownType = () => publisher.publish({ type: 'invoice.lost', data: { total: 12 } });
// @ts-expect-error: a connection is needed.
export const nowhere = () => createEventPublisher({});
await publisher.close();

const client = new Redis(redisUrl);
const ofOwnClient = createEventPublisher({ connection: client });
await ofOwnClient.publish({ type: 'brief.created', data: { brief_id: 'b', title: 't' } });
await ofOwnClient.close();
await client.quit();

const fault: unknown = await publisher
  .publish({ type: 'invoice.paid', data: { total: 1 } })
  .catch((error: unknown) => error);
if (!(fault instanceof PublishError) || !(fault instanceof required.PublishError)) {
  throw new Error('An import and a require give two classes.');
}
const code: PublishErrorCode = fault.code;
console.log(`import: ${id}, ${code}`);
