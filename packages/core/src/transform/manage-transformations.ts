import { z } from 'zod';
import type { UsageStore } from '../accounts/redis-usage-store';
import type { AccountId } from '../domain/account';
import type { Act } from '../domain/audit';
import { type Endpoint, type EndpointId, type EndpointRef, endpointNotFound } from '../domain/endpoint';
import type { Emit } from '../domain/signal';
import { updateTime } from '../endpoints/disable';
import { type ReadEndpointContext, readEndpoint } from '../endpoints/manage-endpoints';
import type { EndpointStore } from '../endpoints/redis-endpoint-store';
import type { SavedVersion, TransformationStore } from '../endpoints/redis-transformation-store';
import { AppError, invalidRequest } from '../platform/app-error';
import type { Clock } from '../platform/clock';
import { describeFault } from './run-transformation';
import type { TransformPool } from './transform-pool';

const MAX_CODE = 64 * 1024;

/** Code of a transformation, as clients write it. */
export const codeSchema = z
  .string()
  .min(1)
  .refine((code) => Buffer.byteLength(code) <= MAX_CODE, `must have at most ${MAX_CODE / 1024} KiB`)
  .meta({ maxLength: MAX_CODE });

/** A transformation that an endpoint is given. */
export interface NewTransformation {
  readonly code: string;
  readonly isEnabled: boolean;
}

/** An endpoint's transformation as it is. */
export interface Transformation extends SavedVersion {
  readonly endpointId: EndpointId;
  readonly isEnabled: boolean;
}

export interface ReadTransformationContext extends ReadEndpointContext {
  readonly transformationStore: Pick<TransformationStore, 'find' | 'list'>;
}

export interface ChangeTransformationContext extends ReadTransformationContext {
  readonly endpointStore: Pick<EndpointStore, 'find' | 'idOf' | 'update'>;
  readonly transformationStore: TransformationStore;
  readonly transformPool: Pick<TransformPool, 'run'>;
  readonly usageStore: Pick<UsageStore, 'countCode'>;
  readonly clock: Clock;
  readonly emit: Emit;
}

/** The actor of the change. */
export interface ChangedBy {
  /** The id of an API key or a portal session. */
  readonly savedBy: string;
  /** Absent: the change is on no record. */
  readonly act?: Act | undefined;
}

/**
 * Give an endpoint code that makes what is sent to it. Code that differs from that in force is a new version.
 *
 * @throws AppError `not_found`; `invalid_request` for code that can't be loaded, or exports no function.
 */
export async function putTransformation(
  context: ChangeTransformationContext,
  accountId: AccountId,
  ref: EndpointRef,
  { code, isEnabled }: NewTransformation,
  by: ChangedBy,
): Promise<Transformation> {
  const endpoint = await readEndpoint(context, accountId, ref);
  const current = endpoint.transformation && (await findCurrent(context, endpoint));
  if (current?.code === code) return await putInForce(context, endpoint, current, isEnabled, by.act);
  await requireLoadable(context, accountId, code);
  const saved = { code, savedAt: context.clock(), savedBy: by.savedBy };
  const version = await context.transformationStore.save(endpoint.id, saved);
  await context.usageStore.countCode(accountId, endpoint.id);
  return await putInForce(context, endpoint, { ...saved, version }, isEnabled, by.act);
}

async function requireLoadable(
  { transformPool }: ChangeTransformationContext,
  accountId: AccountId,
  code: string,
): Promise<void> {
  const result = await transformPool.run({ accountId, code });
  if (result.kind !== 'failed') return;
  throw invalidRequest([{ pointer: '/code', detail: describeFault(result) }]);
}

// The code is stored before the endpoint names it: a crash between the two leaves a version that nothing uses.
async function putInForce(
  { endpointStore, transformationStore, clock, emit }: ChangeTransformationContext,
  { accountId, id }: Endpoint,
  saved: SavedVersion,
  isEnabled: boolean,
  act: Act | undefined,
): Promise<Transformation> {
  const { version } = saved;
  const change = (endpoint: Endpoint) => ({
    ...endpoint,
    transformation: { version, isEnabled },
    updatedAt: updateTime(endpoint, clock()),
  });
  if (!(await endpointStore.update(accountId, id, change, act))) {
    await transformationStore.remove(id);
    throw endpointNotFound();
  }
  emit({ name: 'endpoint.updated', accountId, endpointId: id });
  return { ...saved, endpointId: id, isEnabled };
}

/** @throws AppError `not_found`, also for an endpoint without one. */
export async function readTransformation(
  context: ReadTransformationContext,
  accountId: AccountId,
  ref: EndpointRef,
): Promise<Transformation> {
  const endpoint = await readEndpoint(context, accountId, ref);
  const current = await findCurrent(context, endpoint);
  if (!endpoint.transformation || !current) throw noTransformation();
  return { ...current, endpointId: endpoint.id, isEnabled: endpoint.transformation.isEnabled };
}

async function findCurrent(
  { transformationStore }: Pick<ReadTransformationContext, 'transformationStore'>,
  { id, transformation }: Endpoint,
): Promise<SavedVersion | undefined> {
  return transformation && (await transformationStore.find(id, transformation.version));
}

/** Newest first. @throws AppError `not_found`. */
export async function listVersions(
  context: ReadTransformationContext,
  accountId: AccountId,
  ref: EndpointRef,
): Promise<readonly SavedVersion[]> {
  const { id } = await readEndpoint(context, accountId, ref);
  return await context.transformationStore.list(id);
}

/**
 * Put the code of an earlier version in force, as a new version.
 *
 * @throws AppError `not_found`, also for a version that is not kept.
 */
export async function restoreVersion(
  context: ChangeTransformationContext,
  accountId: AccountId,
  ref: EndpointRef,
  version: number,
  by: ChangedBy,
): Promise<Transformation> {
  const { id, transformation } = await readEndpoint(context, accountId, ref);
  const saved = await context.transformationStore.find(id, version);
  if (!saved) throw new AppError('not_found', 'The transformation has no such version.');
  const isEnabled = transformation?.isEnabled ?? true;
  return await putTransformation(context, accountId, ref, { code: saved.code, isEnabled }, by);
}

/**
 * Take an endpoint's code away: it gets events as they are again. Its versions stay, and can be gone back to.
 *
 * @throws AppError `not_found`, also for an endpoint without one.
 */
export async function removeTransformation(
  context: ChangeTransformationContext,
  accountId: AccountId,
  ref: EndpointRef,
  act?: Act,
): Promise<void> {
  const endpoint = await readEndpoint(context, accountId, ref);
  if (!endpoint.transformation) throw noTransformation();
  const change = ({ transformation: _removed, ...rest }: Endpoint) => ({
    ...rest,
    updatedAt: updateTime(rest, context.clock()),
  });
  if (!(await context.endpointStore.update(accountId, endpoint.id, change, act))) throw endpointNotFound();
  context.emit({ name: 'endpoint.updated', accountId, endpointId: endpoint.id });
}

function noTransformation(): AppError {
  return new AppError('not_found', 'The webhook has no transformation.');
}
