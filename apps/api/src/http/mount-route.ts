import type { AccountQuota } from '@hookferry/core/accounts/account-quota';
import { LARGE_BYTES, Turn } from '@hookferry/core/accounts/heavy-turns';
import type { Principal } from '@hookferry/core/domain/account';
import type { Act } from '@hookferry/core/domain/audit';
import { AppError } from '@hookferry/core/platform/app-error';
import { type NewId, newSecretBytes } from '@hookferry/core/platform/ids';
import type { Assumption } from '@hookferry/core/publish/redis-assumption';
import type { Express, Request, RequestHandler, Response } from 'express';
import type { ApiContext } from '../context';
import { actOf, noteRefusal } from './audit';
import { admit, assume, letIn, spend, withdraw } from './authenticate';
import { deprecationHeaders } from './deprecation';
import { answerOnce, IDEMPOTENCY_KEY, type Origin } from './idempotency';
import { boundsOf, JSON_TYPES, type JsonBody, JsonBodyReader, mediaTypeOf, NO_BODY } from './json-body';
import { type DeclaredShape, parseRequest, type RequestParts } from './parse-request';
import { apiKeyOf, originOf, type RequestState, requestStateOf } from './request-state';
import type { BodyForm, Route, RouteReply, RouteRequest } from './route';
import { isReading, sendReply } from './send-reply';

/**
 * Serve the routes. A path is handled with all its methods before the next one, in the order of the table
 * except for those of events. So a route may be listed before another that it would match.
 */
export function mountRoutes(app: Express, routes: readonly Route[], context: ApiContext): void {
  for (const [path, ofPath] of routesByPath(mostAskedFirst(routes))) {
    const atPath = app.route(path);
    for (const route of ofPath) atPath[route.method](serve(route, context));
    const methods = ofPath.map(({ method }) => method.toUpperCase());
    atPath.all(refuseMethod(methods));
  }
}

// The body of a request holds the event and a little around it: white space, the names of the members.
const ENVELOPE_BYTES = 4 * 1024;

function serve(route: Route, context: ApiContext): RequestHandler {
  const server = new RouteServer(route, context);
  return (request, response) => server.serve(request, response);
}

/** Key and scope first, then the body, then its shape, then the handler. */
class RouteServer {
  readonly #ownForm: ServedForm;
  /** By their media types. */
  readonly #otherForms: readonly ServedForm[];
  readonly #head: readonly string[] | undefined;

  constructor(
    private readonly route: Route,
    private readonly context: ApiContext,
  ) {
    this.#head = route.deprecated && deprecationHeaders(route.deprecated);
    this.#ownForm = servedForm(route, context);
    this.#otherForms = (route.otherForms ?? []).map((form) =>
      servedForm({ ...form, request: { ...route.request, ...form.request } }, context, form),
    );
  }

  async serve(request: Request, response: Response): Promise<void> {
    const state = requestStateOf(response);
    state.route = this.route.path;
    state.isProbe = this.route.isProbe === true;
    state.routeHead = this.#head;
    // Nothing is lost of a read.
    const confirmation = this.route.method === 'get' ? undefined : this.context.confirmation;
    const mark = confirmation?.mark() ?? 0;
    try {
      const assumption = this.route.mayAssume ? assume(this.context, request, state) : undefined;
      const reply = assumption
        ? await this.#replyAsAssumed(request, response, assumption)
        : await this.#reply(request, response, this.context.newId);
      if (reply && confirmation) await confirmation.confirm(mark);
      if (reply) await sendReply(this.context.unreadAnswers, this.route, response, reply);
    } catch (error) {
      noteRefusal(this.context, this.route, request, state, error);
      throw error;
    } finally {
      state.turn?.end();
    }
  }

  /**
   * No answer goes out, and nothing is stored, before Redis has confirmed what the request was let in by. If
   * that has changed, the request is decided again.
   */
  async #replyAsAssumed(
    request: Request,
    response: Response,
    assumption: Assumption,
  ): Promise<RouteReply | undefined> {
    const ids = new SameIds(this.context.newId);
    try {
      const reply = await this.#reply(request, response, ids.next, assumption);
      await assumption.confirm();
      return reply;
    } catch (error) {
      let stands = false;
      try {
        stands = await assumption.standsBehind(error);
      } finally {
        if (!stands) withdraw(this.context, response);
      }
      if (stands) throw error;
    }
    ids.rewind();
    return await this.#reply(request, response, ids.next);
  }

  #formOf(request: Request): ServedForm {
    if (this.#otherForms.length === 0) return this.#ownForm;
    const mediaType = mediaTypeOf(request);
    const found = this.#otherForms.find(
      ({ form }) =>
        form !== undefined &&
        form.mediaType === mediaType &&
        (!form.header || request.headers[form.header.name] !== undefined),
    );
    return found ?? this.#ownForm;
  }

  /** Gives nothing when the client is gone. */
  async #reply(
    request: Request,
    response: Response,
    newId: NewId,
    assumption?: Assumption,
  ): Promise<RouteReply | undefined> {
    const { route, context } = this;
    const { accountShares } = context;
    const state = requestStateOf(response);
    const form = this.#formOf(request);
    if (assumption) await letIn(context, route, request, response, assumption.assumed.apiKey);
    else if (route.scope !== 'none') await admit(context, route, request, response);
    state.bytes ??= form.reader?.readBytes(request, response);
    const bytes = await state.bytes;
    // Only once the body has arrived: no other request waits for a slow sender.
    const isHeavy = route.isHeavy === true || (bytes !== undefined && bytes.length > LARGE_BYTES);
    const admitted = { request, response, newId, assumption, isHeavy };
    // Those that take heavy turns wait there, where so many bodies may wait and no more.
    if (state.apiKey === undefined || isHeavy) return await this.#replyTo(bytes, form, admitted);
    const { accountId } = state.apiKey;
    const kind = isReading(route) ? 'reading' : 'changing';
    const turn = accountShares.take(accountId, kind);
    if (turn) await turn;
    try {
      return await this.#replyTo(bytes, form, admitted);
    } finally {
      accountShares.end(accountId, kind);
    }
  }

  /** In its account's share of the process, or in a heavy turn. */
  async #replyTo(
    bytes: Buffer | undefined,
    form: ServedForm,
    { request, response, newId, assumption, isHeavy }: AdmittedRequest,
  ): Promise<RouteReply | undefined> {
    const { route, context } = this;
    const { heavyTurns, unreadAnswers, clock } = context;
    const state = requestStateOf(response);
    if (isHeavy) state.turn = new Turn(await heavyTurns.take(apiKeyOf(state).accountId));
    if (request.socket.destroyed) return undefined;
    const sent = bytes === undefined ? NO_BODY : await (form.reader as JsonBodyReader).parse(bytes);
    if (isReading(route)) unreadAnswers.requireRoom(apiKeyOf(state).accountId);
    state.receivedAt ??= clock();
    const { receivedAt } = state;
    const work = async (origin: Origin): Promise<RouteReply> => {
      if (!assumption) await requireRoomFor(context.quota, route, state);
      const parts = parseRequest(request, form, sent.value);
      return await form.handle(
        toRouteRequest(context, route, { request, response, parts, sent, origin, assumption }),
        context,
      );
    };
    const isKeyed = route.creates === true && request.headers[IDEMPOTENCY_KEY] !== undefined;
    const replying = isKeyed
      ? answerOnce(
          context,
          { request, response, assumption, bodyText: bodyTextOf(request, form, sent) },
          work,
        )
      : work({ newId, secretBytes: newSecretBytes, receivedAt });
    // The body is parsed. Later work runs in pieces, from the next turn of the event loop on.
    if (route.isHeavy !== true) state.turn?.letOthersInSoon();
    return await replying;
  }
}

interface AdmittedRequest {
  readonly request: Request;
  readonly response: Response;
  readonly newId: NewId;
  readonly assumption: Assumption | undefined;
  /** It may take much processor time. */
  readonly isHeavy: boolean;
}

/** A form of a route's body, ready to be read. */
interface ServedForm extends DeclaredShape {
  readonly reader: JsonBodyReader | undefined;
  readonly handle: Route['handle'];
  /** Absent: the route's own form. */
  readonly form?: BodyForm;
}

function servedForm(
  route: Pick<Route, 'request' | 'maxBodyBytes' | 'handle'>,
  context: ApiContext,
  form?: BodyForm,
): ServedForm {
  const { request, handle } = route;
  const { body, dataAt } = request;
  const bounds = boundsOf(route, context.config.MAX_EVENT_BYTES + ENVELOPE_BYTES);
  const mediaTypes = form && !form.header ? [form.mediaType] : JSON_TYPES;
  return {
    shape: request,
    schema: typeof body === 'function' ? body(context) : body,
    reader: body === undefined ? undefined : new JsonBodyReader(bounds, dataAt, mediaTypes),
    handle,
    ...(form && { form }),
  };
}

// With headers that belong to it, a request is another one when they are others.
function bodyTextOf(request: Request, { form }: ServedForm, { text }: JsonBody): string {
  return form?.header ? `${JSON.stringify(headersWith(request, form.header.prefix))}\n${text}` : text;
}

function headersWith({ headers }: Request, prefix: string): Readonly<Record<string, string>> {
  const found = Object.entries(headers).filter(([name]) => name.startsWith(prefix));
  return Object.fromEntries(found.map(([name, value]) => [name, String(value)]));
}

/**
 * Gives a request that is decided again the ids that it had: its first decision was stored if Redis' reply was
 * lost and it was asked again.
 */
class SameIds {
  readonly #given: string[] = [];
  #at = 0;

  constructor(private readonly newId: NewId) {}

  readonly next: NewId = (prefix) => {
    const id = this.#given[this.#at] ?? this.newId(prefix);
    this.#given[this.#at] = id;
    this.#at += 1;
    return id;
  };

  rewind(): void {
    this.#at = 0;
  }
}

/**
 * By the known usage, before anything is stored. Publishing reads the usage with the version of the account's
 * endpoints; other data is stored rarely enough to read it.
 *
 * @throws AppError `quota_exceeded`.
 */
async function requireRoomFor(quota: AccountQuota, { stores }: Route, state: RequestState): Promise<void> {
  if (stores === undefined) return;
  const { accountId } = apiKeyOf(state);
  if (stores === 'other') return await quota.requireRoom(accountId, 'http');
  await state.endpointsVersion;
  await quota.requireRoomAsKnown(accountId, 'http');
}

interface ParsedRequest {
  readonly request: Request;
  readonly response: Response;
  readonly parts: RequestParts;
  readonly sent: JsonBody;
  readonly origin: Origin;
  readonly assumption: Assumption | undefined;
}

function toRouteRequest(
  context: ApiContext,
  route: Route,
  { request, response, parts, sent, origin, assumption }: ParsedRequest,
): RouteRequest {
  const { params, query, body } = parts;
  const { newId, secretBytes, receivedAt, answer, requireClaim } = origin;
  const state = requestStateOf(response);
  return {
    params,
    query,
    body,
    dataTexts: sent.dataTexts,
    newId,
    secretBytes,
    receivedAt,
    answer,
    requireClaim,
    // No handler of a route without a key reads it.
    apiKey: state.apiKey as Principal,
    // Nor does one of a route without an action read this.
    act: actOf(context, route, state) as Act,
    endpointsVersion: state.endpointsVersion,
    assumption,
    header: (name) => request.get(name),
    headersWith: (prefix) => headersWith(request, prefix),
    requestId: state.requestId,
    clientAddress: () => request.ip,
    origin: () => originOf(request),
    trace: state.span?.context,
    spend: (points) => spend(context, response, points),
  };
}

// Express searches them one by one, and nearly all requests publish.
function mostAskedFirst(routes: readonly Route[]): readonly Route[] {
  const isOfEvents = ({ path }: Route) => Number(path.startsWith('/v1/events'));
  return routes.toSorted((a, b) => isOfEvents(b) - isOfEvents(a));
}

function routesByPath(routes: readonly Route[]): Map<string, Route[]> {
  const byPath = new Map<string, Route[]>();
  for (const route of routes) byPath.set(route.path, [...(byPath.get(route.path) ?? []), route]);
  return byPath;
}

function refuseMethod(methods: readonly string[]): RequestHandler {
  return (request, response) => {
    response.set('allow', methods.join(', '));
    throw new AppError(
      'method_not_allowed',
      `${request.method} is not allowed here. Allowed: ${methods.join(', ')}.`,
    );
  };
}
