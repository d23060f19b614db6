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
  /** The page that signs people in, with `{path}` in it. */
  readonly entryUrl?: string | undefined;
  readonly operatorName?: string | undefined;
  /** Where the page keeps its session. */
  readonly sessionStorage?: 'memory' | 'tab';
}

const PATH = '/portal';
// Their names change with their content; a page that asks for a file of another build must not get a page
// instead.
const ASSETS = 'assets/';

/** Serve the portal: its files, and for any other path below it the page, which interprets the path. */
export function mountPortal(app: Express, options: PortalOptions): void {
  const { folder, frameAncestors, entryUrl, operatorName, sessionStorage = 'memory' } = options;
  let files: PortalFiles | undefined;
  app.use(PATH, namePortal, ...portalHeaders(frameAncestors));
  app.get(`${PATH}/settings.json`, (_request, response) => {
    response.set('cache-control', 'no-store').json({
      frame_ancestors: frameAncestors,
      entry_url: entryUrl ?? null,
      operator_name: operatorName ?? null,
      session_storage: sessionStorage,
    });
  });
  app.get([PATH, `${PATH}/*path`], (request, response) => {
    // From there the page's addresses would lead elsewhere.
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

// One label for all of it, since clients choose the paths.
const namePortal: RequestHandler = (_request, response, next) => {
  requestStateOf(response).route = `${PATH}/*`;
  next();
};

function sendFile(request: Request, response: Response, file: PortalFile, cacheControl: string): void {
  // The coding that the client prefers, the shortest if it prefers several. A client that accepts none gets
  // the plain file.
  const coding = new Negotiator(request).encoding(codingsOf(file), { preferred: codings }) ?? 'identity';
  response.set({
    'cache-control': cacheControl,
    etag: etagOf(`${file.version}-${coding}`),
    vary: 'Accept-Encoding',
    ...(coding === 'identity' ? {} : { 'content-encoding': coding }),
  });
  // Also responds to HEAD, and with 304 to a client that has the file.
  response.type(file.extension).send(file.bytes[coding] ?? file.bytes.identity);
}

function notBuilt(): AppError {
  return new AppError(
    'route_not_found',
    'The portal has not been built: run "npm run build -w @hookferry/portal-app", then try again.',
  );
}

/** The codings of files that are stored several times, the shortest first. */
const codings = ['br', 'gzip', 'identity'] as const;
type Coding = (typeof codings)[number];

/** A file of the portal, in each coding that it was built in. */
interface PortalFile {
  /** With the dot. */
  readonly extension: string;
  /** Of its content, whatever the coding. */
  readonly version: string;
  readonly bytes: Readonly<Partial<Record<Coding, Buffer>>> & { readonly identity: Buffer };
}

/** By its path below the portal's, such as `assets/index-B2x9.js`. */
type PortalFiles = ReadonlyMap<string, PortalFile>;

const INDEX = 'index.html';

const EXTENSIONS = { br: '.br', gzip: '.gz' } as const;

/**
 * Read the files of the portal's build; `undefined` if it was not built. No other file can be requested,
 * whatever the path: no request leads to the disk.
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
 * The portal's page may run its own files, and call the API. Only pages of these origins may show it in a
 * frame: otherwise a foreign page could have people click in it without their seeing it.
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

// Neither can name an origin: only the policy can.
const allowFrames: RequestHandler = (_request, response, next) => {
  response.removeHeader('x-frame-options');
  response.removeHeader('cross-origin-opener-policy');
  next();
};
