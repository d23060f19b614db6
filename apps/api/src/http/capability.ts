import type { Capability } from '@hookferry/core/core/capability';
import type { Express } from 'express';
import type { ApiContext } from '../context';
import type { RequestShape, Route } from './route';

/** A capability that the API has opened. */
export interface ApiCapability extends Capability {
  /** The handlers of its routes get them beside the core. */
  readonly modules?: object;
  /** Serve its pages that are no routes. */
  readonly mount?: (app: Express) => void;
}

/** One that is in the list of the API. */
export interface ListedCapability {
  readonly routes?: readonly Route[];
  open(core: ApiContext): ApiCapability;
}

interface CapabilityWithRoutes<Modules extends object> {
  readonly routes: readonly Route<RequestShape, Modules>[];
  open(core: ApiContext): ApiCapability & { readonly modules: Modules };
}

/** Its routes get the modules that it opens, and no others. */
export function withRoutes<Modules extends object>(listed: CapabilityWithRoutes<Modules>): ListedCapability {
  return listed;
}
