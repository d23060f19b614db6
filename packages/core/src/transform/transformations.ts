import { z } from 'zod';
import type { UsageStore } from '../accounts/redis-usage-store';
import type { AccountId } from '../domain/account';
import type { Act, AuditActor } from '../domain/audit';
import { type Endpoint, type EndpointId, type EndpointRef, endpointNotFound } from '../domain/endpoint';
import type { Emit } from '../domain/signal';
import { updateTime } from '../endpoints/disable';
import type { EndpointStore } from '../endpoints/redis-endpoint-store';
import type { SavedVersion, TransformationStore } from '../endpoints/redis-transformation-store';
import { readEndpoint, requireEndpoint } from '../endpoints/resolve-endpoints';
import { AppError, invalidRequest } from '../platform/app-error';
import type { Clock } from '../platform/clock';
import type { CodeRunner } from './code-runner';
import { describeFault } from './run-transformation';

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

export interface PutTransformation extends Transformation {
  /** Whether the endpoint had none before. */
  readonly isFirst: boolean;
}

/** The actor of the change. */
export interface ChangedBy {
  /** The id of an API key or a portal session. */
  readonly savedBy: string;
  /** Absent: the change is on no record. */
  readonly act?: Act | undefined;
}

export interface TransformationsParts {
  readonly endpointStore: EndpointStore;
  readonly transformationStore: TransformationStore;
  readonly usageStore: UsageStore;
  /** It tries whether code can be loaded. */
  readonly transformPool: CodeRunner;
  readonly clock: Clock;
  readonly emit: Emit;
}

/** The code of endpoints that makes what is sent to them. */
export class Transformations {
  constructor(private readonly parts: TransformationsParts) {}

  /**
   * Give an endpoint code. Code that differs from that in force is a new version.
   *
   * @throws AppError `not_found`; `invalid_request` for code that can't be loaded, or exports no function.
   */
  async put(
    accountId: AccountId,
    ref: EndpointRef,
    { code, isEnabled }: NewTransformation,
    { savedBy, act }: ChangedBy,
  ): Promise<PutTransformation> {
    const { transformationStore, usageStore, clock } = this.parts;
    const endpoint = await readEndpoint(this.parts, accountId, ref);
    const current = endpoint.transformation && (await this.#findCurrent(endpoint));
    if (current?.code === code) return await this.#putInForce(endpoint, current, isEnabled, act);
    await this.#requireLoadable(accountId, code);
    const saved = { code, savedAt: clock(), savedBy, savedByName: act && nameOf(act.actor) };
    const version = await transformationStore.save(endpoint.id, saved, accountId);
    await usageStore.countCode(accountId, endpoint.id);
    return await this.#putInForce(endpoint, { ...saved, version }, isEnabled, act);
  }

  /** @throws AppError `not_found`, also for an endpoint without one. */
  async read(accountId: AccountId, ref: EndpointRef): Promise<Transformation> {
    const endpoint = await readEndpoint(this.parts, accountId, ref);
    const current = await this.#findCurrent(endpoint);
    if (!endpoint.transformation || !current) throw noTransformation();
    return { ...current, endpointId: endpoint.id, isEnabled: endpoint.transformation.isEnabled };
  }

  /** Newest first. @throws AppError `not_found`. */
  async listVersions(accountId: AccountId, ref: EndpointRef): Promise<readonly SavedVersion[]> {
    const id = await requireEndpoint(this.parts, accountId, ref);
    return await this.parts.transformationStore.list(id);
  }

  /**
   * Put the code of an earlier version in force, as a new version.
   *
   * @throws AppError `not_found`, also for a version that is not kept.
   */
  async restoreVersion(
    accountId: AccountId,
    ref: EndpointRef,
    version: number,
    by: ChangedBy,
  ): Promise<Transformation> {
    const { id, transformation } = await readEndpoint(this.parts, accountId, ref);
    const saved = await this.parts.transformationStore.find(id, version);
    if (!saved) throw new AppError('not_found', 'The transformation has no such version.');
    const isEnabled = transformation?.isEnabled ?? true;
    return await this.put(accountId, ref, { code: saved.code, isEnabled }, by);
  }

  /**
   * Take an endpoint's code away: it gets events as they are again. Its versions stay, and can be gone back to.
   *
   * @throws AppError `not_found`, also for an endpoint without one.
   */
  async remove(accountId: AccountId, ref: EndpointRef, act?: Act): Promise<void> {
    const { endpointStore, clock, emit } = this.parts;
    const endpoint = await readEndpoint(this.parts, accountId, ref);
    if (!endpoint.transformation) throw noTransformation();
    const change = ({ transformation: _removed, ...rest }: Endpoint) => ({
      ...rest,
      updatedAt: updateTime(rest, clock()),
    });
    if (!(await endpointStore.update(accountId, endpoint.id, change, act))) throw endpointNotFound();
    emit({ name: 'endpoint.updated', accountId, endpointId: endpoint.id });
  }

  async #findCurrent({ id, transformation }: Endpoint): Promise<SavedVersion | undefined> {
    return transformation && (await this.parts.transformationStore.find(id, transformation.version));
  }

  async #requireLoadable(accountId: AccountId, code: string): Promise<void> {
    const result = await this.parts.transformPool.run({ accountId, code });
    if (result.kind !== 'failed') return;
    throw invalidRequest([{ pointer: '/code', detail: describeFault(result) }]);
  }

  // The code is stored before the endpoint names it: a crash between the two leaves a version that nothing uses.
  async #putInForce(
    { accountId, id, transformation }: Endpoint,
    saved: SavedVersion,
    isEnabled: boolean,
    act: Act | undefined,
  ): Promise<PutTransformation> {
    const { endpointStore, transformationStore, clock, emit } = this.parts;
    const { version } = saved;
    const change = (endpoint: Endpoint) => ({
      ...endpoint,
      transformation: { version, isEnabled },
      updatedAt: updateTime(endpoint, clock()),
    });
    if (!(await endpointStore.update(accountId, id, change, act))) {
      await transformationStore.remove(accountId, id);
      throw endpointNotFound();
    }
    emit({ name: 'endpoint.updated', accountId, endpointId: id });
    return { ...saved, endpointId: id, isEnabled, isFirst: transformation === undefined };
  }
}

function nameOf(actor: AuditActor): string | undefined {
  if (actor.type === 'portal_session') return actor.label;
  return actor.type === 'api_key' ? actor.name : undefined;
}

function noTransformation(): AppError {
  return new AppError('not_found', 'The webhook has no transformation.');
}
