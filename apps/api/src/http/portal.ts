import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join, relative, sep } from 'node:path';
import { AppError } from '@hookferry/core/platform/app-error';
import type { Express, Request, RequestHandler, Response } from 'express';
import { contentSecurityPolicy } from 'helmet';
import Negotiator from 'negotiator';
import { requestStateOf } from './request-state';
import { etagOf } from './send-reply';

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
  requestStateOf(response).route = `${PATH}/*`;
  next();
};

function sendFile(request: Request, response: Response, file: PortalFile, cacheControl: string): void {
  // The one that the client likes best, the shortest of those that it likes as much. Who takes none gets it as it is.
  const coding = new Negotiator(request).encoding(codingsOf(file), { preferred: codings }) ?? 'identity';
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

/** How what is stored several times over is encoded, the shortest first. */
const codings = ['br', 'gzip', 'identity'] as const;
type Coding = (typeof codings)[number];

/** A file of the portal, in each coding that it was built in. */
interface PortalFile {
  /** With the dot. */
  readonly extension: string;
  /** Of what it says, whatever the coding. */
  readonly version: string;
  readonly bytes: Readonly<Partial<Record<Coding, Buffer>>> & { readonly identity: Buffer };
}

/** By its path below the portal's, such as `assets/index-B2x9.js`. */
type PortalFiles = ReadonlyMap<string, PortalFile>;

const INDEX = 'index.html';

const EXTENSIONS = { br: '.br', gzip: '.gz' } as const;

/**
 * Reads what the portal's build has left in the folder; `undefined` if it has not been built. What is not among these files
 * can't be asked for, whatever its path: no request leads to the disk.
 */
function readPortalFiles(folder: string): PortalFiles | undefined {
  if (!existsSync(join(folder, INDEX))) return undefined;
  const paths = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !isEncoded(entry.name))
    .map((entry) => join(entry.parentPath, entry.name));
  return new Map(paths.map((path) => [relative(folder, path).split(sep).join('/'), readPortalFile(path)]));
}

function isEncoded(name: string): boolean {
  return Object.values(EXTENSIONS).some((extension) => name.endsWith(extension));
}

function readPortalFile(path: string): PortalFile {
  const identity = readFileSync(path);
  return {
    extension: extname(path),
    version: createHash('sha256').update(identity).digest('base64url').slice(0, 22),
    bytes: { identity, ...readEncoded(path, 'br'), ...readEncoded(path, 'gzip') },
  };
}

function readEncoded(path: string, coding: keyof typeof EXTENSIONS): Partial<Record<Coding, Buffer>> {
  const encoded = path + EXTENSIONS[coding];
  return existsSync(encoded) ? { [coding]: readFileSync(encoded) } : {};
}

function codingsOf({ bytes }: PortalFile): readonly Coding[] {
  return codings.filter((coding) => bytes[coding] !== undefined);
}

/**
 * What the portal's page may do: run its own files, and ask the API. It is shown in a frame by nobody but the pages of
 * these origins, or a page of a stranger's could have people click in it without their seeing it.
 */
function portalHeaders(frameAncestors: readonly string[]): readonly RequestHandler[] {
  return [pagePolicy(frameAncestors), ...(frameAncestors.length > 0 ? [allowFrames] : [])];
}

function pagePolicy(frameAncestors: readonly string[]): RequestHandler {
  return contentSecurityPolicy({
    useDefaults: false,
    directives: {
      'default-src': ["'none'"],
      'script-src': ["'self'"],
      'style-src': ["'self'"],
      'img-src': ["'self'", 'data:'],
      'font-src': ["'self'"],
      'connect-src': ["'self'"],
      'base-uri': ["'none'"],
      'form-action': ["'none'"],
      'frame-ancestors': frameAncestors.length > 0 ? frameAncestors : ["'none'"],
    },
  });
}

// Neither can name an origin: the policy alone says who may.
const allowFrames: RequestHandler = (_request, response, next) => {
  response.removeHeader('x-frame-options');
  response.removeHeader('cross-origin-opener-policy');
  next();
};
