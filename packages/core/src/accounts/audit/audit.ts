import type { AccountId } from '../../domain/account';
import type { AuditEntry } from '../../domain/audit';
import { AppError } from '../../platform/app-error';
import type { AuditLog, AuditPart, AuditWindow } from './redis-audit-log';

/** Which entries a reader asks for. */
export interface AuditQuery {
  readonly of: AccountId | 'everybody';
  /** The id of a key or a session, the system user of an admin command, or the type of actor. */
  readonly actor?: string | undefined;
  /** Or a noun: `webhook.*`. */
  readonly action?: string | undefined;
  readonly target?: string | undefined;
  /** From this time on, and before that one. Milliseconds since the Unix epoch. */
  readonly since?: number | undefined;
  readonly until?: number | undefined;
}

/** A part of what matches, newest first. `nextBefore` is where the reader stands, whether or not the part is full. */
export interface AuditPage extends AuditPart {
  /** The history, which may have older ones, is away. */
  readonly isCutShort?: true;
}

/** What has moved to the history. Gives the first ones that match, in one step. */
export interface MovedAuditLog {
  list(query: AuditQuery, before: string | undefined, limit: number): Promise<AuditPart>;
}

export interface AuditParts {
  readonly auditLog: AuditLog;
  /** Absent: there is no history. */
  readonly movedAuditLog?: MovedAuditLog | undefined;
}

type ReadPart = (window: AuditWindow, limit: number) => Promise<AuditPart>;

const READ_AT_ONCE = 500;
// What a page costs has a bound, however few of the entries match. Then the page is not full, and goes on behind it.
const MOST_LOOKED_AT = 10_000;

/** Reads what was done and what was refused. */
export class Audit {
  constructor(private readonly parts: AuditParts) {}

  /**
   * A page of the audit log, from Redis and from the history, each entry once. What is moving meanwhile is in both
   * for a moment: so Redis is read first.
   */
  async list(query: AuditQuery, limit: number, before?: string): Promise<AuditPage> {
    const { auditLog, movedAuditLog } = this.parts;
    const { of } = query;
    const done: ReadPart = (window, count) =>
      of === 'everybody' ? auditLog.listAllDone(window, count) : auditLog.listDone(of, window, count);
    const refused: ReadPart = (window, count) => auditLog.listRefused(of, window, count);
    const recent = await Promise.all([done, refused].map((read) => findMatching(read, query, limit, before)));
    const moved = await this.#listMoved(query, limit, before);
    const page = merge(moved ? [...recent, moved] : recent, limit);
    return movedAuditLog && !moved ? { ...page, isCutShort: true } : page;
  }

  /** `undefined`: there is no history, or it is away. */
  async #listMoved(
    query: AuditQuery,
    limit: number,
    before: string | undefined,
  ): Promise<AuditPart | undefined> {
    try {
      return await this.parts.movedAuditLog?.list(query, before, limit + 1);
    } catch (error) {
      if (error instanceof AppError && error.code === 'history_unavailable') return undefined;
      throw error;
    }
  }
}

async function findMatching(
  read: ReadPart,
  query: AuditQuery,
  limit: number,
  start: string | undefined,
): Promise<AuditPart> {
  const { since, until } = query;
  const entries: AuditEntry[] = [];
  let before = start;
  for (let looked = 0; looked < MOST_LOOKED_AT && entries.length <= limit; looked += READ_AT_ONCE) {
    const part = await read({ before, since, until }, READ_AT_ONCE);
    entries.push(...part.entries.filter((entry) => matches(entry, query)));
    before = part.nextBefore;
    if (before === undefined) break;
  }
  return { entries, nextBefore: before };
}

function matches(entry: AuditEntry, { actor, action, target }: AuditQuery): boolean {
  if (target !== undefined && entry.targetId !== target) return false;
  if (actor !== undefined && !namesOf(entry.actor).includes(actor)) return false;
  if (action === undefined) return true;
  return action.endsWith('.*') ? entry.action.startsWith(action.slice(0, -1)) : entry.action === action;
}

/** The texts by which entries of an actor can be requested. */
export function namesOf(actor: AuditEntry['actor']): readonly string[] {
  switch (actor.type) {
    case 'api_key':
    case 'portal_session':
      return [actor.type, actor.id];
    case 'admin_command':
      return [actor.type, actor.system_user];
    case 'anonymous':
      return [actor.type];
  }
}

function merge(parts: readonly AuditPart[], limit: number): AuditPart {
  // Of what is older, one of them has not said all.
  const horizon = parts
    .flatMap(({ nextBefore }) => nextBefore ?? [])
    .toSorted()
    .at(-1);
  const found = new Map(parts.flatMap(({ entries }) => entries).map((entry) => [entry.id, entry]));
  const known = [...found.values()]
    .filter(({ id }) => horizon === undefined || id >= horizon)
    .toSorted((a, b) => (a.id < b.id ? 1 : -1));
  const entries = known.slice(0, limit);
  return { entries, nextBefore: known.length > limit ? entries.at(-1)?.id : horizon };
}
