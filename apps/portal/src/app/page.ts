import { type ComponentType, type LazyExoticComponent, lazy } from 'react';

/** What a page is given: the parts of its path that vary, such as `id`. */
export interface PageProps {
  readonly params: Readonly<Record<string, string>>;
}

export interface Page {
  readonly path: string;
  readonly component: LazyExoticComponent<ComponentType<PageProps>>;
}

/** A page that is loaded when somebody goes there. */
export function page(path: string, load: () => Promise<ComponentType<PageProps>>): Page {
  return { path, component: lazy(async () => ({ default: await load() })) };
}
