// Type-checked and run as an ES module: the types are part of what is promised.
import { createRequire } from 'node:module';
import {
  type DedupeStore,
  memoryStore,
  type ReceiverResponse,
  responses,
  type VerificationErrorCode,
  verify,
  type WebhookEvent,
  WebhookVerificationError,
} from '@hookferry/receiver';
import { webhooks as forExpress } from '@hookferry/receiver/express';
import { webhooks as forFastify } from '@hookferry/receiver/fastify';
import { webhooks as forFetch } from '@hookferry/receiver/fetch';
import { webhooks as forKoa } from '@hookferry/receiver/koa';
import { webhooks as forLambda } from '@hookferry/receiver/lambda';
import { type RedisClient, redisStore } from '@hookferry/receiver/redis';
import type { RequestHandler } from 'express';
import type { FastifyPluginAsync } from 'fastify';
import type { Redis } from 'ioredis';
import type { Middleware } from 'koa';

interface Events {
  'keyword.quick_win': { keyword: string; position: number };
  'brief.created': { title: string };
}

export function describe(event: WebhookEvent<Events>): string {
  switch (event.type) {
    case 'keyword.quick_win':
      return event.data.position.toFixed();
    case 'brief.created':
      // @ts-expect-error: that is of the other type.
      return event.data.title + event.data.position;
    default:
      return event satisfies never;
  }
}

const dedupe: DedupeStore = memoryStore({ max: 10, ttlMs: 1_000 });
const wish: ReceiverResponse = responses.retryAfter(3);
const options = { secret: process.env.WEBHOOK_SECRET, dedupe, on: { 'brief.created': () => wish } };
export const express: RequestHandler = forExpress(options);
export const koa: Middleware = forKoa(options);
export const fastify: FastifyPluginAsync = forFastify({ ...options, path: '/webhooks' });
export const fetched: (request: Request) => Promise<Response> = forFetch(options);
export const lambda = forLambda(options);
export const store = (client: Redis): DedupeStore => redisStore(client satisfies RedisClient);

export const typed = forFetch<Events>({
  secrets: ['a', 'b'],
  on: { 'brief.created': ({ data }) => data.title, 'keyword.quick_win': async ({ data }) => data.position },
});
// @ts-expect-error: there is no such type.
export const unknownType = forFetch<Events>({ secret: 'a', on: { 'brief.lost': () => {} } });
export const wrongData = forFetch<Events>({
  secret: 'a',
  // @ts-expect-error: its title is no number.
  on: { 'brief.created': ({ data }) => data.title.toFixed() },
});
// @ts-expect-error: a secret is needed.
export const noSecret = forFetch({ on: {} });
// @ts-expect-error: a parsed body has no bytes.
export const parsed = () => verify({ secret: 'a', headers: {}, body: { type: 't', data: {} } });

const fault: unknown = await verify({ secret: '', headers: {}, body: '' }).catch((error: unknown) => error);
const required = createRequire(import.meta.url)(
  '@hookferry/receiver',
) as typeof import('@hookferry/receiver');
if (!(fault instanceof WebhookVerificationError) || !(fault instanceof required.WebhookVerificationError)) {
  throw new Error('An import and a require give two classes.');
}
const code: VerificationErrorCode = fault.code;
console.log(`import: ${code}`);
