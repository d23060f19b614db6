import { Ajv2020, type AnySchema } from 'ajv/dist/2020';
import addFormats from 'ajv-formats';
import type { CheckEvent, EventFault } from './check-event';
import { faultOf } from './fault-words';
import { Patience } from './patience';

export interface EventSchemaOptions {
  /** The address of the service's API, such as `https://webhooks.example.com`. Schemas need no API key. */
  readonly baseUrl: string;
  /** How old a schema may be that an event passes, in milliseconds: 0 to a day. Default 60,000. */
  readonly maxAgeMs?: number;
  /** The longest wait for a schema, in milliseconds: 1 to a minute. Default 2,000. */
  readonly timeoutMs?: number;
  /**
   * For events whose schema can't be read. `publish`, the default: the worker checks every event anyway. `refuse`: they
   * are refused as `schema_unavailable`.
   */
  readonly whenUnreachable?: 'publish' | 'refuse';
  /** Called when a schema can't be read, or can't be compiled here, which never refuses an event. */
  readonly onError?: (error: Error) => void;
}

interface Known {
  readonly validate: (data: unknown) => readonly EventFault[];
  readonly etag: string | null;
  readonly readAt: number;
}

const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;
/** After a failure nobody waits for the API again for so long. */
const PAUSE_MS = 5_000;

/**
 * Checks events by the schemas of the service, before they are published: for the option `check` of the publisher. A schema
 * is read when its type is first published, and again when it is older than `maxAgeMs`. Before it refuses an event, it is
 * read again, so a schema that was replaced refuses nothing.
 *
 * @throws TypeError if an option is not valid.
 */
export function createSchemaCheck(options: EventSchemaOptions): CheckEvent {
  const {
    maxAgeMs = MINUTE_MS,
    timeoutMs = 2_000,
    whenUnreachable = 'publish',
    onError = () => {},
  } = options;
  const base = readOptions(options.baseUrl, maxAgeMs, timeoutMs, whenUnreachable);
  const known = new Map<string, Known>();
  const beingRead = new Map<string, Promise<Known | undefined>>();
  let pausedUntil = 0;

  return async (type, data) => {
    const value: unknown = JSON.parse(JSON.stringify(data));
    const before = known.get(type);
    const isFresh = before !== undefined && Date.now() - before.readAt < maxAgeMs;
    if (isFresh && before.validate(value).length === 0) return [];
    try {
      const schema = await readOnce(type);
      return schema
        ? schema.validate(value)
        : [{ pointer: '/type', detail: `"${type}" is not a known event type` }];
    } catch (error) {
      if (error instanceof Error) onError(error);
      if (whenUnreachable === 'refuse') throw error;
      return [];
    }
  };

  /** Undefined: there is no such type. Callers at the same time share a request. */
  async function readOnce(type: string): Promise<Known | undefined> {
    const reading = beingRead.get(type) ?? read(type).finally(() => beingRead.delete(type));
    beingRead.set(type, reading);
    return await reading;
  }

  async function read(type: string): Promise<Known | undefined> {
    if (Date.now() < pausedUntil)
      throw new Error('The schemas of the service could not be read a moment ago.');
    const patience = new Patience(timeoutMs);
    const request = new AbortController();
    try {
      const before = known.get(type);
      const url = new URL(`v1/event-types/${encodeURIComponent(type)}/schema`, base);
      const headers = before?.etag ? { 'if-none-match': before.etag } : {};
      const response = await patience.of(fetch(url, { headers, signal: request.signal }));
      const schema = await patience.of(schemaOf(response, before));
      if (schema) known.set(type, schema);
      else known.delete(type);
      return schema;
    } catch (error) {
      pausedUntil = Date.now() + PAUSE_MS;
      throw new Error(`The schema of ${type} could not be read from ${base.origin}.`, { cause: error });
    } finally {
      request.abort();
    }
  }

  async function schemaOf(response: Response, before: Known | undefined): Promise<Known | undefined> {
    const readAt = Date.now();
    if (response.status === 304 && before) return { ...before, readAt };
    const body: unknown = await response.json();
    if (response.status === 404 && isNotFound(body)) return undefined;
    if (response.status !== 200) throw new Error(`The response was ${response.status}.`);
    return { validate: compile(body as AnySchema), etag: response.headers.get('etag'), readAt };
  }

  function compile(schema: AnySchema): Known['validate'] {
    // A new one each time: it keeps every schema by its `$id`, and would refuse the next version.
    const ajv = new Ajv2020({ strict: false, allErrors: true, verbose: true });
    addFormats.default(ajv);
    // Where these differ from the service's, the service decides.
    ajv.addFormat('url', true);
    try {
      const validate = ajv.compile(schema);
      return (data) => (validate(data) ? [] : (validate.errors ?? []).slice(0, MOST_FAULTS).map(faultOf));
    } catch (error) {
      onError(
        new Error('A schema can not be compiled here, so the service alone checks by it.', { cause: error }),
      );
      return () => [];
    }
  }
}

const MOST_FAULTS = 100;

function isNotFound(body: unknown): boolean {
  return typeof body === 'object' && body !== null && 'code' in body && body.code === 'not_found';
}

function readOptions(baseUrl: string, maxAgeMs: number, timeoutMs: number, whenUnreachable: string): URL {
  check(URL.canParse(baseUrl) && /^https?:/.test(baseUrl), 'baseUrl must be the URL of the API');
  check(
    isBetween(maxAgeMs, 0, DAY_MS),
    `maxAgeMs must be a whole number of milliseconds from 0 to ${DAY_MS}`,
  );
  check(
    isBetween(timeoutMs, 1, MINUTE_MS),
    `timeoutMs must be a whole number of milliseconds from 1 to ${MINUTE_MS}`,
  );
  check(/^(publish|refuse)$/.test(whenUnreachable), 'whenUnreachable must be "publish" or "refuse"');
  return new URL(baseUrl.replace(/\/*$/, '/'));
}

function isBetween(value: number, least: number, most: number): boolean {
  return Number.isInteger(value) && value >= least && value <= most;
}

function check(isGood: boolean, message: string): asserts isGood {
  if (!isGood) throw new TypeError(`createSchemaCheck: ${message}.`);
}
