import type { World } from './world';

/** A request that is sent again and again; `%i` in its path, headers and body is another number each time. */
export interface RequestTemplate {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Whether the body is sent compressed. */
  readonly isCompressed?: boolean;
}

/** What the attacker does until its time is up. */
export interface AttackPlan {
  /** Sent in turn. */
  readonly requests: readonly RequestTemplate[];
  readonly atOnce: number;
  /** Ends with so many requests, although the time goes on. */
  readonly most?: number;
  /** Connections that are held open beside, each with half a request. */
  readonly connections?: number;
  /** Connections that send requests ahead, beside. */
  readonly ahead?: RequestsAhead;
}

/** Requests that a connection sends in one write; another connection takes its place when it is closed. */
export interface RequestsAhead {
  readonly connections: number;
  readonly requests: readonly RequestTemplate[];
  /** Whether the answers are read. */
  readonly areRead: boolean;
}

/** A way in which one account may do its worst. */
export interface Attack {
  readonly name: string;
  /** Makes all ready in a new world. */
  prepare(world: World): Promise<AttackPlan>;
}
