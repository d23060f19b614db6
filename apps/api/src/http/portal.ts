import { join } from 'node:path';
import { AppError } from '@hookferry/core/kernel/app-error';
import type { Express, Request, RequestHandler, Response } from 'express';
import { chooseCoding } from './choose-coding';
import { etagOf } from './etag';
import { codingsOf, INDEX, type PortalFile, type PortalFiles, readPortalFiles } from './portal-files';
import { portalHeaders } from './portal-headers';

/** Where the portal's build leaves its files. */
export const PORTAL_FOLDER = join(__dirname, '../../../portal/dist');

export interface PortalOptions {
  readonly folder: string;
  /** Origins whose pages may show it in a frame. */
  readonly frameAncestors: readonly string[];
}

const PATH = '/portal';
// Their names change with what they say; a page that asks for one of another build must not take a page for it.
const ASSETS = 'assets/';

/** Serves the portal: its files, and for any other path below it the page, which knows what the path means. */
export function mountPortal(app: Express, { folder, frameAncestors }: PortalOptions): void {
  let files: PortalFiles | undefined;
  app.use(PATH, namePortal, ...portalHeaders(frameAncestors));
  app.get(`${PATH}/settings.json`, (_request, response) => {
    response.set('cache-control', 'no-store').json({ frame_ancestors: frameAncestors });
  });
  app.get([PATH, `${PATH}/*path`], (request, response) => {
    // Seen from there the page's addresses would lead elsewhere.
    if (request.path === PATH) return response.redirect('portal/');
    files ??= readPortalFiles(folder);
    if (!files) throw notBuilt();
    const path = request.path.slice(PATH.length + 1);
    const file = files.get(path) ?? (path.startsWith(ASSETS) ? undefined : files.get(INDEX));
    if (!file) throw new AppError('route_not_found', `There is no ${request.path}.`);
    sendFile(request, response, file, path.startsWith(ASSETS) ? FOR_EVER : ASK_AGAIN);
  });
}

const FOR_EVER = 'public, max-age=31536000, immutable';
const ASK_AGAIN = 'no-cache';

// One label for all of it, as paths are anybody's.
const namePortal: RequestHandler = (_request, response, next) => {
  response.locals.route = `${PATH}/*`;
  next();
};

function sendFile(request: Request, response: Response, file: PortalFile, cacheControl: string): void {
  const coding = chooseCoding(request.get('accept-encoding'), codingsOf(file));
  response.set({
    'cache-control': cacheControl,
    etag: etagOf(`${file.version}-${coding}`),
    vary: 'Accept-Encoding',
    ...(coding === 'identity' ? {} : { 'content-encoding': coding }),
  });
  // Answers HEAD, and 304 to whoever has it.
  response.type(file.extension).send(file.bytes[coding] ?? file.bytes.identity);
}

function notBuilt(): AppError {
  return new AppError(
    'route_not_found',
    'The portal has not been built: run "npm run build -w @hookferry/portal", then ask again.',
  );
}
