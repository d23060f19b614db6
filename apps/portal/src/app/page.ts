import { type ComponentType, type LazyExoticComponent, lazy } from 'react';
import type { Capability } from '../session/session';

/** What a page is given: the parts of its path that vary, such as `id`. */
export interface PageProps {
  readonly params: Readonly<Record<string, string>>;
}

export interface Page {
  readonly path: string;
  /** What a session must be allowed to do to be of use there; undefined: every one is. */
  readonly needs: Capability | undefined;
  readonly load: () => Promise<unknown>;
  readonly component: LazyExoticComponent<ComponentType<PageProps>>;
}

/** A page that is loaded when somebody goes there, or a little earlier. */
export function page(path: string, load: () => Promise<ComponentType<PageProps>>, needs?: Capability): Page {
  return { path, needs, load, component: lazy(async () => ({ default: await load() })) };
}
