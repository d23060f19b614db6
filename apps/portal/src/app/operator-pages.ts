import type { Page } from './page';

/** For sessions that may `operate`. */
export const operatorPages: readonly Page[] = [];
