import { type ComponentType, type LazyExoticComponent, lazy } from 'react';
import type { Capability } from '../session/session';

/** The variable parts of the page's path, such as `id`. */
export interface PageProps {
  readonly params: Readonly<Record<string, string>>;
}

export interface Page {
  readonly path: string;
  /** The capability that the page needs; undefined: none. */
  readonly needs: Capability | undefined;
  readonly load: () => Promise<unknown>;
  readonly component: LazyExoticComponent<ComponentType<PageProps>>;
}

/** A page that is loaded when somebody goes there, or a little earlier. */
export function page(path: string, load: () => Promise<ComponentType<PageProps>>, needs?: Capability): Page {
  return { path, needs, load, component: lazy(async () => ({ default: await load() })) };
}
